"""Follows each packet through the plant: the servers it visits, and the times in between.

A server is a list: `["stack", station, "both" | "send" | "receive"]`, `["tasks", station]`,
`["gap", station, flow]`, `["port", node, number]`, `["router", switch]`.
"""

from rtether_verify import frames, limits
from rtether_verify.plant import Station, Switch
from rtether_verify.reading import Malformed

#: Octets after which a switch that cuts through knows where to send a frame, without a tag:
#: preamble, both addresses, type (802.3, 3.1.1).
CUT = frames.PREAMBLE + frames.HEADER
#: Visits of a plant at most.
VISITS_MAX = 4_000_000
#: Traffic without a limit at its release.
OPEN = ("poisson", "file", "messages")


class Visit:
    """One flow at one server. `least` and `most` are from the beginning of service at the parent, or
    from the release, to the arrival here; `constant` is the part of their difference that is the same
    for all packets of a run."""

    __slots__ = (
        "flow", "copy", "way", "server", "queue", "small", "large", "sizes", "frames", "parent",
        "least", "most", "constant", "ratio", "spacing", "slack", "is_inbound", "is_tagged",
        "leads_on", "split", "number", "limit", "late", "due",
    )

    def key(self):
        """Returns what names it in a certificate."""
        return (self.flow, self.copy, self.way, tuple(self.server))

    def cost(self):
        """Returns the longest service."""
        return max(self.small[1], self.large[1])

    def own(self):
        """Returns the part of it that any packet has: of two sizes the smaller one."""
        return min(self.small[1], self.large[1])


class Token:
    """A packet on its way: where it was last, and what has passed since then; behind a port, how long its
    octets lasted there, and what was still to come of it (`octet`, `tail`)."""

    def __init__(self, sizes, count, kind, tag):
        self.sizes, self.count, self.kind = sizes, count, kind
        self.is_tagged, (self.pcp, self.vid) = tag is not None, tag or (0, 0)
        self.parent, self.least, self.most, self.constant = None, 0, 0, 0
        self.spacing, self.limit, self.late = None, None, 0

    def copy(self):
        other = Token.__new__(Token)
        other.__dict__.update(self.__dict__)
        return other

    def pass_time(self, least, most, constant=0):
        self.least, self.most = self.least + least, self.most + most
        self.constant += constant


class Server:
    """What is the same for all that visit it."""

    def __init__(self, name):
        self.name, self.members = name, []
        #: Rule by which it chooses; None where the checker has none.
        self.rule, self.lacks = "arrival", None
        #: Whether packets leave it at least as far apart as their service lasts.
        self.spaces = True
        self.layer, self.rate, self.quanta = None, 0, None
        self.turns, self.octet, self.per_octet, self.latency_jitter = None, 0, 0, 0
        self.is_cut_through, self.is_lossy = False, False


