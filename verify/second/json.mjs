// A strict JSON reader of the second checker of certificates, which was written from the page
// docs/reference/certificate.md alone. Numbers are whole and become BigInt, so that none is rounded.

const LONGEST_NUMBER = 30;
const DEEPEST = 40;

export class Unreadable extends Error {}

/** The value that `text` stands for: objects are `Map`s, numbers `BigInt`s. */
export function read(text) {
  const reader = { text, at: 0 };
  const value = readValue(reader, 0);
  skip(reader);
  if (reader.at < text.length) fail(reader, 'something follows the value');
  return value;
}

function fail(reader, why) {
  throw new Unreadable(`octet ${reader.at}: ${why}`);
}

function skip(reader) {
  while (' \t\n\r'.includes(reader.text[reader.at] ?? 'end')) reader.at += 1;
}

function take(reader, expected) {
  skip(reader);
  if (!reader.text.startsWith(expected, reader.at)) fail(reader, `no ${expected}`);
  reader.at += expected.length;
}

function follows(reader, expected) {
  skip(reader);
  if (reader.text[reader.at] !== expected) return false;
  reader.at += 1;
  return true;
}

// Nesting is limited, so that hostile input cannot exhaust the call stack.
function readValue(reader, depth) {
  if (depth > DEEPEST) fail(reader, 'nested too deeply');
  skip(reader);
  const c = reader.text[reader.at];
  if (c === '{') return readObject(reader, depth);
  if (c === '[') return readList(reader, depth);
  if (c === '"') return readText(reader);
  for (const [word, value] of [['true', true], ['false', false], ['null', null]]) {
    if (reader.text.startsWith(word, reader.at)) {
      reader.at += word.length;
      return value;
    }
  }
  return readNumber(reader);
}

function readObject(reader, depth) {
  const members = new Map();
  take(reader, '{');
  if (follows(reader, '}')) return members;
  do {
    skip(reader);
    const name = readText(reader);
    // A second member of one name would let two readers see two certificates.
    if (members.has(name)) fail(reader, `${name} stands twice`);
    take(reader, ':');
    members.set(name, readValue(reader, depth + 1));
  } while (follows(reader, ','));
  take(reader, '}');
  return members;
}

function readList(reader, depth) {
  const items = [];
  take(reader, '[');
  if (follows(reader, ']')) return items;
  do items.push(readValue(reader, depth + 1)); while (follows(reader, ','));
  take(reader, ']');
  return items;
}

function readNumber(reader) {
  const pattern = /-?(?:0|[1-9][0-9]*)(?![0-9.eE])/y;
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.text);
  if (!found) fail(reader, 'no value, or a number that is not whole');
  if (found[0].length > LONGEST_NUMBER) fail(reader, 'a number that is too long');
  reader.at += found[0].length;
  return BigInt(found[0]);
}

function readText(reader) {
  if (reader.text[reader.at] !== '"') fail(reader, 'no text');
  const end = plainEnd(reader);
  if (end >= 0) {
    const plain = reader.text.slice(reader.at + 1, end);
    reader.at = end + 1;
    return plain;
  }
  return readEscaped(reader);
}

// Where a text without escapes ends, or -1: nearly all are of this kind.
function plainEnd(reader) {
  for (let i = reader.at + 1; i < reader.text.length; i += 1) {
    const c = reader.text.charCodeAt(i);
    if (c === 34) return i;
    if (c === 92 || c < 32) return -1;
  }
  return -1;
}

const ESCAPES = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function readEscaped(reader) {
  const parts = [];
  for (let i = reader.at + 1; i < reader.text.length; i += 1) {
    const c = reader.text[i];
    if (c === '"') {
      reader.at = i + 1;
      return parts.join('');
    }
    if (c < ' ') break;
    if (c !== '\\') {
      parts.push(c);
      continue;
    }
    i += 1;
    const code = reader.text.slice(i + 1, i + 5);
    if (reader.text[i] === 'u' && /^[0-9a-fA-F]{4}$/.test(code)) {
      parts.push(String.fromCharCode(parseInt(code, 16)));
      i += 4;
    } else if (Object.hasOwn(ESCAPES, reader.text[i] ?? 'end')) {
      parts.push(ESCAPES[reader.text[i]]);
    } else break;
  }
  return fail(reader, 'a text that is not well formed');
}
