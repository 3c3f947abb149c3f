// The shape of a certificate, for the second checker, which was written from the page
// docs/reference/certificate.md alone; members are those of certificate.schema.json.
import { Unreadable } from './json.mjs';

const LARGEST = 10n ** 18n;
const MOST_ITEMS = 200_000;

function wrong(path, why) {
  throw new Unreadable(`${path}: ${why}`);
}

const whole = (largest = LARGEST, least = 0n) => (value, path) => {
  if (typeof value !== 'bigint') wrong(path, 'no whole number');
  if (value < least || value > largest) wrong(path, 'out of range');
  return value;
};
const time = whole();
const octet = whole(255n);
const small = (largest) => {
  const inner = whole(largest);
  return (value, path) => Number(inner(value, path));
};

function text(value, path) {
  return typeof value === 'string' ? value : wrong(path, 'no text');
}

function flag(value, path) {
  return typeof value === 'boolean' ? value : wrong(path, 'neither true nor false');
}

const oneOf = (...words) => (value, path) => (words.includes(value) ? value : wrong(path, 'an unknown word'));
const maybe = (inner) => (value, path) => (value === null ? null : inner(value, path));

const list = (inner, least = 0, most = MOST_ITEMS) => (value, path) => {
  if (!Array.isArray(value)) wrong(path, 'no list');
  if (value.length < least || value.length > most) wrong(path, 'too few or too many');
  return value.map((item, i) => inner(item, `${path}[${i}]`));
};

// A member that is not known might change what the others mean, so that it is refused.
const object = (members) => (value, path) => {
  if (!(value instanceof Map)) wrong(path, 'no object');
  for (const name of value.keys()) if (!Object.hasOwn(members, name)) wrong(path, `${name} is not known`);
  const result = {};
  for (const [name, inner] of Object.entries(members)) {
    if (!value.has(name)) wrong(path, `no ${name}`);
    result[name] = inner(value.get(name), `${path}.${name}`);
  }
  return result;
};

const byKind = (kinds) => (value, path) => {
  if (!(value instanceof Map)) wrong(path, 'no object');
  const kind = value.get('kind');
  if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind)) wrong(path, 'an unknown kind');
  return object({ kind: text, ...kinds[kind] })(value, path);
};

function port(value, path) {
  if (!Array.isArray(value) || value.length !== 2) wrong(path, 'no port');
  return { node: text(value[0], path), port: small(65535n)(value[1], path) };
}

function place(value, path) {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3) wrong(path, 'no place');
  const words = value.slice(0, 2).map((word) => text(word, path));
  if (value.length === 3) words.push(typeof value[2] === 'bigint' ? String(value[2]) : `"${text(value[2], path)}"`);
  return words.join('\u0000');
}

const cost = object({ base: time, octet: time, more: time, jitter: time });
const queues = list(octet, 8, 8);

const station = {
  name: text,
  beyond: list(text),
  stack: maybe(object({
    processors: oneOf(1n, 2n), send: list(cost, 3, 3), receive: list(cost, 3, 3), split: time,
  })),
  interface: maybe(object({ base: time, octet: time, more: time })),
  stack_queue: time,
  driver_queue: time,
  tasks: maybe(object({
    message: time, message_more: time, segment: time, segment_more: time, messages_first: flag,
  })),
  layer: maybe(object({
    queue_of_pcp: queues,
    untagged: octet,
    classes: list(object({ flow: text, to: maybe(text), way: oneOf('request', 'reply'), class: octet })),
    instances: maybe(list(time, 1, 8)),
    receive: maybe(object({
      rule: oneOf('highest', 'promoting', 'flag'),
      input: time,
      limits: list(time, 1, 8),
      picks: time,
      idle: maybe(time),
      below_top: flag,
    })),
    transmit: maybe(object({
      rule: oneOf('arrival', 'moderate', 'strict', 'rings'),
      limits: list(time, 1, 8),
      ring: whole(LARGEST, 1n),
      high_from: octet,
      sends_empty: flag,
      idle: maybe(time),
      rings: whole(8n, 1n),
    })),
  })),
  by_deadline: flag,
};

const switchPort = object({
  selection: oneOf('arrival', 'priority', 'frames', 'octets', 'credit', 'deadline', 'other'),
  turns: maybe(list(time, 8, 8)),
  quanta: maybe(list(time, 8, 8)),
  vlan: object({
    kind: oneOf('transparent', 'access', 'trunk'),
    members: maybe(list(whole(65535n))),
    native: maybe(whole(65535n)),
  }),
  default_pcp: small(7n),
  buffer: time,
  thresholds: maybe(list(time, 8, 8)),
});

const bridge = {
  name: text,
  latency: time,
  latency_jitter: time,
  latency_more: time,
  cut_through: flag,
  queue_of_pcp: list(whole(7n), 8, 8),
  strips_tags: flag,
  floods_groups: flag,
  learns: maybe(time),
  shared_buffer: maybe(time),
  processor: maybe(object({ cost, queue: time })),
  ports: list(switchPort, 0, 4096),
};

const traffic = byKind({
  periodic: { period: whole(LARGEST, 1n), jitter: time },
  sporadic: { gap: whole(LARGEST, 1n), burst: whole(LARGEST, 1n) },
  adaptive: { pause: time, timeout: time },
  poisson: {},
  file: {
    segment: whole(65535n, 1n), window: time, file: maybe(time), timeout: time, ack_delay: time,
  },
  messages: { segment: whole(65535n, 1n) },
});

const flow = object({
  name: text,
  talker: text,
  multicast: flag,
  over: oneOf('raw', 'udp', 'tcp', 'icmp', 'goose', 'sv', 'profinet'),
  payload: whole(1n << 30n),
  tag: maybe(object({ pcp: small(7n), vid: whole(4095n) })),
  traffic,
  gap: maybe(whole(LARGEST, 1n)),
  reply: maybe(object({ payload: whole(1n << 30n), after: time, longest: time })),
  ways: list(object({ to: text, out: list(port, 0, 1000), back: maybe(list(port, 0, 1000)), configured: flag }), 1),
  due: maybe(object({ elsewhere: time, at: list(object({ port, within: time })) })),
  deadline: maybe(time),
});

const link = object({
  ends: list(port, 2, 2), rate: whole(LARGEST, 1n), propagation: time, errors: time, standby: flag, half: flag,
});

const visit = object({
  to: maybe(text),
  way: oneOf('request', 'reply'),
  at: place,
  arrivals: maybe(object({ period: whole(LARGEST, 1n), burst: whole(LARGEST, 1n), jitter: time })),
  rule: maybe(oneOf(
    'arrival', 'priority', 'preemption', 'frames', 'octets', 'gap',
    'credit', 'deadline', 'highest', 'promoting', 'flag', 'moderate', 'strict', 'rings',
  )),
  delay: maybe(time),
});

export const certificate = object({
  schema: oneOf('rtether.certificate/1'),
  rtether: text,
  scenario: object({
    name: text, nodes: list(byKind({ station, switch: bridge })), links: list(link), flows: list(flow),
  }),
  flows: list(object({ flow: text, waits: flag, visits: list(visit) })),
  streams: list(object({ flow: text, listener: text, bound: maybe(time), proved: maybe(time) })),
});
