// The plant of a certificate: its places, and the visits that packets pay them. A part of the second
// checker, which was written from the page docs/reference/certificate.md alone.
import { TooLarge, spend } from './budget.mjs';

const HEADERS = { raw: 0n, udp: 28n, icmp: 28n, tcp: 40n, goose: 8n, sv: 8n, profinet: 6n };
const LEAST_FRAME = 64n;
const FRAGMENT = 1480n;
const FULL_FRAGMENT = 1518n;
const TAG = 4n;
const MOST_VISITS = 400_000;

/** What the plant says of itself that cannot be; claims about such a plant are rejected. */
export class Impossible extends Error {}

export const max = (a, b) => (a > b ? a : b);
export const min = (a, b) => (a < b ? a : b);
export const ceilDiv = (a, b) => (a + b - 1n) / b;
export const largest = (values) => values.reduce(max, 0n);
export const least = (values) => values.reduce(min);

const portKey = ({ node, port }) => `${node}\u0000${port}`;

/** Nodes, links and flows, with every visit in `visits`, in the order of flows and of their ways. */
export function build(scenario) {
  const plant = { nodes: new Map(), wires: new Map(), places: new Map(), flows: [], visits: [] };
  for (const node of scenario.nodes) {
    if (plant.nodes.has(node.name)) throw new Impossible(`two nodes are named ${node.name}`);
    plant.nodes.set(node.name, node);
    for (const port of node.ports ?? []) {
      if (['frames', 'octets'].includes(port.selection) && !port.turns) throw new Impossible(`${node.name}: no turns`);
    }
    node.plain = node.kind === 'switch' && !node.strips_tags
      && node.ports.every((port) => port.vlan.kind === 'transparent' && port.default_pcp === 0);
  }
  for (const link of scenario.links) lay(plant, link);
  const names = new Set();
  for (const flow of scenario.flows) {
    if (names.has(flow.name)) throw new Impossible(`two flows are named ${flow.name}`);
    names.add(flow.name);
    plant.flows.push(buildFlow(plant, flow));
  }
  for (const visit of plant.visits) serve(visit);
  for (const visit of plant.visits) visit.via = visit.prev && between(plant, visit.prev, visit);
  return plant;
}

function lay(plant, link) {
  if (8_000_000_000_000n % link.rate !== 0n) throw new Impossible('an octet is no whole number of picoseconds');
  link.octet = 8_000_000_000_000n / link.rate;
  for (const [here, there] of [link.ends, [...link.ends].reverse()]) {
    const node = plant.nodes.get(here.node);
    const ports = node && (node.kind === 'station' ? 2 : node.ports.length);
    if (!node || here.port < 1 || here.port > ports) throw new Impossible(`no port ${here.node}:${here.port}`);
    if (plant.wires.has(portKey(here))) throw new Impossible(`two links at ${here.node}:${here.port}`);
    plant.wires.set(portKey(here), { ...link, to: there });
  }
}

export const wireAt = (plant, port) => {
  const wire = plant.wires.get(portKey(port));
  return wire && !wire.standby ? wire : null;
};

function stationOf(plant, name) {
  const node = plant.nodes.get(name);
  if (!node || node.kind !== 'station') throw new Impossible(`no station ${name}`);
  return node;
}

// Packets of both directions: sizes without tag, shortest and longest, and kinds of cost.
function packets(flow) {
  const { traffic } = flow;
  if (traffic.kind === 'file' || traffic.kind === 'messages') {
    const full = max(LEAST_FRAME, 18n + HEADERS.tcp + traffic.segment);
    const data = { sizes: [LEAST_FRAME, full], kinds: [1, 2], frames: 1n };
    const acknowledgement = { sizes: [LEAST_FRAME], kinds: [2], frames: 1n };
    return { request: data, reply: traffic.kind === 'file' ? acknowledgement : data };
  }
  return { request: datagram(flow.over, flow.payload), reply: flow.reply && datagram(flow.over, flow.reply.payload) };
}

