// The tests of single claims. A part of the second checker, which was written from the page
// docs/reference/certificate.md alone.
import { Impossible, between, largest, min } from './plant.mjs';
import { leastDelay, underWay } from './work.mjs';

const SECOND = 1_000_000_000_000n;

/** Gives each visit its claim; every visit of the plant has exactly one. */
export function attach(plant, certificate) {
  if (certificate.flows.length !== plant.flows.length) throw new Impossible('claims are not those of the flows');
  for (const [i, claims] of certificate.flows.entries()) {
    const flow = plant.flows[i];
    if (claims.flow !== flow.name) throw new Impossible(`claims about ${claims.flow} stand in the place of ${flow.name}`);
    flow.claimsWaits = claims.waits;
    attachFlow(flow, claims.visits);
  }
}

// Nothing is claimed about messages over TCP, so that nothing limits them but lines.
function attachFlow(flow, claimed) {
  if (flow.traffic.kind === 'messages' && claimed.length === 0) {
    for (const visit of flow.visits) visit.claim = { arrivals: null, rule: null, delay: null };
    return;
  }
  const open = new Map();
  for (const visit of flow.visits) {
    const key = keyOf(visit.to, visit.way, visit.place.key);
    open.set(key, [...(open.get(key) ?? []), visit]);
  }
  for (const claim of claimed) {
    const visit = open.get(keyOf(claim.to, claim.way, claim.at))?.shift();
    if (!visit) throw new Impossible(`${flow.name}: no packet visits ${shown(claim.at)} as claimed`);
    // Without its rule here a claim is none.
    visit.claim = ruleOf(visit.place) === null ? { ...claim, rule: null, delay: null } : claim;
  }
  const missing = flow.visits.find((visit) => !visit.claim);
  if (missing) throw new Impossible(`${flow.name}: nothing is claimed for ${shown(missing.place.key)}`);
}

const keyOf = (to, way, at) => JSON.stringify([to, way, at]);

export const shown = (key) => key.replaceAll('"', '').split('\u0000').join(' ');

/** What is wrong with the arrivals of a visit, or null. */
export function testArrivals(visit) {
  const { arrivals } = visit.claim;
  if (!arrivals) return null;
  const grounds = groundsOf(visit);
  const fitting = grounds.filter(({ period, burst }) => period === arrivals.period && burst === arrivals.burst);
  if (fitting.some(({ jitter }) => jitter <= arrivals.jitter)) return null;
  if (fitting.length === 0) return { why: 'arrivals follow from nothing', claim: null, need: null };
  return { why: 'jitter', claim: arrivals.jitter, need: fitting.map(({ jitter }) => jitter).reduce(min) };
}

function groundsOf(visit) {
  const { flow, prev } = visit;
  const grounds = [];
  const source = sourceOf(flow);
  if (source && (prev === null || (flow.claimsWaits && flow.traffic.kind === 'adaptive' && !visit.offWay))) {
    grounds.push({ ...source, burst: source.burst * visit.frames });
  }
  if (prev) grounds.push(...fromBefore(visit, prev));
  if (flow.connection && flow.claimsWaits && visit.offWay && !prev.offWay) {
    grounds.push({ period: visit.place.node.learns, burst: underWay(visit), jitter: SECOND });
  }
  return grounds;
}

function fromBefore(visit, prev) {
  const grounds = [];
  if (prev.place.kind === 'gap') grounds.push({ period: visit.flow.gap, burst: 1n, jitter: 0n });
  const { arrivals, delay } = prev.claim;
  if (arrivals && delay !== null && !prev.unfounded && !prev.bad) {
    grounds.push({
      period: arrivals.period,
      burst: (arrivals.burst / prev.frames) * visit.frames,
      jitter: arrivals.jitter + delay + visit.via.spread,
    });
  }
  // An open flow leaves a processor no faster than it serves.
  const serves = ['stack', 'router', 'tasks'].includes(prev.place.kind);
  const least = prev.least.reduce(min);
  if (visit.flow.open && serves && least > 0n) {
    grounds.push({ period: least, burst: 1n, jitter: visit.answer ? visit.via.spread - (largest(prev.most) - least) : 0n });
  }
  return grounds;
}

/** Period, burst and jitter at the release, for messages; null if nothing limits them. */
function sourceOf(flow) {
  const { traffic } = flow;
  if (traffic.kind === 'periodic') return { period: traffic.period, burst: 1n, jitter: traffic.jitter };
  if (traffic.kind === 'sporadic') return { period: traffic.gap, burst: traffic.burst, jitter: 0n };
  if (traffic.kind !== 'adaptive') return null;
  const trips = flow.ways.map((way) => leastTrip(flow, way));
  const period = min(trips.reduce(min) + traffic.pause, traffic.timeout);
  return period > 0n ? { period, burst: 1n, jitter: 0n } : null;
}

// From a release to its answer, if nothing waits anywhere.
function leastTrip(flow, way) {
  const end = way.replyEnd ?? way.requestEnd;
  return chainOf(end).reduce((sum, visit) => sum + (visit.via?.least ?? 0n), 0n) + endOf(flow.plant, end).least;
}

