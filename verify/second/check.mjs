// A second checker of certificates (rtether.certificate/1), written from the page
// docs/reference/certificate.md alone. `node verify/second/check.mjs F...` prints one line for each.
import { readFileSync, statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { read } from './json.mjs';
import { certificate } from './shape.mjs';
import { TooLarge, restart, spend } from './budget.mjs';
import { Impossible, build } from './plant.mjs';
import { attach, chainOf, idleCycle, ruleOf, shown, sumTo, testArrivals, testDelay, testWaits } from './claims.mjs';
import { overflowing } from './memory.mjs';

const MOST_OCTETS = 128 * 1024 * 1024;
const EXITS = { certified: 0, 'only if': 3, 'not certified': 3, rejected: 1, error: 2 };
const WORST = ['error', 'rejected', 'not certified', 'only if', 'certified'];
// No claim may be longer than this, so that busy periods need not be followed any further.
const LONGEST = 10n ** 16n;

/** Verdict, streams and failures of one file. */
export function checkFile(file) {
  try {
    const found = statSync(file);
    if (!found.isFile()) throw new TooLarge('no file');
    if (found.size > MOST_OCTETS) throw new TooLarge('the file is too large');
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
    return { file, ...check(text) };
  } catch (error) {
    return { file, verdict: 'error', streams: [], failures: [failure('', '', error.message)] };
  }
}

export function check(text) {
  restart();
  const claimed = certificate(read(text), 'certificate');
  try {
    return judge(claimed);
  } catch (error) {
    if (!(error instanceof Impossible)) throw error;
    return { verdict: 'rejected', streams: [], failures: [failure('', '', error.message)] };
  }
}

const failure = (flow, at, why, claim = null, need = null) => ({ flow, at, why, claim, need });

function judge(claimed) {
  const plant = build(claimed.scenario);
  plant.links = claimed.scenario.links;
  attach(plant, claimed);
  for (const flow of plant.flows) flow.plant = plant;
  for (const place of plant.places.values()) place.preempts = ruleOf(place) === 'preemption';
  const failures = testGranted(plant);
  const cycle = idleCycle(plant);
  if (cycle) failures.push(failure('', shown(cycle.key), 'places follow each other in no time'));
  withdraw(plant);
  const streams = sumStreams(plant, claimed, failures);
  return conclude(plant, streams, failures);
}

// Every claim against its test, with all others taken for granted.
function testGranted(plant) {
  const failures = [];
  for (const visit of plant.visits) {
    visit.bad = visit.claim.rule === null || visit.claim.delay === null;
    visit.unfounded = false;
  }
  for (const place of plant.places.values()) place.unlimited = place.visits.some(isUnlimited);
  for (const visit of plant.visits) {
    const wrong = [visit.prev?.bad ? null : testArrivals(visit), testDelay(plant, visit, LONGEST)];
    // Where something comes from a place without a rule, this one may lack what is not claimed.
    if (visit.place.unlimited) wrong[1] = null;
    for (const found of wrong.filter((other) => other !== null)) {
      failures.push(failure(visit.flow.name, shown(visit.place.key), found.why, found.claim, found.need));
    }
  }
  for (const flow of plant.flows) {
    const found = reliesOnBad(flow) ? null : testWaits(plant, flow);
    if (found) failures.push(failure(flow.name, '', found.why, found.claim, found.need));
  }
  return failures;
}

function isUnlimited(visit) {
  return visit.claim.arrivals === null && visit.prev !== null && chainOf(visit.prev).some((before) => before.bad);
}

const reliesOnBad = (flow) => flow.ways
  .some((way) => chainOf(way.replyEnd ?? way.requestEnd).some((visit) => visit.bad));

// What comes from a place without a rule counts as `null`: claims that then fail are no longer made,
// until all that are left rest on each other alone.
function withdraw(plant) {
  let changed = plant.visits.some((visit) => visit.bad);
  while (changed) {
    changed = false;
    for (const place of plant.places.values()) place.delays = undefined;
    for (const flow of plant.flows) {
      if (flow.claimsWaits && reliesOnBad(flow)) {
        flow.claimsWaits = false;
        changed = true;
      }
    }
    for (const visit of plant.visits) changed = withdrawAt(plant, visit) || changed;
  }
}

function withdrawAt(plant, visit) {
  spend(1);
  let changed = false;
  if (!visit.unfounded && visit.claim.arrivals && testArrivals(visit)) changed = visit.unfounded = true;
  if (!visit.bad && testDelay(plant, visit, LONGEST)) changed = visit.bad = true;
  return changed;
}

function sumStreams(plant, claimed, failures) {
  const ways = plant.flows.flatMap((flow) => flow.ways.map((way) => ({ flow, way })));
  if (ways.length !== claimed.streams.length) throw new Impossible('streams are not those of the flows');
  return ways.map(({ flow, way }, i) => {
    const stream = claimed.streams[i];
    if (stream.flow !== flow.name || stream.listener !== way.to) throw new Impossible(`stream ${i + 1} is another one`);
    const end = flow.reply ? way.replyEnd : way.requestEnd;
    const sum = sumTo(plant, end);
    if (stream.bound !== null && sum !== null && stream.bound < sum) {
      failures.push(failure(flow.name, way.to, 'sum', stream.bound, sum));
    }
    const sound = stream.bound !== null && sum !== null && chainOf(end).every((visit) => !visit.bad);
    return { flow: flow.name, to: way.to, verdict: sound ? 'certified' : 'not certified', open: stream.bound === null };
  });
}

function conclude(plant, streams, failures) {
  const listed = overflowing(plant);
  for (const stream of streams) {
    if (failures.length > 0) stream.verdict = 'rejected';
    else if (stream.verdict === 'certified' && listed.length > 0) stream.verdict = 'only if';
  }
  const counted = streams.filter((stream) => !(stream.open && failures.length === 0));
  const verdict = failures.length > 0 ? 'rejected' : worst(counted.map((stream) => stream.verdict));
  for (const { at, claim, need } of listed) failures.push(failure('', at, 'may drop', claim, need));
  return { verdict, streams: streams.map(({ flow, to, verdict: own }) => ({ flow, to, verdict: own })), failures };
}

const worst = (verdicts) => WORST.find((word) => verdicts.includes(word)) ?? 'not certified';

function print(result) {
  console.log(JSON.stringify(result, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
}

function main(files) {
  if (files.length === 0) {
    console.error('usage: node verify/second/check.mjs FILE...');
    return EXITS.error;
  }
  const verdicts = files.map((file) => {
    const result = checkFile(file);
    print(result);
    return result.verdict;
  });
  return EXITS[worst(verdicts)];
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = main(process.argv.slice(2));
}