function datagram(over, payload) {
  const kinds = over === 'tcp' ? [1] : [0];
  const whole = max(LEAST_FRAME, 18n + HEADERS[over] + payload);
  if (over !== 'udp' || 8n + payload <= FRAGMENT) return { sizes: [whole], kinds, frames: 1n };
  const frames = ceilDiv(8n + payload, FRAGMENT);
  const rest = 8n + payload - (frames - 1n) * FRAGMENT;
  return { sizes: [max(LEAST_FRAME, 38n + rest), FULL_FRAGMENT], kinds, frames };
}

function buildFlow(plant, flow) {
  const built = { ...flow, packets: packets(flow), visits: [], ways: [], open: false };
  built.open = ['file', 'poisson', 'messages'].includes(flow.traffic.kind);
  built.connection = flow.traffic.kind === 'file';
  stationOf(plant, flow.talker);
  const listeners = flow.ways.map((way) => way.to);
  if (new Set(listeners).size !== listeners.length) throw new Impossible(`${flow.name}: a listener stands twice`);
  const answered = flow.reply !== null || flow.over === 'tcp' || flow.traffic.kind === 'file';
  for (const way of flow.ways) {
    stationOf(plant, way.to);
    if ((way.back !== null) !== answered) throw new Impossible(`${flow.name}: answers and their way do not agree`);
    checkWay(plant, flow, way, flow.talker, way.to, way.out);
    if (way.back) checkWay(plant, flow, way, way.to, flow.talker, way.back);
  }
  if (flow.multicast) sendGroup(plant, built, flow.ways);
  else for (const way of flow.ways) sendTo(plant, built, way);
  return built;
}

// Ports of a way have to follow each other by links, and no way may be longer than a shortest one.
function checkWay(plant, flow, way, from, to, ports) {
  const fail = (why) => { throw new Impossible(`${flow.name}, ${from} to ${to}: ${why}`); };
  if (from === to) {
    if (ports.length > 0) fail('a way from a station to itself has no ports');
    return;
  }
  let here = from;
  const passed = new Set();
  for (const port of ports) {
    if (port.node !== here || passed.has(here)) fail(`the way does not leave by ${port.node}:${port.port}`);
    passed.add(here);
    const wire = wireAt(plant, port);
    if (!wire) fail(`no link at ${port.node}:${port.port}`);
    if (here !== from && plant.nodes.get(here).kind !== 'switch') fail(`${here} does not forward`);
    here = wire.to.node;
  }
  if (here !== to) fail('the way ends elsewhere');
  if (!way.configured && ports.length > distance(plant, from, to)) fail('there is a shorter way');
}

// Links from one station to another, over switches; answers are kept, since flows share stations.
function distance(plant, from, to) {
  plant.distances ??= new Map();
  if (!plant.distances.has(from)) plant.distances.set(from, distances(plant, from));
  return plant.distances.get(from).get(to) ?? Infinity;
}

function distances(plant, from) {
  const far = new Map([[from, 0]]);
  plant.neighbors ??= neighbors(plant);
  const queue = [from];
  for (const here of queue) {
    if (here !== from && plant.nodes.get(here).kind !== 'switch') continue;
    for (const next of plant.neighbors.get(here) ?? []) {
      spend(1);
      if (far.has(next)) continue;
      far.set(next, far.get(here) + 1);
      queue.push(next);
    }
  }
  return far;
}

function neighbors(plant) {
  const result = new Map();
  for (const [key, wire] of plant.wires) {
    const node = key.slice(0, key.lastIndexOf('\u0000'));
    if (wire.standby) continue;
    if (!result.has(node)) result.set(node, []);
    result.get(node).push(wire.to.node);
  }
  return result;
}

// Ports by which switches on these ways send, and whether they may send by others, too.
function chosenPorts(ways, direction) {
  const chosen = new Map();
  for (const way of ways) {
    for (const port of way[direction] ?? []) {
      if (!chosen.has(port.node)) chosen.set(port.node, new Set());
      chosen.get(port.node).add(port.port);
    }
  }
  return chosen;
}

function sendGroup(plant, flow, ways) {
  const trip = {
    flow, to: null, way: 'request', packet: flow.packets.request, targets: new Set(ways.map((way) => way.to)),
    chosen: chosenPorts(ways, 'out'), configured: ways.some((way) => way.configured), group: true, ends: new Map(),
  };
  travel(plant, trip, flow.talker, null);
  for (const way of ways) {
    flow.ways.push(finish(plant, flow, way, trip));
  }
}

