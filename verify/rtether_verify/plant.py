"""The plant of a certificate: stations, switches, links and flows, with every value written out."""

from collections import deque, namedtuple

from rtether_verify import frames
from rtether_verify.reading import NUMBER_MAX, Node, among, each, maybe, number

Cost = namedtuple("Cost", "base octet more jitter")
Interface = namedtuple("Interface", "base octet more")
Stack = namedtuple("Stack", "processors send receive split")
Tasks = namedtuple("Tasks", "message message_more segment segment_more messages_first")
Layer = namedtuple("Layer", "queue_of_pcp untagged classes instances receive transmit")
Class = namedtuple("Class", "flow to way class_")
Receive = namedtuple("Receive", "rule input limits picks idle below_top")
Transmit = namedtuple("Transmit", "rule limits ring high_from sends_empty idle rings")
Station = namedtuple("Station", "name kind beyond stack interface stack_queue driver_queue tasks layer by_deadline")
Vlan = namedtuple("Vlan", "kind members native")
Port = namedtuple("Port", "selection turns quanta vlan default_pcp buffer thresholds")
Router = namedtuple("Router", "cost queue")
Switch = namedtuple(
    "Switch",
    "name kind latency latency_jitter latency_more cut_through queue_of_pcp strips_tags"
    " floods_groups learns shared_buffer processor ports",
)
Link = namedtuple("Link", "ends rate propagation errors standby half")
Tag = namedtuple("Tag", "pcp vid")
Reply = namedtuple("Reply", "payload after longest")
Way = namedtuple("Way", "to out back configured")
Flow = namedtuple("Flow", "name talker multicast over payload tag traffic gap reply ways due deadline")
Due = namedtuple("Due", "elsewhere at")
DueAt = namedtuple("DueAt", "port within")
#: What each kind of traffic states.
TRAFFIC = {
    "periodic": namedtuple("Periodic", "kind period jitter"),
    "sporadic": namedtuple("Sporadic", "kind gap burst"),
    "adaptive": namedtuple("Adaptive", "kind pause timeout"),
    "poisson": namedtuple("Poisson", "kind"),
    "file": namedtuple("File", "kind segment window file timeout ack_delay"),
    "messages": namedtuple("Messages", "kind segment"),
}

some, positive, text, flag = number(), number(1), Node.text, Node.flag
#: Readers of the values of traffic; what is not listed is a positive number.
VALUES = {"kind": text, "jitter": some, "pause": some, "file": maybe(positive), "ack_delay": some}


def cost(node):
    return node.record(Cost, some, some, some, some)


def stack(node):
    costs = each(cost, 3, 3)
    return node.record(Stack, number(1, 2), costs, costs, some)


def station(node):
    interface = maybe(lambda own: own.record(Interface, some, some, some))
    tasks = maybe(lambda own: own.record(Tasks, some, some, some, some, flag))
    queue = number(0, 7)
    numbers = each(some, 8, 1)
    classes = lambda own: {(one.flow.text(), maybe(text)(one.to), one.way.text(("request", "reply"))): queue(one.class_)
                           for one in (Class(*item.members("flow", "to", "way", "class")) for item in own.items())}
    receive = lambda own: own.record(
        Receive, among("highest", "promoting", "flag"), some, numbers, some, maybe(some), flag)
    transmit = lambda own: own.record(
        Transmit, among("arrival", "moderate", "strict", "rings"), numbers, positive, queue, flag,
        maybe(some), number(1, 8))
    layer = maybe(lambda own: own.record(
        Layer, each(queue, 8, 8), queue, classes, maybe(numbers), maybe(receive), maybe(transmit)))
    return node.record(Station, text, text, each(text), maybe(stack), interface, some, some, tasks, layer, flag)


def port(node):
    kinds = among("transparent", "access", "trunk")
    vid = number(0, 4094)
    vlan = lambda own: own.record(Vlan, kinds, maybe(each(vid, 4095)), maybe(vid))
    selection = among("arrival", "priority", "frames", "octets", "credit", "deadline", "other")
    numbers = maybe(each(some, 8, 8))
    own = node.record(Port, selection, numbers, numbers, vlan, number(0, 7), some, numbers)
    if (own.turns is None) == (own.selection in ("frames", "octets", "credit")):
        node.fail("`turns` belong to the selections frames, octets and credit")
    return own


def switch(node):
    router = maybe(lambda own: own.record(Router, cost, some))
    return node.record(
        Switch, text, text, some, some, some, flag, each(number(0, 7), 8, 8), flag, flag, maybe(some),
        maybe(some), router, each(port, 1 << 16),
    )


def end(node):
    name, at = node.items(2, 2)
    return name.text(), at.number(1, 1 << 16)


def link(node):
    own = node.record(Link, each(end, 2, 2), positive, some, some, flag, flag)
    if frames.OCTET % own.rate:
        node.fail("an octet does not last a whole number of picoseconds")
    return own


def traffic(node):
    kind = TRAFFIC[node.word(tuple(TRAFFIC))]
    return node.record(kind, *(VALUES.get(field, positive) for field in kind._fields))


