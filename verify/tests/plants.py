"""Small plants for tests, and certificates of them with delays worked out by hand."""

import copy
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from rtether_verify.check import SCHEMA, Checker, Claim, Result, check, words  # noqa: E402
from rtether_verify.plant import Plant  # noqa: E402
from rtether_verify.reading import Node  # noqa: E402
from rtether_verify.rules import RULES  # noqa: E402, F401

US = 10**6
MS = 10**9


def cost(base=0, octet=0, more=0, jitter=0):
    return {"base": base, "octet": octet, "more": more, "jitter": jitter}


def stack(send=None, receive=None, processors=1):
    send = send or cost()
    return {"processors": processors, "send": [send] * 3, "receive": [receive or send] * 3, "split": 0}


def station(name, **more):
    own = {"name": name, "kind": "station", "beyond": [], "stack": None, "interface": None,
           "stack_queue": 1000, "driver_queue": 1_000_000, "tasks": None, "layer": None, "by_deadline": False}
    return {**own, **more}


def port(**more):
    vlan = {"kind": "transparent", "members": None, "native": None}
    own = {"selection": "arrival", "turns": None, "quanta": None, "vlan": vlan, "default_pcp": 0, "buffer": 1 << 20, "thresholds": None}
    return {**own, **more}


def switch(name, ports, of=port, **more):
    own = {"name": name, "kind": "switch", "latency": 0, "latency_jitter": 0, "latency_more": 0,
           "cut_through": False, "queue_of_pcp": [0] * 8, "strips_tags": False, "floods_groups": False,
           "learns": None, "shared_buffer": None, "processor": None, "ports": [of() for _ in range(ports)]}
    return {**own, **more}


def link(one, other, rate=100_000_000, **more):
    own = {"ends": [list(one), list(other)], "rate": rate, "propagation": 0, "errors": 0,
           "standby": False, "half": False}
    return {**own, **more}


def periodic(period, jitter=0):
    return {"kind": "periodic", "period": period, "jitter": jitter}


def flow(name, talker, *to, payload=60, traffic=None, ways=None, **more):
    own = {"name": name, "talker": talker, "multicast": False, "over": "udp", "payload": payload,
           "tag": None, "traffic": traffic or periodic(MS), "gap": None, "reply": None,
           "ways": [{"to": one, "out": [], "back": None, "configured": False} for one in to],
           "due": None, "deadline": None}
    return {**own, **more}


def plant(nodes, links, flows):
    return {"name": "test", "nodes": nodes, "links": links, "flows": flows}


def star(names, flows, of=port, rates=None, inside=None, **more):
    """Stations `names` at the ports 1, 2, .. of a switch `sw`; fills the ways of the flows."""
    rates, inside = rates or {}, inside or {}
    at = {name: number for number, name in enumerate(names, 1)}
    links = [link((name, 1), ("sw", at[name]), rates.get(name, 100_000_000)) for name in names]
    for own in flows:
        for way in own["ways"]:
            way["out"] = [[own["talker"], 1], ["sw", at[way["to"]]]]
            if own["reply"] or own["traffic"]["kind"] in ("file", "messages"):
                way["back"] = [[way["to"], 1], ["sw", at[own["talker"]]]]
    nodes = [station(name, **inside.get(name, {})) for name in names]
    return plant(nodes + [switch("sw", len(names), of, **more)], links, flows)


class Writer(Checker):
    """Writes what given delays claim."""

    def write(self, delays, waits):
        flows = [{"flow": own.name, "waits": number in waits, "visits": []}
                 for number, own in enumerate(self.plant.flows)]
        self.waits = {number: number in waits for number in range(len(flows))}
        for visit in self.ways.visits:
            key = (self.plant.flows[visit.flow].name, visit.way, words(visit.server))
            delay = delays.get(key, delays.get(key[2], 0))
            derived = self._derived(visit)
            arrivals = derived[0][1] if derived else None
            rule = self.ways.servers[tuple(visit.server)].rule
            self.claims[visit.number] = Claim(arrivals, rule, delay)
            flows[visit.flow]["visits"].append({
                "to": visit.copy, "way": visit.way, "at": list(visit.server),
                "arrivals": arrivals._asdict() if arrivals else None, "rule": rule, "delay": delay,
            })
        return flows


def certificate(scenario, delays, waits=()):
    """Returns the certificate of a plant with these delays, by server or by (flow, way, server); all
    others are zero."""
    writer = Writer(Plant(Node(scenario, "scenario")), Result())
    flows = writer.write(delays, waits)
    streams = []
    for number, listener, token in writer.ways.streams:
        own = writer.plant.flows[number]
        bound = None if own.traffic.kind in ("file", "messages") else writer._path(token)[1]
        streams.append({"flow": own.name, "listener": listener, "bound": bound, "proved": bound})
    return {"schema": SCHEMA, "rtether": "test", "scenario": scenario, "flows": flows, "streams": streams}


def bounds(document):
    """Returns the certified bounds of a certificate without failures."""
    result = check(copy.deepcopy(document))
    assert not result.failures, result.failures
    return [own.bound for own in result.streams]


def claim_of(document, flow_name, place):
    """Returns the claim of a flow at a server, which is shown like this."""
    of_flow = next(own for own in document["flows"] if own["flow"] == flow_name)
    return next(own for own in of_flow["visits"] if words(own["at"]) == place)