function sendTo(plant, flow, way) {
  const trip = {
    flow, to: way.to, way: 'request', packet: flow.packets.request, targets: new Set([way.to]),
    chosen: chosenPorts([way], 'out'), configured: way.configured, group: false, ends: new Map(),
  };
  travel(plant, trip, flow.talker, null);
  flow.ways.push(finish(plant, flow, way, trip));
}

// Answers begin where the request ends; acknowledgements do not pass the tasks of the listener.
function finish(plant, flow, way, request) {
  const end = request.ends.get(way.to);
  if (!end) throw new Impossible(`${flow.name}: nothing arrives at ${way.to}`);
  const built = { ...way, requestEnd: end.last, replyEnd: null };
  if (!way.back || !flow.packets.reply) return built;
  const trip = {
    flow, to: way.to, way: 'reply', packet: flow.packets.reply, targets: new Set([flow.talker]),
    chosen: chosenPorts([way], 'back'), configured: way.configured, group: false, ends: new Map(),
  };
  travel(plant, trip, way.to, flow.connection ? end.beforeTasks : end.last);
  const back = trip.ends.get(flow.talker);
  if (!back) throw new Impossible(`${flow.name}: no answer arrives from ${way.to}`);
  built.replyEnd = flow.connection ? back.beforeTasks : back.last;
  return built;
}

function placeAt(plant, kind, node, detail, more) {
  const key = [kind, node, ...(detail === null ? [] : [typeof detail === 'number' ? String(detail) : `"${detail}"`])]
    .join('\u0000');
  if (!plant.places.has(key)) plant.places.set(key, { key, kind, node: plant.nodes.get(node), visits: [], ...more });
  return plant.places.get(key);
}

function visit(plant, trip, prev, place, more) {
  if (plant.visits.length >= MOST_VISITS) throw new TooLarge('too many visits');
  const { flow, to, way, packet } = trip;
  const whole = place.kind === 'tasks';
  const added = {
    flow, to, way, place, prev, next: [], sizes: packet.sizes, kinds: packet.kinds,
    frames: whole ? 1n : packet.frames, tag: null, queue: 0, answer: false, offWay: false, ...more,
  };
  if (prev) prev.next.push(added);
  place.visits.push(added);
  flow.visits.push(added);
  plant.visits.push(added);
  return added;
}

function travel(plant, trip, from, before) {
  const station = plant.nodes.get(from);
  const { tag } = trip.flow;
  let last = before;
  const add = (place, more) => {
    last = visit(plant, trip, last, place, { answer: last !== null && last === before, tag, ...more });
  };
  if (station.tasks && passesTasks(trip)) add(tasksOf(plant, station), { queue: taskQueue(station, trip) });
  if (station.stack) add(stackOf(plant, station, 'send'), { side: 'send', queue: classOf(station, tag, trip) });
  if (trip.targets.has(from)) return receive(plant, { ...trip, turned: true }, station, null, last);
  if (trip.flow.gap !== null && trip.way === 'request') add(placeAt(plant, 'gap', from, trip.flow.name, {}));
  const first = [...(trip.chosen.get(from) ?? [])];
  if (first.length !== 1) throw new Impossible(`${trip.flow.name}: a station sends by one port`);
  add(portOf(plant, station, first[0]), {});
  return arrive(plant, trip, last, wireAt(plant, { node: from, port: first[0] }), new Set());
}

const passesTasks = (trip) => !(trip.flow.connection && trip.way === 'reply');

function tasksOf(plant, station) {
  return placeAt(plant, 'tasks', station.name, null, { turns: null });
}

function stackOf(plant, station, direction) {
  return placeAt(plant, 'stack', station.name, station.stack.processors === 1n ? 'both' : direction, {});
}

function portOf(plant, node, number) {
  const wire = wireAt(plant, { node: node.name, port: number });
  if (!wire) throw new Impossible(`no link at ${node.name}:${number}`);
  return placeAt(plant, 'port', node.name, number, { wire, number, octet: wire.octet });
}

const taskQueue = (station, trip) => (station.tasks.messages_first && !trip.flow.connection ? 1 : 0);

