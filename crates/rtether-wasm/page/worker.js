// One question after the other; the page ends the worker if it does not want to wait.
let program;

/** Unpacks the program and compiles it: that takes a tenth of a second, in which a page should draw. */
function unpack({ unpacker, packed }) {
  program = new WebAssembly.Module(start(new WebAssembly.Module(unpacker), packed));
  self.postMessage({ program });
}

self.onmessage = ({ data }) => {
  if (data.packed) {
    unpack(data);
    return;
  }
  if (data.program) {
    program = data.program;
    return;
  }
  const { id, question } = data;
  let answer;
  try {
    answer = JSON.parse(new TextDecoder().decode(start(program, question, (progress) => self.postMessage({ id, progress }))));
  } catch (error) {
    answer = { error: error.message };
  }
  self.postMessage({ id, answer });
};
