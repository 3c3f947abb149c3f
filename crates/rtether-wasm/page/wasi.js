// The little of WASI, preview 1, that the program uses: standard input, output and error, and the
// end. Files, clocks and sockets are not there.
"use strict";

const BAD = 8;

/** What the program writes to standard error to tell how far it is. */
const FAR = /^progress (.*)\n$/;

/**
 * Starts the program with octets as its input; returns the octets that it wrote. `hear` is called with
 * how far it is.
 */
function start(module, input, hear = () => {}) {
  let memory;
  let at = 0;
  const written = { 1: [], 2: [] };
  const view = () => new DataView(memory.buffer);
  const parts = (list, count) =>
    Array.from({ length: count }, (_, index) => {
      const from = view().getUint32(list + 8 * index, true);
      const size = view().getUint32(list + 8 * index + 4, true);
      return new Uint8Array(memory.buffer, from, size);
    });
  const none = (count, size) => {
    view().setUint32(count, 0, true);
    view().setUint32(size, 0, true);
    return 0;
  };
  const calls = {
    fd_read(file, list, count, read) {
      if (file !== 0) return BAD;
      const begin = at;
      for (const part of parts(list, count)) {
        const piece = input.subarray(at, at + part.length);
        part.set(piece);
        at += piece.length;
      }
      view().setUint32(read, at - begin, true);
      return 0;
    },
    fd_write(file, list, count, wrote) {
      if (!written[file]) return BAD;
      let size = 0;
      for (const part of parts(list, count)) {
        const far = file === 2 && FAR.exec(new TextDecoder().decode(part));
        if (far) hear(far[1]);
        else written[file].push(part.slice());
        size += part.length;
      }
      view().setUint32(wrote, size, true);
      return 0;
    },
    // Hash maps ask for it; the same numbers each time are as good, since no result depends on them.
    random_get(from, size) {
      new Uint8Array(memory.buffer, from, size).fill(7);
      return 0;
    },
    environ_get: () => 0,
    environ_sizes_get: none,
    args_get: () => 0,
    args_sizes_get: none,
    sched_yield: () => 0,
    proc_exit(code) {
      throw new Error(`the program ended with ${code}`);
    },
  };
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = calls[name] ?? (() => 52);
  }
  const all = (file) => {
    const whole = new Uint8Array(written[file].reduce((sum, piece) => sum + piece.length, 0));
    written[file].reduce((place, piece) => (whole.set(piece, place), place + piece.length), 0);
    return whole;
  };
  try {
    const program = new WebAssembly.Instance(module, imports);
    memory = program.exports.memory;
    program.exports._start();
  } catch (error) {
    // A panic has written its message; anything else is told by the engine.
    throw new Error(new TextDecoder().decode(all(2)).trim() || String(error), { cause: error });
  }
  return all(1);
}
