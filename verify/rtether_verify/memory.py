"""How much of each memory packets may need at once, by the delays claimed: what nothing exceeds drops
nothing. A packet that waits came no longer ago than its delay; where queues are served in order of arrival,
work that is there at once is at most what a packet may wait for and its own."""

from rtether_verify import frames
from rtether_verify.plant import Station

#: Rules that serve each queue in order of arrival.
BY_QUEUE = ("arrival", "priority", "frames", "octets")
#: Frames that the gap of a flow holds at most.
GAP_MAX = 1000
#: Octets of a tag, which a frame may carry in memory.
TAG = frames.TAG


def may_drop(checker):
    """Returns the memories that are not shown to suffice, and the links with bit errors."""
    found = []
    shared = {}
    for server in checker.ways.servers.values():
        kind, name, *rest = server.name
        if kind == "port":
            node = checker.plant.nodes[name]
            need = octets(checker, server, server.members)
            if isinstance(node, Station):
                suffices = need is not None and need <= node.driver_queue
            else:
                port = node.ports[rest[0] - 1]
                suffices = need is not None and need <= port.buffer and by_queue(checker, server, port)
                shared.setdefault(name, []).append(need)
            if not suffices:
                found.append(f"port {name}:{rest[0]}")
            if server.is_lossy:
                found.append(f"the link of port {name}:{rest[0]}")
    for name, needs in shared.items():
        most = checker.plant.nodes[name].shared_buffer
        if most is not None and (None in needs or sum(needs) > most):
            found.append(f"the shared memory of {name}")
    inside = {}
    for server in checker.ways.servers.values():
        inside.setdefault((server.name[0], server.name[1]), []).extend(server.members)
    for name, node in checker.plant.nodes.items():
        if isinstance(node, Station) and node.layer is not None:
            found += [f"the {what} of {name}" for what in queues(checker, node, inside)]
            continue
        limits = {"stack": node.stack_queue, "tasks": node.stack_queue, "gap": GAP_MAX} if isinstance(
            node, Station) else {"router": node.processor.queue if node.processor else 0}
        for kind, most in limits.items():
            need = packets(checker, inside.get((kind, name), ()))
            if need is None or need > most:
                found.append(f"{kind} {name}")
    return found


def queues(checker, station, inside):
    """Returns the queues of a station with classes that are not shown to suffice."""
    layer, stack = station.layer, inside.get(("stack", station.name), [])
    port = inside.get(("port", station.name), [])
    sent, received = ([own for own in stack if own.is_inbound is way] for way in (False, True))
    held = [("tasks", inside.get(("tasks", station.name), []), station.stack_queue),
            ("gaps", inside.get(("gap", station.name), []), GAP_MAX)]
    if layer.receive is not None:
        held += [("packets to be sent", sent, station.stack_queue), ("input", received, layer.receive.input)]
        held += [(f"receive queue {queue}", [own for own in received if own.queue // 2 == queue], most)
                 for queue, most in enumerate(layer.receive.limits)]
    elif layer.instances is not None:
        # Each direction may have its own.
        held += [(f"instance {queue}", [own for own in way if own.queue == queue], most)
                 for queue, most in enumerate(layer.instances)
                 for way in ([stack] if station.stack and station.stack.processors == 1 else (sent, received))]
    else:
        held.append(("stack", stack, station.stack_queue))
    if layer.transmit is not None and layer.transmit.rule == "arrival":
        held.append(("transmit queue", port, sum(layer.transmit.limits)))
    elif layer.transmit is not None:
        held += [(f"transmit queue {queue}", [own for own in port if own.queue == queue], most)
                 for queue, most in enumerate(layer.transmit.limits)]
    needs = [(what, packets(checker, visits), most) for what, visits, most in held]
    return [what for what, need, most in needs if need is None or need > most]


def counted(checker, visits, worth):
    """Returns what the packets of some visits that may be at their places at once are worth."""
    known, total = {}, 0
    for visit in visits:
        claim, load = checker.claims[visit.number], checker._load(visit)
        if load.under_way:
            name = load.connection or visit.number
            known[name] = max(known.get(name, 0), load.under_way * worth(visit))
        elif claim.delay is None or load.jitter is None or checker.lacks[visit.number] is not None:
            return None
        elif claim.delay:
            total += load.burst * ((claim.delay + load.jitter) // load.period + 1) * worth(visit)
    return total + sum(known.values())


def packets(checker, visits):
    return counted(checker, visits, lambda visit: 1)


def octets(checker, server, visits):
    """Returns the octets of frames that may wait at a port."""
    found = [counted(checker, visits, lambda visit: visit.sizes[1] + TAG)]
    claims = [(checker.claims[own.number], own) for own in visits if checker.lacks[own.number] is None]
    if server.rule in BY_QUEUE and len(claims) == len(visits):
        queues = {}
        for claim, own in claims:
            queues[own.queue] = max(queues.get(own.queue, 0), claim.delay + own.cost())
        work = sum(queues.values())
        if server.rule == "arrival":
            work = min(claim.delay + own.own() + checker._behind(server, own) for claim, own in claims)
        largest = max(own.cost() for own in visits) // server.octet
        # Each frame brings its overhead, least of all the largest one.
        found.append(work // server.octet * (largest - frames.PREAMBLE - frames.GAP) // largest)
    return min((own for own in found if own is not None), default=None)


def by_queue(checker, server, port):
    """Returns whether each queue keeps its threshold."""
    if port.thresholds is None:
        return True
    for queue, most in enumerate(port.thresholds):
        own = [visit for visit in server.members if visit.queue == queue]
        need = octets(checker, server, own) if own else 0
        if need is None or need > most:
            return False
    return True
