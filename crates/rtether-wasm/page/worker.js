// One question after the other; the page ends the worker if it does not want to wait.
let program;

self.onmessage = ({ data }) => {
  if (data.program) {
    program = data.program;
    return;
  }
  const { id, question } = data;
  let answer;
  try {
    answer = JSON.parse(start(program, question));
  } catch (error) {
    answer = { error: error.message };
  }
  self.postMessage({ id, answer });
};