class Ways:
    """All visits of a plant, and the end of each stream."""

    def __init__(self, plant):
        self.plant, self.servers, self.visits, self.streams = plant, {}, [], []
        switches = [own for own in plant.nodes.values() if isinstance(own, Switch)]
        self.is_plain = all(port.vlan.kind == "transparent" for own in switches for port in own.ports)
        for number, flow in enumerate(plant.flows):
            self._follow(number, flow)
        self._widen()
        self._mark_deliveries()

    # What a server is.

    def server(self, name):
        key = tuple(name)
        if key not in self.servers:
            own = self.servers[key] = Server(name)
            node = self.plant.nodes[name[1]]
            if name[0] == "tasks" and node.tasks.messages_first:
                own.rule, own.spaces = "preemption", False
            layer = node.layer if isinstance(node, Station) else None
            if name[0] == "stack" and layer is not None and layer.instances is not None:
                own.rule, own.spaces = "preemption", False
            sorts = {"stack": layer.receive, "port": layer.transmit}.get(name[0]) if layer else None
            if sorts is not None:
                own.rule, own.layer = sorts.rule, sorts
            if name[0] == "gap":
                own.rule = "gap"
            for word in node.beyond if isinstance(node, Station) else ():
                part, _, what = word.partition(": ")
                if part == name[0]:
                    # In whatever order, it serves one after the other, unless instances interrupt.
                    own.rule, own.lacks, own.spaces = None, what, not what.startswith(("classes", "instances"))
            if name[0] == "port":
                self._make_port(own, node, (name[1], name[2]))
        return self.servers[key]

    def _make_port(self, own, node, port):
        (far, _), link = self.plant.peers[port]
        other = self.plant.nodes[far]
        own.octet, own.is_lossy, own.rate = frames.OCTET // link.rate, link.errors > 0, link.rate
        if isinstance(node, Switch):
            own.rule, own.turns, own.quanta = node.ports[port[1] - 1][:3]
            if own.rule == 'credit' and own.quanta and not any(own.turns):
                own.rule, own.turns = 'octets', own.quanta
            if own.rule == "other":
                own.rule, own.lacks = None, "the selection of the port"
        elif node.by_deadline:
            own.rule = "deadline"
        if link.half:
            own.rule, own.lacks, own.spaces = None, "a link that is half duplex", False
        for end in (node, other):
            if isinstance(end, Station) and end.interface:
                own.per_octet += end.interface.octet
        if isinstance(other, Switch):
            own.latency_jitter, own.is_cut_through = other.latency_jitter, other.cut_through

    # Where packets go.

    def _follow(self, number, flow):
        self.flow = number
        request, answer = self._sizes(flow)
        arrived, groups = {}, [[way] for way in flow.ways]
        for ways in [flow.ways] if flow.multicast else groups:
            self.copy, self.way = None if flow.multicast else ways[0].to, "request"
            goal = self._goal(
                "group" if flow.multicast else "one", [way.to for way in ways],
                [end for way in ways for end in way.out], any(way.configured for way in ways))
            arrived.update(self._send(flow, flow.talker, goal, Token(*request, flow.tag)))
        for way in flow.ways:
            end = arrived.get(way.to)
            if end is not None and answer is not None:
                end = self._answer(flow, way, end, answer)
            self.streams.append((number, way.to, end))

    def _answer(self, flow, way, arrived, answer):
        if way.back is None:
            raise Malformed(f"flow `{flow.name}` has answers, but no way back from `{way.to}`")
        token = Token(*answer, flow.tag)
        token.parent, token.least = arrived.parent, arrived.least
        token.most, token.constant = arrived.most, arrived.constant
        token.limit = limits.of_answers(arrived.limit, flow)
        # A timer may delay acknowledgements, whatever else passes.
        token.late = flow.traffic.ack_delay if flow.traffic.kind == "file" else 0
        if flow.reply is not None:
            token.pass_time(flow.reply.after, flow.reply.longest)
        self.copy, self.way = way.to, "reply"
        goal = self._goal("one", [flow.talker], way.back, way.configured)
        return self._send(flow, way.to, goal, token).get(flow.talker)

    @staticmethod
    def _sizes(flow):
        """Returns sizes, number and kind of the frames of a message, and of its answer."""
        kind = flow.traffic.kind
        if kind == "file":
            largest = frames.frame(flow.traffic.segment, "tcp")
            least = frames.FRAME_MIN
            return ((least, largest), 1, "file"), ((least, least), 1, "acknowledgement")
        if kind == "messages":
            both = ((frames.FRAME_MIN, frames.frame(flow.traffic.segment, "tcp")), 1, "message")
            return both, both
        count, small, large = frames.frames(flow.payload, flow.over)
        if flow.reply is None:
            return ((small, large), count, "datagram"), None
        number, least, most = frames.frames(flow.reply.payload, flow.over)
        return ((small, large), count, "datagram"), ((least, most), number, "datagram")

    @staticmethod
    def _goal(kind, stations, ports, is_configured):
        """Returns where packets go: to whom, and the ports of each node on the way."""
        table = {}
        for node, port in ports:
            table.setdefault(node, set()).add(port)
        return "stream" if is_configured else kind, set(stations), table

    def _send(self, flow, sender, goal, token):
        """Follows a packet that an application hands to its station; returns it where it is delivered."""
        station, self.is_own = self.plant.nodes[sender], goal[1] == {sender}
        self._pass_tasks(station, token, True)
        self._pass_stack(station, token, True)
        if flow.gap is not None and self.way == "request":
            self._visit(token, ["gap", sender, flow.name], 0, (flow.gap,) * 2, (flow.gap,) * 2)
            token.least = token.most = token.constant = 0
            token.limit = limits.Limit("gap", flow.gap, 1, 0, None, (1, 1), 1, 0, True)
        # What does not circulate passes each link once in each direction at most.
        delivered, under_way, links = {}, [], len(self.plant.peers)
        if self.is_own:
            # It turns round at the bottom of the stack.
            self._pass_stack(station, token, False)
            self._pass_tasks(station, token, False)
            return {sender: token} if token.parent is not None else {}
        transmit = station.layer and station.layer.transmit
        queue = min(self._class_of(station.layer, token), len(transmit.limits) - 1) if (
            transmit and transmit.rule != "arrival") else 0
        self._emit((sender, 1), queue, token, under_way)
        while under_way:
            (name, port), token = under_way.pop()
            node, links = self.plant.nodes[name], links - 1
            if links < 0 or name in delivered:
                raise Malformed(f"flow `{flow.name}`: copies of a packet circulate, or arrive twice")
            if isinstance(node, Switch):
                self._forward(node, port, goal, token, under_way)
            elif name in goal[1]:
                self._pass_stack(node, token, False)
                self._pass_tasks(node, token, False)
                delivered[name] = token
        return delivered

    def _pass_tasks(self, station, token, is_outbound):
        tasks, is_file = station.tasks, token.kind == "file"
        if tasks is None or token.kind == "acknowledgement":
            return
        is_known = token.kind == "datagram"
        least, constant = (tasks.message, tasks.message_more) if is_known else (0, 0)
        most = tasks.segment + tasks.segment_more if is_file else tasks.message + tasks.message_more
        # Nothing waits for the program that reads a file.
        own = token.copy() if is_file and not is_outbound else token
        count, own.count = own.count, 1 if is_known else own.count
        queue = 1 if tasks.messages_first and not is_file else 0
        self._visit(own, ["tasks", station.name], queue, (least, most), (least, most), not is_outbound)
        own.count, own.least, own.most, own.constant = count, least, most, constant
        if is_outbound and count > 1:
            own.spacing = None

    def _pass_stack(self, station, token, is_outbound):
        stack = station.stack
        if stack is None:
            return
        side = "send" if is_outbound else "receive"
        name = ["stack", station.name, side if stack.processors == 2 else "both"]
        costs = stack.send if is_outbound else stack.receive
        # A segment of a file may have data or not.
        own = {"datagram": costs[:1], "acknowledgement": costs[2:], "file": costs[1:], "message": costs}[token.kind]
        bounds = [_bounds(own, size) for size in token.sizes]
        constant = own[0].more if all(cost == own[0] for cost in own) else 0
        queue, layer = 0, station.layer
        if layer is not None and layer.instances is not None:
            queue = min(self._class_of(layer, token), len(layer.instances) - 1)
        if layer is not None and layer.receive is not None:
            queue = 2 * min(self._class_of(layer, token), len(layer.receive.limits) - 1) + (not is_outbound)
        token.is_tagged = token.is_tagged and is_outbound
        self._visit(token, name, queue, *bounds, not is_outbound)
        if self.way == "reply" or (self.is_own and not is_outbound):
            # It has passed a stack of this station before, or what it answers has.
            self.visits[token.parent].split = stack.split
        token.least, token.most = min(own[0] for own in bounds), max(own[1] for own in bounds)
        token.constant = constant
        is_open = self.plant.flows[self.flow].traffic.kind in OPEN
        if token.spacing is not None and (is_open or token.limit is not None):
            least = _bounds(own, frames.FRAME_MIN)[0]
            token.limit = limits.spacing(token, tuple(name), bounds, least)

    def _forward(self, switch, port, goal, token, under_way):
        vid = self._enter(switch, port, token)
        if vid is None:
            return
        ways = self._egress(switch, port, goal)
        if switch.processor is not None and ways:
            cost = switch.processor.cost
            bounds = [_bounds([cost], size) for size in token.sizes]
            self._visit(token, ["router", switch.name], 0, *bounds)
            token.least, token.most, token.constant = bounds[0][0], bounds[1][1], cost.more
        for egress in ways:
            frame = self._leave(switch, egress, vid, token)
            peer = self.plant.peers[(switch.name, egress)][1]
            if frame is None:
                continue
            if self._is_copy(switch, egress, goal, frame):
                frame.limit = limits.of_table(
                    switch.learns, limits.under_way_of(self.plant.flows[self.flow])) \
                    or frame.limit
            if switch.cut_through and frames.OCTET // peer.rate < token.octet:
                frame.pass_time(*frame.tail)
            is_by_queue = switch.ports[egress - 1].selection != "arrival"
            queue = switch.queue_of_pcp[frame.pcp] if is_by_queue else 0
            self._emit((switch.name, egress), queue, frame, under_way)

    def _egress(self, switch, ingress, goal):
        kind, _, table = goal
        floods = (kind == "one" and switch.learns is not None) or (kind == "group" and switch.floods_groups)
        # Where switches flood there is one way only: what strays from it comes by the port that leads back.
        ports = range(1, len(switch.ports) + 1) if floods else sorted(table.get(switch.name, ()))
        return [own for own in ports if own != ingress and (switch.name, own) in self.plant.peers]

    def _is_copy(self, switch, egress, goal, token):
        """Returns whether a frame of a connection goes by a port off its way, since the switch may have
        forgotten it."""
        if goal[0] != "one" or self.plant.flows[self.flow].traffic.kind != "file":
            return False
        if token.limit and token.limit.by == "table":
            return False
        return self.is_plain and egress not in goal[2].get(switch.name, ())

    def _emit(self, port, queue, token, under_way):
        if port not in self.plant.peers:
            return
        (far, far_port), link = self.plant.peers[port]
        node, other = self.plant.nodes[port[0]], self.plant.nodes[far]
        sizes = [size + (frames.TAG if token.is_tagged else 0) for size in token.sizes]
        octet = frames.OCTET // link.rate
        small, large = (frames.occupied(size, octet) for size in sizes)
        self._visit(token, ["port", *port], queue, (small, small), (large, large))
        whole = [frames.arrives(size, octet) for size in sizes]
        seen = whole
        if isinstance(other, Switch) and other.cut_through:
            seen = [(CUT + (frames.TAG if token.is_tagged else 0)) * octet] * 2
        token.tail = (whole[0] - seen[0], whole[1] - seen[1])
        token.octet, token.constant = octet, 0
        token.least, token.most = seen
        token.pass_time(link.propagation, link.propagation)
        for end in (node, other):
            if isinstance(end, Station) and end.interface:
                fixed = end.interface
                token.pass_time(fixed.base, fixed.base + fixed.more, fixed.more)
        if isinstance(other, Switch):
            more = other.latency_more
            token.pass_time(other.latency, other.latency + more, more)
        under_way.append(((far, far_port), token))

    # Tags (802.1Q, 6.9 and 8.6).

    @staticmethod
    def _is_aware(switch):
        return any(port.vlan.kind != "transparent" or port.default_pcp for port in switch.ports)

    def _enter(self, switch, number, token):
        if not self._is_aware(switch):
            if not token.is_tagged:
                token.pcp = 0
            return 1
        port = switch.ports[number - 1]
        if not token.is_tagged:
            token.pcp, token.vid = port.default_pcp, 0
        vid = token.vid or {
            "transparent": 1, "access": port.vlan.native, "trunk": port.vlan.native
        }[port.vlan.kind]
        return vid if vid is not None and self._admits(port.vlan, vid) else None

    @staticmethod
    def _admits(vlan, vid):
        if vlan.kind == "transparent" or (vlan.kind == "trunk" and vlan.members is None):
            return True
        return vid == vlan.native or (vlan.kind == "trunk" and vid in vlan.members)

    def _leave(self, switch, number, vid, token):
        frame = token.copy()
        if self._is_aware(switch):
            vlan = switch.ports[number - 1].vlan
            if not self._admits(vlan, vid):
                return None
            if vlan.kind != "transparent":
                frame.is_tagged, frame.vid = vlan.kind == "trunk" and vid != vlan.native, vid
        if switch.strips_tags:
            frame.is_tagged = False
        return frame

    def _class_of(self, layer, token):
        """Returns the class of a packet in a station: by its tag, by header rules, or that of others."""
        if token.is_tagged:
            return layer.queue_of_pcp[token.pcp]
        return layer.classes.get((self.plant.flows[self.flow].name, self.copy, self.way), layer.untagged)

    def _due(self, name):
        """Returns how long after it came to a port a packet of the flow is due there."""
        due = self.plant.flows[self.flow].due
        return None if due is None else due.at.get((name[1], name[2]), due.elsewhere)

    # What is recorded.

    def _visit(self, token, name, queue, small, large, is_inbound=False):
        if len(self.visits) == VISITS_MAX:
            raise Malformed(f"more than {VISITS_MAX} visits")
        server, visit = self.server(name), Visit()
        visit.flow, visit.copy, visit.way, visit.server = self.flow, self.copy, self.way, name
        visit.queue, visit.small, visit.large = queue, small, large
        visit.sizes, visit.frames, visit.parent = token.sizes, token.count, token.parent
        visit.least, visit.most, visit.constant = token.least, token.most, token.constant
        visit.slack, visit.is_inbound = 0, is_inbound
        visit.is_tagged, visit.leads_on, visit.split = token.is_tagged, False, 0
        visit.ratio, visit.spacing = _ratio(small, large, token.spacing), 0
        if token.spacing:
            visit.spacing = min(token.spacing)
        visit.number, visit.limit = len(self.visits), token.limit
        visit.late, token.late, visit.due = token.late, 0, self._due(name) if name[0] == "port" else None
        if server.rule == "deadline":
            visit.queue = int(visit.due is not None)
        if token.limit is not None:
            token.limit = token.limit._replace(begins=False, delay=0)
        self.visits.append(visit)
        server.members.append(visit)
        token.parent = visit.number
        token.spacing = (small[0], large[0]) if server.spaces else None

    def _widen(self):
        """Interfaces that take time for each octet, and switches whose latency varies, let frames keep
        their order: one may wait for the end of a longer one, and they may move towards each other."""
        times = {key: self._interfaces(server) for key, server in self.servers.items()}
        for visit in self.visits:
            if visit.parent is None:
                continue
            parent = self.visits[visit.parent]
            server, (most, spread) = self.servers[tuple(parent.server)], times[tuple(parent.server)]
            visit.least += server.per_octet * parent.sizes[0]
            visit.most += most + server.latency_jitter
            visit.slack = spread + server.latency_jitter
        for _, _, token in self.streams:
            if token is not None and token.parent is not None:
                parent = self.visits[token.parent]
                server = self.servers[tuple(parent.server)]
                token.least += server.per_octet * parent.sizes[0]
                token.most += times[tuple(parent.server)][0]

    @staticmethod
    def _interfaces(server):
        """Returns the most that interfaces take for the octets of a frame at a port, and by how much frames
        may move towards each other: where headers are of two lengths, by a tag."""
        least = server.per_octet * min(own.sizes[0] for own in server.members)
        most = server.per_octet * max(own.sizes[1] for own in server.members)
        tags = {own.is_tagged for own in server.members} if server.is_cut_through else ()
        return most, most - least + (frames.TAG * server.octet if len(tags) == 2 else 0)

    def _mark_deliveries(self):
        for _, _, token in self.streams:
            at = token.parent if token is not None else None
            while at is not None and not self.visits[at].leads_on:
                self.visits[at].leads_on = True
                at = self.visits[at].parent


def _bounds(costs, size):
    """Returns the least and the largest of some costs for a size."""
    each = [cost.base + cost.octet * size for cost in costs]
    return min(each), max(own + cost.more + cost.jitter for own, cost in zip(each, costs))


def _ratio(small, large, spacing):
    """Returns the most work here for a picosecond of service at the server before, in units of
    2^-32, rounded up; None where packets keep no distance."""
    if not spacing or not min(spacing):
        return None
    return max(-(-(own[1] << 32) // apart) for own, apart in zip((small, large), spacing))