// The highest instance has all classes from its own on.
function classOf(station, tag, trip) {
  const { layer } = station;
  if (!layer || layer.instances === null) return 0;
  const other = layer.classes.find((own) => own.flow === trip.flow.name && own.way === trip.way && own.to === trip.to);
  const own = tag ? layer.queue_of_pcp[tag.pcp] : other?.class ?? layer.untagged;
  return Number(min(own, BigInt(layer.instances.length - 1)));
}

function receive(plant, trip, station, tag, prev) {
  const end = { last: prev, beforeTasks: prev };
  const { flow } = trip;
  if (station.stack) {
    const more = { side: 'receive', tag, queue: classOf(station, tag, trip) };
    end.last = visit(plant, trip, end.last, stackOf(plant, station, 'receive'), more);
  }
  end.beforeTasks = end.last;
  if (station.tasks && passesTasks(trip)) {
    end.last = visit(plant, trip, end.last, tasksOf(plant, station), { tag, queue: taskQueue(station, trip) });
  }
  if (trip.ends.has(station.name)) throw new Impossible(`${flow.name}: ${station.name} receives a frame twice`);
  trip.ends.set(station.name, end);
}

function arrive(plant, trip, prev, wire, passed) {
  const node = plant.nodes.get(wire.to.node);
  if (node.kind === 'station') {
    // The interface of a station discards what others are to receive.
    if (trip.targets.has(node.name)) receive(plant, trip, node, prev.tag, prev);
    return;
  }
  if (passed.has(node.name)) throw new Impossible(`${trip.flow.name}: frames go in a circle at ${node.name}`);
  const inside = enter(node, wire.to.port, prev.tag);
  if (!inside) return;
  passed.add(node.name);
  let last = prev;
  const shared = { tag: prev.tag, offWay: prev.offWay };
  if (node.processor) last = visit(plant, trip, prev, placeAt(plant, 'router', node.name, null, {}), shared);
  for (const number of leavingPorts(plant, trip, node, wire.to.port)) forward(plant, trip, node, number, inside, last, passed);
  passed.delete(node.name);
}

function leavingPorts(plant, trip, node, arrived) {
  const chosen = trip.chosen.get(node.name) ?? new Set();
  const floods = !trip.configured && (trip.group ? node.floods_groups : node.learns !== null);
  if (!floods) return chosen;
  const all = [];
  spend(node.ports.length);
  for (let number = 1; number <= node.ports.length; number += 1) {
    if (number !== arrived && wireAt(plant, { node: node.name, port: number })) all.push(number);
  }
  return all;
}

function forward(plant, trip, node, number, inside, prev, passed) {
  const tag = leave(node, number, inside);
  if (tag === undefined) return;
  const { selection } = node.ports[number - 1];
  const queue = selection === 'arrival' ? 0 : Number(node.queue_of_pcp[inside.pcp]);
  const onWay = !prev.offWay && (trip.chosen.get(node.name)?.has(number) ?? false);
  const next = visit(plant, trip, prev, portOf(plant, node, number), { tag, queue, offWay: !onWay });
  arrive(plant, trip, next, next.place.wire, passed);
}

// Priority and VLAN that a frame has inside a switch, or null if the port does not take it.
function enter(node, number, tag) {
  const port = node.ports[number - 1];
  const pcp = tag ? tag.pcp : (node.plain ? 0 : port.default_pcp);
  const named = tag && tag.vid !== 0n ? tag.vid : null;
  const { kind, members, native } = port.vlan;
  if (kind === 'transparent') return { pcp, vid: named, tag };
  if (kind === 'access') return named === null || named === native ? { pcp, vid: native, tag } : null;
  if (named === null) return native === null ? null : { pcp, vid: native, tag };
  return members === null || members.includes(named) || named === native ? { pcp, vid: named, tag } : null;
}

// The tag with which a frame leaves, or undefined if the port is no member of its VLAN.
function leave(node, number, { pcp, vid, tag }) {
  const { kind, members, native } = node.ports[number - 1].vlan;
  let left = tag;
  if (kind === 'access') {
    if (vid !== native) return undefined;
    left = null;
  } else if (kind === 'trunk') {
    if (vid === null || !(members === null || members.includes(vid) || vid === native)) return undefined;
    left = vid === native ? null : { pcp, vid };
  }
  return node.strips_tags ? null : left;
}

