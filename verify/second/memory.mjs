// Memories that may overflow, and links that may destroy frames. A part of the second checker, which
// was written from the page docs/reference/certificate.md alone.
import { framed, largest, max, min } from './plant.mjs';
import { count, isUnderWay, underWay } from './work.mjs';

// What a station holds of one flow with a gap (docs/models/stations.md).
const HELD = 1000n;

/** Every memory whose packets may not fit, with its need if there is a limit, and every faulty link. */
export function overflowing(plant) {
  const listed = [];
  const tell = (what, need, room) => {
    if (need === null || need > room) listed.push({ at: what, claim: room, need });
  };
  for (const node of plant.nodes.values()) {
    const places = [...plant.places.values()].filter((place) => place.node === node);
    if (node.kind === 'station') tellStation(node, places, tell);
    else tellSwitch(node, places, tell);
  }
  for (const link of plant.links) {
    if (link.errors > 0n && !link.standby) {
      listed.push({ at: `link ${link.ends.map((end) => `${end.node}:${end.port}`).join(' ')}`, claim: null, need: null });
    }
  }
  return listed;
}

const sum = (values) => values.reduce((a, b) => (a === null || b === null ? null : a + b), 0n);

function tellStation(node, places, tell) {
  const { layer } = node;
  const stacks = places.filter((place) => place.kind === 'stack');
  const packets = (visits) => waiting(visits, () => 1n);
  if (layer?.receive) tell(`receive queues of ${node.name}`, null, 0n);
  else if (layer?.instances) tellInstances(node, stacks, packets, tell);
  else tell(`stack ${node.name}`, packets(stacks.flatMap((place) => place.visits)), node.stack_queue);
  for (const place of places) {
    if (place.kind === 'tasks') tell(`tasks ${node.name}`, packets(place.visits), node.stack_queue);
    if (place.kind === 'port' && layer?.transmit) {
      const isPlain = layer.transmit.rule === 'arrival';
      const room = layer.transmit.limits.reduce((a, b) => a + b, 0n);
      tell(`transmit queues of ${node.name}`, isPlain ? packets(place.visits) : null, room);
    }
    if (place.kind === 'gap') tell(`gap ${place.visits[0].flow.name}`, waiting(place.visits, () => 1n), HELD);
    if (place.kind === 'port') tell(`port ${node.name} ${place.number}`, octetsAt(place), node.driver_queue);
  }
}

function tellInstances(node, stacks, packets, tell) {
  for (const place of stacks) {
    for (const [queue, room] of node.layer.instances.entries()) {
      tell(`instance ${queue} of ${node.name}`, packets(place.visits.filter((visit) => visit.queue === queue)), room);
    }
  }
}

function tellSwitch(node, places, tell) {
  const ports = places.filter((place) => place.kind === 'port');
  for (const place of ports) {
    const { buffer, thresholds } = node.ports[place.number - 1];
    tell(`port ${node.name} ${place.number}`, octetsAt(place), buffer);
    for (const queue of thresholds ? queuesOf(place) : []) {
      tell(`queue ${queue} of port ${node.name} ${place.number}`, octetsIn(place, queue), thresholds[queue]);
    }
  }
  if (node.shared_buffer !== null) tell(`memory of ${node.name}`, sum(ports.map(octetsAt)), node.shared_buffer);
  for (const place of places) {
    if (place.kind === 'router') tell(`processor ${node.name}`, waiting(place.visits, () => 1n), node.processor.queue);
  }
}

// The packets that come within a delay; of a connection no more than are under way.
function waiting(visits, weight) {
  const flows = new Map();
  for (const visit of visits) {
    const key = `${visit.flow.name}\u0000${visit.to}`;
    flows.set(key, [...(flows.get(key) ?? []), visit]);
  }
  return sum([...flows.values()].map((ofFlow) => waitingOf(ofFlow, weight)));
}

function waitingOf(visits, weight) {
  const coming = sum(visits.map((visit) => {
    const { arrivals, delay } = visit.claim;
    return arrivals && delay !== null && !visit.bad && !visit.unfounded ? count(arrivals, delay) * weight(visit) : null;
  }));
  if (!visits.every(isUnderWay)) return coming;
  const most = largest(visits.map((visit) => underWay(visit) * weight(visit)));
  return coming === null ? most : min(coming, most);
}

const queuesOf = (place) => [...new Set(place.visits.map((visit) => visit.queue))];
const octetsAt = (place) => sum(queuesOf(place).map((queue) => octetsIn(place, queue)));
const largestFrame = (visit) => framed(visit, largest(visit.sizes));

// What waits is served within the longest delay and one service.
function octetsIn(place, queue) {
  const visits = place.visits.filter((visit) => visit.queue === queue);
  const counted = waiting(visits, largestFrame);
  if (visits.some((visit) => visit.bad || visit.claim.delay === null)) return counted;
  const frame = largest(visits.map(largestFrame));
  const time = largest(visits.map((visit) => visit.claim.delay)) + (frame + 20n) * place.octet;
  const served = (time * frame) / ((frame + 20n) * place.octet);
  return counted === null ? served : min(counted, max(served, 0n));
}
