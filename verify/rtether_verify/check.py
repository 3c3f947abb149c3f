"""Checks the claims of a certificate: each against its rule, all others taken for granted. That they may
hold each other up is proved in `docs/reference/certificate.md`; `check` tests the conditions."""

from collections import namedtuple

from rtether_verify import limits
from rtether_verify.curves import Load
from rtether_verify.memory import may_drop
from rtether_verify.plant import Plant
from rtether_verify.reading import Malformed, Node, maybe, number
from rtether_verify.further import RULES
from rtether_verify.ways import Ways
from rtether_verify.wheels import wheels

SCHEMA = "rtether.certificate/1"
#: Why there is no limit where nothing else is missing.
FULL = "a place that is full, or unlimited arrivals there"

Arrivals = namedtuple("Arrivals", "period burst jitter")
#: What is claimed of a visit; `arrivals` and `delay` are None where nothing is.
Claim = namedtuple("Claim", "arrivals rule delay")
#: A claim that does not hold: what it is of, what it says, what its rule needs.
Failure = namedtuple("Failure", "flow visit claim need why")
#: A stream of the certificate: `bound` if it is certified, else `lacks` says what is missing.
Stream = namedtuple("Stream", "flow listener bound proved lacks")


class Result:
    """What a certificate shows."""

    def __init__(self):
        self.failures, self.streams, self.may_drop = [], [], []

    def fail(self, flow, visit, claim, need, why):
        self.failures.append(Failure(flow, visit, claim, need, why))


def words(server):
    """Returns a server as it is shown."""
    kind, *rest = server
    return f"{kind} {rest[0]}" + (f":{rest[1]}" if kind == "port" else "".join(f" {own}" for own in rest[1:]))


def check(document, scenario=None):
    """Checks a certificate, if `scenario` is given for this plant alone; returns a `Result`."""
    top = Node(document, "certificate")
    schema, _, plant, flows, streams = top.members("schema", "rtether", "scenario", "flows", "streams")
    if schema.text() != SCHEMA:
        schema.fail(f"not `{SCHEMA}`; ask for a certificate of this version")
    result = Result()
    if scenario is not None and scenario != plant.value:
        result.fail(None, None, None, None, "it is of another plant than the one given")
        return result
    checker = Checker(Plant(plant), result)
    checker.read(flows)
    checker.run()
    checker.sum_up(streams)
    if not result.failures:
        result.may_drop = may_drop(checker)
    return result