/** Octets of a frame of this visit, with its tag. */
export const framed = (visit, size) => size + (visit.tag ? TAG : 0n);

// The longest and least service of each size, and `more`, which is the same in the whole run.
function serve(visit) {
  const costs = costsOf(visit);
  visit.longest = costs.map((cost) => cost.longest);
  visit.least = costs.map((cost) => cost.least);
  visit.most = costs.map((cost) => cost.most);
  visit.ofSmallest = costsOf({ ...visit, sizes: [LEAST_FRAME] })[0].least;
}

function costsOf(visit) {
  const { place, sizes, flow } = visit;
  if (place.kind === 'gap') return sizes.map(() => ({ least: 0n, most: 0n, longest: 0n }));
  if (place.kind === 'port') return sizes.map((size) => fixed((framed(visit, size) + 20n) * place.octet));
  if (place.kind === 'tasks') return sizes.map(() => taskCost(place.node.tasks, flow));
  if (place.kind === 'router') return sizes.map((size) => costOf([place.node.processor.cost], size));
  const { stack } = place.node;
  return sizes.map((size) => costOf(visit.kinds.map((kind) => stack[visit.side][kind]), size));
}

const fixed = (time) => ({ least: time, most: time, longest: time });

function taskCost(tasks, flow) {
  if (!flow.connection) return { least: tasks.message, most: tasks.message, longest: tasks.message + tasks.message_more };
  return { least: 0n, most: tasks.segment, longest: tasks.segment + tasks.segment_more };
}

function costOf(costs, size) {
  const each = costs.map(({ base, octet, more, jitter }) => {
    const fix = base + octet * size;
    return { least: fix, most: fix + jitter, longest: fix + jitter + more };
  });
  const longest = largest(each.map((cost) => cost.longest));
  // Where the kind may change from packet to packet, so may what it adds.
  const most = costs.length > 1 ? longest : each[0].most;
  return { least: least(each.map((cost) => cost.least)), most, longest };
}

/** From the beginning of a service to the next arrival, or to the end if there is none. */
export function between(plant, from, to) {
  const ways = from.place.kind === 'port' ? from.sizes.map((size) => overLink(plant, from, to, size))
    : from.sizes.map((_, i) => ({ least: from.least[i], most: from.most[i], longest: from.longest[i] }));
  const result = {
    least: least(ways.map((way) => way.least)),
    most: largest(ways.map((way) => way.longest)),
    spread: 0n,
  };
  result.spread = largest(ways.map((way) => way.most)) - result.least;
  if (to?.answer && from.flow.reply) {
    result.least += from.flow.reply.after;
    result.most += from.flow.reply.longest;
    result.spread += from.flow.reply.longest - from.flow.reply.after;
  }
  if (to?.answer && from.flow.connection) {
    result.most += from.flow.traffic.ack_delay;
    result.spread += from.flow.traffic.ack_delay;
  }
  return result;
}

// Frames keep their order in interfaces, so that one waits there for the largest before it.
function overLink(plant, from, to, size) {
  const { wire, node: sender } = from.place;
  const receiver = plant.nodes.get(wire.to.node);
  const first = cutsThrough(plant, from, to) ? (from.tag ? 26n : 22n) : framed(from, size) + 8n;
  const full = largest(from.place.visits.map((other) => largest(other.sizes)));
  const result = fixed(first * wire.octet + wire.propagation);
  for (const { interface: card } of [sender, receiver]) {
    if (!card) continue;
    result.least += card.base + card.octet * size;
    result.most += card.base + card.octet * full;
    result.longest += card.base + card.octet * full + card.more;
  }
  if (receiver.kind === 'switch') {
    result.least += receiver.latency;
    result.most += receiver.latency + receiver.latency_jitter;
    result.longest += receiver.latency + receiver.latency_jitter + receiver.latency_more;
  }
  return result;
}

/** Whether a switch sends the frame on before all of it has come. */
export function cutsThrough(plant, from, to) {
  const receiver = plant.nodes.get(from.place.wire.to.node);
  if (receiver.kind !== 'switch' || !receiver.cut_through || to?.place.kind !== 'port') return false;
  return to.place.wire.rate <= from.place.wire.rate;
}
