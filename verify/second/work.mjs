// Work that comes to a place, and the least delays that its rule needs. A part of the second checker,
// which was written from the page docs/reference/certificate.md alone.
import { spend } from './budget.mjs';
import { ceilDiv, framed, largest, max, min } from './plant.mjs';

const FINE = 32n;
/** Most packets of these arrivals in a closed window. */
export const count = ({ period, burst, jitter }, t) => burst * ((t + jitter) / period + 1n);

const divCeil = (a, b) => (a >= 0n ? (a + b - 1n) / b : -(-a / b));

// Work of one group: what its line lets through, and what its arrivals bring.
class Group {
  constructor(line, curves, others) {
    Object.assign(this, { line, sets: [curves, ...others].filter((set) => set !== null) });
    this.unlimited = this.sets.length === 0;
  }

  arrived(t) {
    for (const curves of this.sets) spend(curves.length);
    return this.sets.map((curves) => curves.reduce((sum, curve) => sum + curve.cost * count(curve, t), 0n)).reduce(min);
  }

  // Work in a long time, in parts of 2^-64: at one and above it never ends.
  rate() {
    const limit = this.line ? this.line.rise << FINE : null;
    if (this.unlimited) return limit;
    const rate = this.sets.map(rateOf).reduce(min);
    return limit === null ? rate : min(limit, rate);
  }

  upTo(t) {
    spend(1);
    const limit = this.line ? along(this.line, t) : null;
    if (this.unlimited) return limit;
    const arrived = this.arrived(t) << FINE;
    return limit === null ? arrived : min(limit, arrived);
  }
}

const rateOf = (curves) => curves
  .reduce((rate, { period, burst, cost }) => rate + ((burst * cost) << (2n * FINE)) / period, 0n);

// Work is summed in parts of 2^-32 and rounded up once.
const along = (line, t) => (line.longest << FINE) + line.rise * (t + line.slack);
const rounded = (work) => ceilDiv(work, 1n << FINE);

// When a line reaches some work, as the last whole time before.
const reaches = (line, work) => divCeil((work - line.longest) << FINE, line.rise) - line.slack;

function grouped(entries) {
  spend(entries.length);
  const groups = new Map();
  for (const entry of entries) {
    const key = groupOf(entry.visit);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(entry);
  }
  return groups;
}

/** The load of one queue, or null if nothing limits it. */
function loadOf(plant, entries) {
  const load = new Map();
  for (const [key, members] of grouped(entries)) {
    const line = lineOf(plant, members);
    const curves = curvesOf(members);
    const group = new Group(line, curves, curves === null ? [] : joinOpen(members));
    if (group.unlimited && !line) return null;
    load.set(key, group);
  }
  return load;
}

// What comes from one place that serves one packet after the other is a group; the rest is single.
function groupOf(visit) {
  const { prev } = visit;
  const single = !prev || visit.answer || prev.place.kind === 'gap' || prev.place.preempts
    || (prev.place.kind === 'tasks' && visit.frames > 1n);
  return single ? visit : prev.place;
}

function lineOf(plant, members) {
  const from = groupOf(members[0].visit);
  if (from === members[0].visit) return null;
  const line = { longest: 0n, rise: 0n, slack: 0n };
  for (const { visit, costs } of members) {
    for (const [i, cost] of costs.entries()) {
      if (visit.prev.least[i] === 0n) return null;
      line.longest = max(line.longest, cost);
      line.rise = max(line.rise, ceilDiv(cost << FINE, visit.prev.least[i]));
    }
  }
  if (from.kind === 'port') line.slack = slackOf(plant, from);
  return line;
}

function slackOf(plant, from) {
  spend(from.visits.length);
  const receiver = plant.nodes.get(from.wire.to.node);
  const sizes = from.visits.flatMap((visit) => visit.sizes);
  const spread = largest(sizes) - sizes.reduce(min);
  let slack = receiver.kind === 'switch' ? receiver.latency_jitter : 0n;
  for (const { interface: card } of [from.node, receiver]) if (card) slack += card.octet * spread;
  const mixed = from.visits.some((visit) => visit.tag) && from.visits.some((visit) => !visit.tag);
  if (receiver.cut_through && mixed) slack += 4n * from.octet;
  return slack;
}