class Checker:
    def __init__(self, plant, result):
        self.plant, self.result, self.ways = plant, result, Ways(plant)
        self.claims, self.waits = {}, {}
        #: By visit: why its claim is not certified; None while it is.
        self.lacks = [None] * len(self.ways.visits)
        #: Visits whose arrivals rest on no other claim.
        self.free = set()
        self.sources = [self._source(number) for number in range(len(plant.flows))]

    # What is claimed.

    def read(self, flows):
        """Reads the claims: one for each visit that the plant has, no more and no less."""
        known = {visit.key(): visit for visit in self.ways.visits}
        if len(known) < len(self.ways.visits):
            raise Malformed("a packet passes a server twice in one direction, which has no name")
        items = flows.items()
        if len(items) != len(self.plant.flows):
            flows.fail(f"{len(items)} flows, but the plant has {len(self.plant.flows)}")
        for number, (item, flow) in enumerate(zip(items, self.plant.flows)):
            name, waits, visits = item.members("flow", "waits", "visits")
            if name.text() != flow.name:
                name.fail(f"not `{flow.name}`, flow {number} of the plant")
            self.waits[number] = waits.flag()
            for own in visits.items():
                self._read_visit(number, own, known)
        for visit in self.ways.visits:
            if visit.number not in self.claims:
                self.claims[visit.number] = Claim(None, None, None)
                if self.plant.flows[visit.flow].traffic.kind != "messages":
                    self._fail(visit, None, None, "nothing is said of this visit")

    def _read_visit(self, number, item, known):
        to, way, at, arrivals, rule, delay = item.members("to", "way", "at", "arrivals", "rule", "delay")
        server = [part.number() if type(part.value) is int else part.text() for part in at.items(4)]
        key = (number, maybe(Node.text)(to), way.text(("request", "reply")), tuple(server))
        visit = known.get(key)
        if visit is None:
            item.fail(f"flow `{self.plant.flows[number].name}` does not come by there")
        if visit.number in self.claims:
            item.fail("a second claim of this visit")
        self.claims[visit.number] = Claim(
            maybe(_arrivals)(arrivals), maybe(Node.text)(rule), maybe(Node.number)(delay)
        )

    def _fail(self, visit, claim, need, why):
        name = self.plant.flows[visit.flow].name
        self.result.fail(name, visit, claim, need, why)

    # What the plant itself gives.

    def _source(self, number):
        """Returns what a flow releases: period, packets at once, jitter; None without a limit."""
        own = self.plant.flows[number].traffic
        if own.kind == "periodic":
            return Arrivals(own.period, 1, own.jitter)
        if own.kind == "sporadic":
            return Arrivals(own.gap, own.burst, 0)
        if own.kind == "adaptive":
            ends = [token for flow, _, token in self.ways.streams if flow == number and token is not None]
            least = min((self._path(token)[0] for token in ends), default=0)
            return Arrivals(max(1, min(least + own.pause, own.timeout)), 1, 0)
        return None

    def _path(self, token):
        """Returns the least and the longest time to the end of a stream, without and with the delays
        claimed, and the visits on the way."""
        least, most, at, path = token.least, token.most, token.parent, []
        while at is not None:
            visit, claim = self.ways.visits[at], self.claims.get(at)
            path.append(visit)
            least += visit.least
            if most is not None:
                known = claim is not None and claim.delay is not None
                most = most + visit.most + claim.delay - visit.split if known else None
            at = visit.parent
        return least, most, path

    # The induction.

    def run(self):
        """Tests every claim. What rests on a rule that is missing is taken out, and the rest is tested
        again, until what remains rests on itself alone."""
        for visit in self.ways.visits:
            self._begin(visit)
        for visit in wheels(self.ways):
            self._fail(visit, None, None, "a cycle of claims that takes no time")
        due = {id(server): server for server in self.ways.servers.values()}
        while due:
            weak = self._waiting_flows()
            for server in due.values():
                weak += self._test(server)
            weak += self._follow(weak)
            due = {}
            for number in weak:
                server = self.ways.servers[tuple(self.ways.visits[number].server)]
                due[id(server)] = server

    def _begin(self, visit):
        """Looks at one claim alone."""
        claim, server = self.claims[visit.number], self.ways.servers[tuple(visit.server)]
        flow = self.plant.flows[visit.flow]
        if claim.delay is None:
            self.lacks[visit.number] = "no delay is claimed" if server.lacks is None else server.lacks
        elif server.rule is None:
            self.lacks[visit.number] = server.lacks
        elif flow.traffic.kind == "messages":
            self.lacks[visit.number] = "messages over TCP"
        elif claim.rule != server.rule:
            self._fail(visit, claim, None, f"its server chooses by `{server.rule}`")
        if claim.arrivals is not None:
            self._compare(visit, claim.arrivals)

    def _compare(self, visit, claimed):
        """The curve claimed must be above one that follows from the source or from the claims before it."""
        ways = self._derived(visit)
        above = [claimed[:2] == own[:2] and claimed.jitter >= own.jitter for _, own in ways]
        if not any(above):
            self._fail(visit, claimed, ways[0][1] if ways else None, "its arrivals")
        if any(own and is_free for own, (is_free, _) in zip(above, ways)):
            self.free.add(visit.number)

    def _derived(self, visit):
        """Returns the curves that follow from the source or a limit, or from what is claimed at the visit
        before, and whether they rest on no claim."""
        source, limit, found = self.sources[visit.flow], visit.limit, []
        if source is not None and (visit.parent is None or (self.waits[visit.flow] and visit.leads_on)):
            found.append((True, source._replace(burst=source.burst * visit.frames)))
        if limit is not None and limit.begins and (limit.by != "table" or self.waits[visit.flow]):
            found.append((True, Arrivals(
                limit.step, limit.burst * visit.frames, limit.ahead + limit.delay)))
        before = self.claims[visit.parent] if visit.parent is not None else None
        if before is not None and before.arrivals is not None and before.delay is not None:
            # One flow meets the same constants, but not flows that share a limit.
            late = visit.late + visit.most - visit.least - (visit.constant if source is not None else 0)
            parts = before.arrivals.burst // self.ways.visits[visit.parent].frames
            found.append((False, Arrivals(before.arrivals.period, parts * visit.frames,
                                          before.arrivals.jitter + before.delay + late)))
        return found

    def _waiting_flows(self):
        """Flows that wait for answers: each must come in time and none may be lost. Returns visits whose
        claims no longer rest on that."""
        weak = []
        for number, claimed in self.waits.items():
            if not claimed or not limits.under_way_of(self.plant.flows[number]):
                if claimed:
                    self.result.fail(self.plant.flows[number].name, None, None, None,
                                     "it waits for no answers")
                self.waits[number] = False
                continue
            within = limits.within(self.plant.flows[number])
            for flow, _, token in self.ways.streams:
                if flow != number:
                    continue
                path = self._path(token) if token is not None else (None, None, [])
                lossy = any(self.ways.servers[tuple(own.server)].is_lossy for own in path[2])
                lack = next((self.lacks[own.number] for own in path[2] if self.lacks[own.number]), None)
                if lack is not None:
                    self.waits[number] = False
                    weak += self._give_up(number, lack)
                elif path[1] is None or path[1] >= within or lossy:
                    self.waits[number] = False
                    self.result.fail(self.plant.flows[number].name, None, within, path[1],
                                     "its answers may come after it gives up" if not lossy else
                                     "bit errors may destroy what it waits for")
        return weak

    def _give_up(self, number, lack):
        """Takes out the claims of a flow whose answers may come too late."""
        own = [visit for visit in self.ways.visits if visit.flow == number]
        for visit in own:
            self.lacks[visit.number] = self.lacks[visit.number] or lack
            is_of_table = visit.limit is not None and visit.limit.by == "table"
            if visit.parent is not None and (self.sources[number] is not None or is_of_table):
                self.free.discard(visit.number)
        return [visit.number for visit in own]

    def _follow(self, weak):
        """Returns the visits behind those whose claims fell: their arrivals are not certified any more."""
        fallen = set(weak)
        return [visit.number for visit in self.ways.visits
                if visit.parent in fallen and visit.number not in self.free]

    def _load(self, visit):
        """Returns the arrivals of one visit."""
        claim, group = self.claims[visit.number], None
        parent = visit.parent
        is_known = parent is None or visit.number in self.free or self.lacks[parent] is None
        if visit.ratio is not None:
            group = ("from", *self.ways.visits[parent].server)
        load = Load(
            visit.number, visit.cost(), claim.arrivals if is_known else None, queue=visit.queue,
            own=visit.own(), group=group, ratio=visit.ratio or 0, slack=visit.slack,
            spacing=visit.spacing, enough=claim.delay or 0, due=visit.due,
        )
        if self.waits[visit.flow] and visit.leads_on:
            load.under_way = limits.under_way_of(self.plant.flows[visit.flow]) * visit.frames
            if self.plant.flows[visit.flow].traffic.kind == "file":
                load.connection = (visit.flow, self._first(visit))
        return load

    def _loads(self, server):
        """Returns the arrivals at a server, as far as they are certified."""
        loads = [self._load(visit) for visit in server.members]
        pairs = [(load, visit) for load, visit in zip(loads, server.members)
                 if load.jitter is not None and self.sources[visit.flow] is None]
        limits.together(pairs, lambda visit: limits.since(self.ways, visit))
        return loads

    def _first(self, visit):
        while visit.parent is not None:
            visit = self.ways.visits[visit.parent]
        return visit.number

    def _test(self, server):
        """Tests the claims at a server; returns the visits whose claims rest on a missing rule."""
        loads, weak = self._loads(server), []
        for queue in sorted({load.queue for load in loads}):
            own = [visit for visit in server.members if visit.queue == queue]
            # As all at a server without a rule.
            if all(self.lacks[visit.number] is not None for visit in own):
                continue
            needs = RULES[server.rule](queue, loads, server) or [None] * len(own)
            for visit, need in zip(own, needs):
                if self.lacks[visit.number] is not None:
                    continue
                if need is not None:
                    need -= self._behind(server, visit)
                claim = self.claims[visit.number]
                if need is not None and need <= claim.delay:
                    continue
                lack = self._lack_of(server) or (FULL if need is None else None)
                if lack is None:
                    self._fail(visit, claim, need, server.rule)
                    continue
                self.lacks[visit.number] = lack
                weak.append(visit.number)
        return weak

    def _lack_of(self, server):
        """Returns the rule that is missing before a server, if one is."""
        for visit in server.members:
            if self.plant.flows[visit.flow].traffic.kind == "messages":
                return "messages over TCP"
            # Arrivals that nothing is claimed of rest on the first place before that lacks a rule.
            while visit.number not in self.free and visit.parent is not None:
                if self.lacks[visit.parent] is not None:
                    return self.lacks[visit.parent]
                visit = self.ways.visits[visit.parent]
        return None

    def _behind(self, server, visit):
        """Returns the work of the copies of a release for further listeners, which come at the same
        time in order of the list and go behind."""
        is_one = visit.parent is None and visit.frames == 1 and self.sources[visit.flow] is not None
        if not is_one or server.rule not in ("arrival", "priority"):
            return 0
        same = [own for own in server.members if own.flow == visit.flow and own.parent is None
                and own.number > visit.number]
        return sum(own.cost() for own in same)

    # What it comes to.

    def sum_up(self, streams):
        """Compares the sums with the bounds of the streams, and says which are certified."""
        items = streams.items()
        ends = self.ways.streams
        if len(items) != len(ends):
            streams.fail(f"{len(items)} streams, but the plant has {len(ends)}")
        for item, (number, listener, token) in zip(items, ends):
            flow = self.plant.flows[number].name
            name, to, bound, proved = item.members("flow", "listener", "bound", "proved")
            if (name.text(), to.text()) != (flow, listener):
                item.fail(f"not `{flow}` to `{listener}`")
            claimed = maybe(Node.number)(bound)
            self._sum(flow, listener, token, claimed, maybe(Node.number)(proved))

    def _sum(self, flow, listener, token, claimed, proved):
        lacks = None
        most, path = None, []
        if token is not None:
            _, most, path = self._path(token)
            lacks = next((self.lacks[own.number] for own in path if self.lacks[own.number]), None)
        if claimed is None:
            lacks = lacks or "no bound is claimed"
        elif lacks is None and (most is None or most > claimed):
            self.result.fail(flow, None, claimed, most, f"the sum of the delays to {listener}")
        bound = claimed if lacks is None else None
        self.result.streams.append(Stream(flow, listener, bound, proved, lacks))


def _arrivals(node):
    return node.record(Arrivals, number(1), number(1), Node.number)