def due(node):
    own = node.record(Due, positive, each(lambda at: at.record(DueAt, end, positive), 4096))
    return own._replace(at={at.port: at.within for at in own.at})


def flow(node):
    reply = maybe(lambda own: own.record(Reply, some, some, some))
    ports = each(end, 4096)
    way = lambda own: own.record(Way, text, ports, maybe(ports), flag)
    own = node.record(
        Flow, text, text, flag, among(*frames.OVER), some,
        maybe(lambda tag: tag.record(Tag, number(0, 7), number(0, 4094))), traffic, maybe(positive),
        reply, each(way, 4096, 1), maybe(due), maybe(some),
    )
    # Messages over TCP are cut into segments.
    is_cut = own.traffic.kind in ("file", "messages")
    most = NUMBER_MAX if is_cut else frames.payload_max(own.over)
    if own.payload > most or (own.reply is not None and own.reply.payload > most):
        node.fail(f"more than {most} octets do not fit a packet over {own.over}")
    if own.gap is not None and len(own.ways) > 1 and not own.multicast:
        node.fail("a gap holds the frames to one listener or a group")
    if own.reply is not None and own.reply.longest < own.reply.after:
        node.fail("`longest` of the reply is below `after`")
    return own


class Plant:
    """Nodes by name, links by end, flows in order; what does not fit together is malformed."""

    def __init__(self, node):
        name, nodes, links, flows = node.members("name", "nodes", "links", "flows")
        self.name, self.nodes, self.peers, self.flows, self._distances = name.text(), {}, {}, [], {}
        for item in nodes.items():
            own = {"station": station, "switch": switch}[item.word(("station", "switch"))](item)
            if own.name in self.nodes:
                item.fail(f"another node is `{own.name}`")
            self.nodes[own.name] = own
        for item in links.items():
            self._add_link(item, link(item))
        names = set()
        for item in flows.items():
            own = flow(item)
            self._check_flow(item, own)
            if own.name in names:
                item.fail(f"another flow is `{own.name}`")
            names.add(own.name)
            self.flows.append(own)
        switches = [own for own in self.nodes.values() if isinstance(own, Switch)]
        floods = any(own.learns is not None or own.floods_groups for own in switches)
        if floods and self._has_loop():
            node.fail("switches flood in a loop, so that frames circulate; put a link on standby")

    def _add_link(self, item, own):
        for name, at in own.ends:
            node = self.nodes.get(name)
            if node is None or at > (len(node.ports) if isinstance(node, Switch) else 1):
                item.fail(f"there is no port {at} of `{name}`")
        for near, far in (own.ends, own.ends[::-1]):
            if own.standby:
                continue
            if near in self.peers:
                item.fail(f"two links in use at port {near[1]} of `{near[0]}`")
            self.peers[near] = (far, own)

    def _check_flow(self, item, own):
        listeners = [way.to for way in own.ways]
        for name in [own.talker] + listeners:
            if not isinstance(self.nodes.get(name), Station):
                item.fail(f"there is no station `{name}`")
        if len(set(listeners)) < len(listeners):
            item.fail("one listener twice")
        for way in own.ways:
            self._check_way(item, own.talker, way.to, way.out, way.configured)
            if way.back is not None:
                self._check_way(item, way.to, own.talker, way.back, way.configured)

    def _check_way(self, item, start, goal, ports, is_configured):
        """A way leads from one station to another, and is a shortest one unless it is configured."""
        at = start
        for near in ports:
            if near[0] != at or near not in self.peers:
                item.fail(f"the way to `{goal}` breaks at port {near[1]} of `{near[0]}`")
            at = self.peers[near][0][0]
            if at != goal and not isinstance(self.nodes[at], Switch):
                item.fail(f"the way to `{goal}` passes the station `{at}`")
        if at != goal or (start == goal and ports):
            item.fail(f"the way to `{goal}` ends at `{at}`")
        if not is_configured and len(ports) != self.distances(goal)[start]:
            item.fail(f"there is a shorter way to `{goal}`, and this one is not configured")

    def distances(self, goal):
        """Returns the number of links from each node to a station, past no other station."""
        if goal not in self._distances:
            found, left = {goal: 0}, deque([goal])
            while left:
                at = left.popleft()
                for near in self.ports(at):
                    other = self.peers[near][0][0]
                    if other not in found:
                        found[other] = found[at] + 1
                        if isinstance(self.nodes[other], Switch):
                            left.append(other)
            self._distances[goal] = found
        return self._distances[goal]

    def ports(self, name):
        """Returns the ports of a node with a link in use."""
        node = self.nodes[name]
        count = len(node.ports) if isinstance(node, Switch) else 1
        return [(name, at) for at in range(1, count + 1) if (name, at) in self.peers]

    def _has_loop(self):
        """Returns whether links in use join nodes in a loop: one that joins two of one tree."""
        root = {}

        def find(name):
            while name in root:
                name = root[name]
            return name

        for near, (far, _) in self.peers.items():
            if near < far:
                one, other = find(near[0]), find(far[0])
                if one == other:
                    return True
                root[one] = other
        return False