// The arrivals of these visits, or null if any is not limited.
function curvesOf(members) {
  const curves = [];
  for (const { visit, costs } of members) {
    const { arrivals } = visit.claim;
    if (!arrivals || visit.unfounded) return null;
    curves.push({ ...arrivals, cost: largest(costs) });
  }
  return curves;
}

// Open flows that one processor has sent are no denser together than what it serves; of several such
// processors each gives arrivals of its own.
function joinOpen(members) {
  const open = members.filter(({ visit }) => visit.flow.open);
  const found = open.length > 1 ? sharedProcessors(open.map(({ visit }) => visit)) : [];
  return found.map((processor) => joinBehind(members, open, processor)).filter((curves) => curves !== null);
}

function joinBehind(members, open, processor) {
  const joined = open.filter(({ visit }) => behind(visit, processor));
  if (joined.some(({ visit }) => !known(visit, processor))) return null;
  return [together(joined, processor), ...curvesOf(members.filter((member) => !joined.includes(member)))];
}

// Delays since the processor have to be claimed.
function known(visit, processor) {
  const start = behind(visit, processor);
  for (let here = visit.prev; here !== start; here = here.prev) if (here.bad || here.claim.delay === null) return false;
  return true;
}

const isProcessor = (place) => place.kind === 'stack' || place.kind === 'router' || place.kind === 'tasks';

// The visit of a packet at a place before, on the same way: an acknowledgement is another packet.
function behind(visit, place) {
  for (let before = visit.prev; before && before.way === visit.way; before = before.prev) {
    if (before.place === place) return before;
  }
  return null;
}

function sharedProcessors(visits) {
  const seen = new Map();
  for (const visit of visits) {
    for (let before = visit.prev; before && before.way === visit.way; before = before.prev) {
      if (!isProcessor(before.place) || before.place.preempts || before.least.includes(0n)) continue;
      seen.set(before.place, (seen.get(before.place) ?? new Set()).add(visit));
    }
  }
  return [...seen].filter(([, passing]) => passing.size > 1).map(([place]) => place);
}

// As many packets of the first of them as the most work that may come in the service of 64 octets:
// whole packets, as the page has it, although the work itself would do.
function together(members, processor) {
  const served = members.flatMap(({ visit, costs }) => {
    const { least } = behind(visit, processor);
    return costs.map((cost, i) => ({ cost, least: least[i] }));
  });
  const period = members.map(({ visit }) => behind(visit, processor).ofSmallest).reduce(min);
  const first = largest(members[0].costs);
  const burst = largest(served.map(({ cost, least }) => ceilDiv(cost * period, least * first)));
  const delays = members.map(({ visit }) => since(visit, behind(visit, processor)));
  const spread = largest(delays.map(({ most }) => most)) - delays.map(({ least }) => least).reduce(min);
  return { period, burst, jitter: largest(served.map(({ least }) => least)) + spread, cost: first };
}

// Time from the end of the service at `start`, which is not in it, to the arrival of `visit`.
function since(visit, start) {
  const sum = { least: 0n, most: 0n };
  for (let here = visit; here.prev !== start; here = here.prev) {
    sum.least += here.via.least;
    sum.most += here.via.least + here.via.spread + here.prev.claim.delay;
  }
  return sum;
}

const total = (load, t) => {
  let work = 0n;
  for (const group of load.values()) work += group.upTo(t);
  return work;
};

// Work of a queue up to `t` and of higher ones up to `s`; one line joins both.
function joint(parts, t, s) {
  let work = 0n;
  for (const { own, high, both } of parts) {
    const sum = (own ? own.upTo(t) : 0n) + (high ? high.upTo(s) : 0n);
    work += both ? min(sum, along(both, s)) : sum;
  }
  return rounded(work);
}