export function chainOf(end) {
  const chain = [];
  for (let here = end; here; here = here.prev) chain.push(here);
  return chain;
}

export const endOf = (plant, visit) => between(plant, visit, null);

/** What is wrong with the delay of a visit, or null. */
export function testDelay(plant, visit, limit) {
  const { rule, delay } = visit.claim;
  if (rule === null || delay === null) return null;
  if (!allowed(plant, visit)) return { why: `the place does not choose by ${rule}`, claim: null, need: null };
  const need = leastDelay(plant, visit, limit);
  if (need === null) return { why: 'the rule gives no delay', claim: delay, need: null };
  return need <= delay ? null : { why: 'delay', claim: delay, need };
}

function allowed(plant, visit) {
  const { place, claim, flow } = visit;
  if (flow.traffic.kind === 'messages') return false;
  return claim.rule === ruleOf(place);
}

// Rules of ports that this checker has.
const KNOWN = ['arrival', 'priority', 'frames', 'octets'];

/** The rule by which a place chooses, or null if the format, or this checker, has none for it. */
export function ruleOf(place) {
  const { node } = place;
  if (place.kind === 'gap') return 'gap';
  if (place.kind === 'router') return 'arrival';
  if (place.kind === 'tasks') return node.tasks.messages_first ? 'preemption' : 'arrival';
  if (place.kind === 'stack') {
    if (node.beyond.some((what) => what.startsWith('stack:')) || node.layer?.receive) return null;
    return (node.layer?.instances ?? null) === null ? 'arrival' : 'preemption';
  }
  if (place.wire.half) return null;
  if (node.kind === 'station') {
    const isPlain = !node.by_deadline && (node.layer?.transmit?.rule ?? 'arrival') === 'arrival';
    return isPlain && !node.beyond.some((what) => what.startsWith('port:')) ? 'arrival' : null;
  }
  const { selection } = node.ports[place.number - 1];
  return KNOWN.includes(selection) ? selection : null;
}

/** The sum of delays and of the time between from the release to `end`, or null without a claim. */
export function sumTo(plant, end) {
  let sum = endOf(plant, end).most;
  const passed = new Map();
  for (const visit of chainOf(end)) {
    if (visit.claim.delay === null || visit.claim.rule === null) return null;
    sum += visit.claim.delay + (visit.via?.most ?? 0n);
    if (visit.place.kind !== 'stack') continue;
    const { stack } = visit.place.node;
    const sides = passed.get(stack) ?? { send: 0n, receive: 0n };
    sides[visit.side] += 1n;
    passed.set(stack, sides);
  }
  // What both directions take together, a packet and its answer take once.
  for (const [stack, { send, receive }] of passed) sum -= stack.split * min(send, receive);
  return sum;
}

/** Why a flow does not wait although it is claimed, or null. */
export function testWaits(plant, flow) {
  if (!flow.claimsWaits) return null;
  const { traffic } = flow;
  if (traffic.kind !== 'file' && traffic.kind !== 'adaptive') return { why: 'the flow waits for nothing', claim: null, need: null };
  const patience = traffic.kind === 'file' ? min(traffic.timeout, SECOND) - traffic.ack_delay : traffic.timeout;
  for (const way of flow.ways) {
    if (hasErrors(plant, way)) return { why: 'waits over a link with bit errors', claim: null, need: null };
    if (!way.replyEnd) return { why: 'waits for nothing', claim: null, need: null };
    const sum = sumTo(plant, way.replyEnd);
    if (sum === null) return { why: 'waits without a claim on the way', claim: null, need: null };
    const trip = traffic.kind === 'file' ? sum - traffic.ack_delay : sum;
    if (trip >= patience) return { why: 'waits', claim: patience, need: trip };
  }
  return null;
}

function hasErrors(plant, way) {
  return [...way.out, ...(way.back ?? [])].some((port) => plant.wires.get(`${port.node}\u0000${port.port}`).errors > 0n);
}

/** A cycle of places in which nothing takes any time, or null. */
export function idleCycle(plant) {
  const edges = new Map();
  for (const visit of plant.visits) {
    if (!visit.prev || visit.via.least > 0n) continue;
    if (!edges.has(visit.prev.place)) edges.set(visit.prev.place, []);
    edges.get(visit.prev.place).push(visit.place);
  }
  const state = new Map();
  for (const start of edges.keys()) {
    const found = circle(start, edges, state);
    if (found) return found;
  }
  return null;
}

// Depth first, without recursion: a plant may be deeper than the call stack.
function circle(start, edges, state) {
  const path = [[start, 0]];
  if (state.has(start)) return null;
  state.set(start, 'open');
  while (path.length > 0) {
    const top = path[path.length - 1];
    const next = (edges.get(top[0]) ?? [])[top[1]];
    top[1] += 1;
    if (next === undefined) {
      state.set(top[0], 'closed');
      path.pop();
    } else if (state.get(next) === 'open') return next;
    else if (!state.has(next)) {
      state.set(next, 'open');
      path.push([next, 0]);
    }
  }
  return null;
}