function partsOf(plant, entries, higher) {
  const own = loadOf(plant, entries);
  const high = loadOf(plant, higher);
  if (!own || !high) return null;
  const keys = new Set([...own.keys(), ...high.keys()]);
  return [...keys].map((key) => ({
    own: own.get(key), high: high.get(key), both: own.has(key) && high.has(key) ? bothLine(plant, key, entries, higher) : null,
  }));
}

function bothLine(plant, key, entries, higher) {
  return lineOf(plant, [...entries, ...higher].filter(({ visit }) => groupOf(visit) === key));
}

function ends(parts) {
  let rate = 0n;
  for (const { own, high, both } of parts) {
    const sum = (own ? own.rate() : 0n) + (high ? high.rate() : 0n);
    rate += both ? min(sum, both.rise << FINE) : sum;
  }
  return rate < 1n << (2n * FINE);
}

// Where the busy period has no end, lines alone may say that nothing waits longer than at its
// beginning: they bring together no more than is served. One line of a group may do for both queues.
function steadyWait(parts, before, c, limit) {
  const lined = [];
  for (const { own, high, both } of parts) {
    if ((own && !own.line) || (high && !high.line)) return null;
    lined.push({ own: own && alone(own), high: high && alone(high), both });
  }
  const shared = lined.map((part) => (part.both ? { own: null, high: new Group(part.both, null, []), both: null } : part));
  return leastOf([lined, shared].map((some) => waitOfLines(some, before, c, limit)));
}

const alone = (group) => new Group(group.line, null, []);

function waitOfLines(parts, before, c, limit) {
  const later = parts.map(({ high, both }) => (both ? min(both.rise, high.line.rise) : high?.line.rise ?? 0n));
  // What grows as fast as it is served is met at once or never.
  const until = later.reduce((a, b) => a + b, 0n) < 1n << FINE ? limit : 0n;
  const wait = settle((at) => before + joint(parts, 0n, at) - c, 0n, until);
  if (wait === null) return null;
  let rise = 0n;
  for (const { own, high, both } of parts) {
    const sum = (own ? own.upTo(0n) : 0n) + (high ? high.upTo(wait) : 0n);
    if (both && along(both, wait) < sum) rise += both.rise;
    else rise += (own ? own.line.rise : 0n) + (high ? high.line.rise : 0n);
  }
  return rise <= 1n << FINE ? wait : null;
}

// The least time from `from` at which `need` is met, or null beyond the limit of claims.
function settle(need, from, limit) {
  for (let t = from; t <= limit;) {
    const next = need(t);
    if (next <= t) return t;
    t = next;
  }
  return null;
}

/** Whole times up to `end` between which the work of all these groups grows evenly. */
function moments(groups, end) {
  const jumps = new Set([0n]);
  for (const group of groups) {
    for (const { period, jitter } of group.sets.flat()) {
      const first = jitter / period + 1n;
      spend(20 * Number((end + jitter) / period - first + 1n) + 1);
      for (let t = first * period - jitter; t <= end; t += period) jumps.add(t);
    }
  }
  const sorted = inOrder(jumps);
  const lined = groups.filter((group) => group.line && group.line.rise > 0n && !group.unlimited);
  return lined.length === 0 ? sorted : inOrder(new Set([...sorted, ...crossings(lined, sorted, end)]));
}

const inOrder = (times) => [...times].sort((x, y) => (x < y ? -1 : x > y ? 1 : 0));

// Between two jumps the work changes its slope where a line reaches the arrivals of its group.
function crossings(groups, jumps, end) {
  const all = [];
  for (const [i, t] of jumps.entries()) {
    const until = i + 1 < jumps.length ? jumps[i + 1] : end;
    for (const group of groups) {
      const at = reaches(group.line, group.arrived(t));
      for (const near of [at - 1n, at]) if (near > t && near < until) all.push(near);
    }
  }
  return all;
}

/** The largest `a(t) - t` in a busy period less `c`, or null if it does not end. */
function longestBacklog(load, c, { limit, enough }) {
  if (!load) return null;
  const groups = [...load.values()];
  const parts = groups.map((own) => ({ own }));
  if (!ends(parts)) return steadyWait(parts, 0n, c, limit);
  const end = settle((t) => rounded(total(load, t)), 0n, limit);
  if (end === null) return null;
  let most = 0n;
  const times = moments(groups, end);
  for (const [i, t] of times.entries()) {
    const last = (times[i + 1] ?? end + 1n) - 1n;
    for (const at of last > t ? [t, last] : [t]) most = max(most, rounded(total(load, at)) - at - c);
    if (most > enough) break;
  }
  return most;
}

// The largest `s - t`, where `s` is when all that goes before a packet of `t` has been served.
function longestWait(plant, entries, higher, before, c, { limit, enough }) {
  const parts = partsOf(plant, entries, higher);
  if (!parts) return null;
  if (!ends(parts)) return steadyWait(parts, before, c, limit);
  // What comes after the work has been done once needs no longer than what came before, so that the
  // frame in the way counts for `s` alone.
  const end = settle((t) => joint(parts, t, t), 0n, limit);
  if (end === null) return null;
  const times = moments(parts.flatMap(groupsOf), end);
  const begins = (t, from) => settle((at) => before + joint(parts, t, at) - c, max(from, t), limit);
  const rising = parts.some(({ own }) => own?.line);
  let most = 0n;
  let s = 0n;
  for (const [i, t] of times.entries()) {
    const last = (times[i + 1] ?? end + 1n) - 1n;
    s = begins(t, s);
    if (s === null) return null;
    most = max(most, s - t);
    if (most > enough) break;
    if (last === t) continue;
    const idle = (at) => before + joint(parts, at, at) - c <= at;
    for (const at of turns({ t, s, last, times, begins, idle, rising })) {
      const then = begins(at, s);
      if (then === null) return null;
      most = max(most, then - at);
    }
  }
  return most;
}

// A part of both queues has a third limit, their common line.
function groupsOf({ own, high, both }) {
  const groups = [own, high].filter((group) => group);
  if (both && !own.unlimited && !high.unlimited) groups.push(new Sum(both, own, high));
  return groups;
}

class Sum {
  constructor(line, own, high) {
    Object.assign(this, { line, own, high, sets: [], unlimited: false });
  }

  arrived(t) {
    return this.own.arrived(t) + this.high.arrived(t);
  }
}

// Where the wait may be longest between two moments, `t` and the one behind `last`: where the place
// becomes busy, and where the service begins at a moment.
function turns({ t, s, last, times, begins, idle, rising }) {
  const found = [last];
  if (s === t && !idle(last)) found.push(firstOf((at) => !idle(at), t, last));
  if (!rising) return found;
  const then = begins(last, s);
  for (let i = firstAt(times, s); then !== null && i < times.length && times[i] < then; i += 1) {
    const at = times[i];
    const passes = firstOf((x) => begins(x, s) > at, t, last);
    found.push(passes - 1n, passes);
  }
  return found.filter((at) => at > t);
}

// Where the first of these times that is not before `t` stands.
function firstAt(times, t) {
  let [from, to] = [0, times.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (times[middle] < t) from = middle + 1;
    else to = middle;
  }
  return from;
}

// The first time in this range for which `test` holds, which holds at its end and from then on.
function firstOf(test, from, to) {
  let [no, yes] = [from, to];
  while (yes - no > 1n) {
    const middle = (no + yes) / 2n;
    if (test(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}

// Where flows wait, what they have under way limits the work, however long the busy period is. Higher
// packets come in another window than those of the queue, so that no line joins both.
function longestWaitUnderWay(plant, entries, higher, before, c, { limit }) {
  if (!entries.some(({ visit }) => isUnderWay(visit))) return null;
  const high = loadOf(plant, higher);
  const groups = groupsUnderWay(plant, entries);
  if (!high || groups.some(({ line, rest }) => line === null && rest.unlimited && rest.line === null)) return null;
  const slow = ({ line, rest }) => (rest.line ? [rest] : [new Group(line, null, rest.sets)]);
  if (!ends([...high.values(), ...groups.flatMap(slow)].map((own) => ({ own })))) return null;
  const work = (t) => rounded(total(high, t) + min(withUnderWay(groups, t, true), withUnderWay(groups, t, false)));
  const x = settle((t) => before + work(t), 0n, limit);
  return x === null ? null : max(0n, x - c);
}

// Of each group: the line of all of it and that without connections, what its flows have under way,
// and what limits those that do not wait: arrivals, or their line if any are `null`.
function groupsUnderWay(plant, entries) {
  const groups = [];
  for (const members of grouped(entries).values()) {
    const waiting = members.filter(({ visit }) => isUnderWay(visit));
    const others = members.filter(({ visit }) => !isUnderWay(visit));
    const apart = members.filter(({ visit }) => !(isUnderWay(visit) && visit.flow.connection));
    const curves = curvesOf(others);
    const rest = curves === null ? new Group(lineOf(plant, others), null, [])
      : new Group(null, curves, joinOpen(others));
    const lineApart = apart.length > 0 ? lineOf(plant, apart) : null;
    groups.push({ waiting, rest, line: lineOf(plant, members), lineApart, own: workUnderWay(waiting) << FINE });
  }
  return groups;
}

// The line of a group limits all of it, so that what its flows have under way need not be added. Where
// the line is not the lesser they are added once, and leave the lines of other groups.
function withUnderWay(groups, t, byLines) {
  const chosen = groups.map((group) => {
    const arrived = group.rest.unlimited && !group.rest.line ? null : group.rest.upTo(t);
    const line = group.line && along(group.line, t);
    const lined = arrived === null || (byLines && line !== null && line < arrived + group.own);
    return { ...group, arrived, line, lined };
  });
  const added = new Map();
  for (const { waiting } of chosen.filter(({ lined }) => !lined)) {
    for (const key of connectionsOf(waiting)) added.set(key, (added.get(key) ?? 0) + 1);
  }
  let work = 0n;
  const apart = [];
  for (const { waiting, arrived, line, lined, lineApart } of chosen) {
    const elsewhere = [...connectionsOf(waiting)].every((key) => (added.get(key) ?? 0) > (lined ? 0 : 1));
    const without = byLines && elsewhere && lineApart ? along(lineApart, t) : null;
    const connections = waiting.filter(({ visit }) => visit.flow.connection);
    const others = waiting.filter(({ visit }) => !visit.flow.connection);
    if (!lined) apart.push(...connections);
    const sum = lined ? line : arrived + (workUnderWay(others) << FINE);
    work += without === null ? sum : min(sum, without);
  }
  return work + (workUnderWay(apart) << FINE);
}

const connectionsOf = (entries) => new Set(entries.filter(({ visit }) => visit.flow.connection)
  .map(({ visit }) => connectionOf(visit)));

const connectionOf = ({ flow, to }) => `${flow.name}\u0000${to}`;

// Both directions of a connection share its packets under way, at the larger cost; requests and
// answers of an adaptive flow count apart.
function workUnderWay(entries) {
  const connections = new Map();
  for (const { visit, costs } of entries) {
    const key = visit.flow.connection ? connectionOf(visit) : visit;
    connections.set(key, max(connections.get(key) ?? 0n, underWay(visit) * largest(costs)));
  }
  return [...connections.values()].reduce((a, b) => a + b, 0n);
}

/** Whether what is under way limits the packets here. Nothing waits for copies off the way, nor for the
 * tasks that take a file. */
export function isUnderWay({ flow, offWay, place, prev }) {
  return flow.claimsWaits && !offWay && !(flow.connection && place.kind === 'tasks' && prev !== null);
}

/** Most packets of a connection, or of a request, that are under way at once. */
export function underWay({ flow, frames }) {
  if (!flow.connection) return frames;
  const { window, segment, file } = flow.traffic;
  const most = window / segment + 2n;
  return file === null ? most : min(most, ceilDiv(file, segment) + 1n);
}

/** A delay that the rule of this visit allows, the least that it needs unless the claim is longer; or
 * null if the rule cannot give one. */
export function leastDelay(plant, visit, limit) {
  const { place } = visit;
  const { rule, delay } = visit.claim;
  if (rule === 'gap') return place.kind === 'gap' ? gapDelay(visit) : null;
  const cached = place.delays ??= new Map();
  const copies = rule === 'arrival' ? laterCopies(visit) : 0n;
  const goal = { limit, enough: (delay ?? limit) + copies };
  const key = [rule, visit.queue, visit.longest.reduce(min), largest(visit.longest), goal.enough].join();
  if (!cached.has(key)) cached.set(key, RULES[rule](plant, visit, goal));
  const found = cached.get(key);
  return found === null ? null : max(0n, found - copies);
}

// The first of these delays that is enough, or else the least: some take long to compute.
function firstEnough(goal, delays) {
  let least = null;
  for (const delay of delays) {
    const found = delay();
    if (found !== null && (least === null || found < least)) least = found;
    if (least !== null && least <= goal.enough) break;
  }
  return least;
}

const plainCosts = (visit) => ({ visit, costs: visit.longest });
const leastOf = (delays) => delays.filter((delay) => delay !== null).reduce((a, b) => (a === null ? b : min(a, b)), null);

// The longest service, of two sizes the lesser.
const ownService = (visit) => visit.longest.reduce(min);

const RULES = {
  arrival: byArrival, priority: byPriority, preemption: byPreemption, frames: byFrames, octets: byOctets,
};

function byArrival(plant, visit, goal) {
  const entries = visit.place.visits.map(plainCosts);
  const c = ownService(visit);
  return firstEnough(goal, [
    () => longestWaitUnderWay(plant, entries, [], 0n, c, goal),
    () => longestBacklog(loadOf(plant, entries), c, goal),
  ]);
}

function split(visit, higherThan) {
  const own = [];
  const high = [];
  const low = [];
  for (const other of visit.place.visits) {
    if (other.queue === visit.queue) own.push(plainCosts(other));
    else (higherThan(other.queue) ? high : low).push(plainCosts(other));
  }
  return { own, high, low };
}

const longestOf = (entries) => largest(entries.flatMap(({ costs }) => costs));

// Where packets under way count, a frame of the own queue may be in the way of higher ones, too.
function bothWays(plant, own, high, before, c, goal) {
  const withOwn = before + (high.length > 0 ? longestOf(own) : 0n);
  return firstEnough(goal, [
    () => longestWaitUnderWay(plant, own, high, withOwn, c, goal),
    () => longestWait(plant, own, high, before, c, goal),
  ]);
}

function byPriority(plant, visit, goal) {
  return byLevels(plant, visit, (queue) => queue > visit.queue, goal);
}

function byLevels(plant, visit, isHigher, goal) {
  const { own, high, low } = split(visit, isHigher);
  return bothWays(plant, own, high, longestOf(low), ownService(visit), goal);
}

function byPreemption(plant, visit, goal) {
  const { own, high } = split(visit, (queue) => queue > visit.queue);
  const service = largest(visit.longest);
  const waited = bothWays(plant, own, high, 0n, 0n, { ...goal, enough: goal.enough + service });
  return waited === null ? null : max(0n, waited - service);
}

const turnsOf = (visit) => visit.place.node.ports[visit.place.number - 1].turns;

function byFrames(plant, visit, goal) {
  const turns = turnsOf(visit);
  const w = turns[visit.queue];
  if (w === 0n) return byLevels(plant, visit, (queue) => turns[queue] === 0n && queue > visit.queue, goal);
  const { own, high, low } = split(visit, (queue) => turns[queue] === 0n);
  const longest = new Map();
  for (const { visit: other, costs } of low) longest.set(other.queue, max(longest.get(other.queue) ?? 0n, largest(costs)));
  const round = [...longest].reduce((sum, [queue, cost]) => sum + turns[queue] * cost, 0n);
  const before = longestOf(low) + round - round / w;
  const entries = own.map(({ visit: other, costs }) => ({
    visit: other, costs: costs.map((cost) => cost + ceilDiv(round, w)),
  }));
  return firstEnough(goal, [
    () => bothWays(plant, entries, high, before, ownService(visit), goal),
    () => behindAll(plant, visit, goal),
  ]);
}

const behindAll = (plant, visit, goal) => byLevels(plant, visit, () => true, goal);

function byOctets(plant, visit, goal) {
  const turns = turnsOf(visit);
  const mine = split(visit, () => true).own;
  const queues = new Map();
  for (const other of visit.place.visits) {
    queues.set(other.queue, [...(queues.get(other.queue) ?? []), ...framesOf(other)]);
  }
  const turn = turns[visit.queue];
  if ([...queues.keys()].some((queue) => turns[queue] === 0n)) return behindAll(plant, visit, goal);
  const shares = [...queues].filter(([queue]) => queue !== visit.queue)
    .map(([queue, sizes]) => ({ turn: turns[queue], ...extent(sizes, turns[queue]) }));
  const own = extent(queues.get(visit.queue), turn);
  const { octet } = visit.place;
  const before = shares.reduce((sum, { turn: theirs, short, long, step }) => sum
    + ceilDiv((theirs * (turn - own.step) + turn * (long - step)) * (short + 20n) * octet, turn * short), 0n);
  const more = (size) => sumUp(shares.map(({ turn: theirs, short }) => [
    theirs * (short + 20n) * size * octet, turn * short]));
  const entries = mine.map(({ visit: other, costs }) => ({
    visit: other, costs: costs.map((cost, i) => cost + more(framed(other, other.sizes[i]))),
  }));
  return firstEnough(goal, [
    () => bothWays(plant, entries, [], before, ownService(visit), goal),
    () => behindAll(plant, visit, goal),
  ]);
}

// A sum of fractions, rounded up once.
function sumUp(fractions) {
  const whole = fractions.reduce(([a, b], [c, d]) => [a * d + c * b, b * d], [0n, 1n]);
  return ceilDiv(whole[0], whole[1]);
}

const framesOf = (visit) => visit.sizes.map((size) => ({ size: framed(visit, size), vary: visit.sizes.some((other) => other !== visit.sizes[0]) }));

function extent(frames, turn) {
  const sizes = frames.map(({ size }) => size);
  const vary = frames.some((frame) => frame.vary);
  return { short: sizes.reduce(min), long: largest(sizes), step: vary ? 1n : sizes.reduce(divisor, turn) };
}

function divisor(a, b) {
  return b === 0n ? a : divisor(b, a % b);
}

function gapDelay(visit) {
  const { arrivals } = visit.claim;
  const gap = visit.flow.gap;
  if (!arrivals || visit.unfounded || arrivals.burst * gap > arrivals.period) return null;
  const { period, burst, jitter } = arrivals;
  const k = jitter / period + 1n;
  return max((k * burst - 1n) * gap, ((k + 1n) * burst - 1n) * gap - (k * period - jitter));
}

// Copies for later listeners come behind this one where all are released.
function laterCopies(visit) {
  const { flow } = visit;
  if (visit.prev || visit.to === null || visit.frames > 1n) return 0n;
  let seen = false;
  let work = 0n;
  for (const other of flow.visits) {
    if (other.way !== 'request' || other.place !== visit.place || other.prev) continue;
    if (seen) work += other.frames * largest(other.longest);
    if (other === visit) seen = true;
  }
  return work;
}
