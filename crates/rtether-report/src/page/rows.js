// Rows of tables. Those in the document have their element; those in data get it when it is needed.

const collator = new Intl.Collator("en", { numeric: true });

function all(root, selector) {
  return Array.from(root.querySelectorAll(selector));
}

function make(name, kind, text) {
  const node = document.createElement(name);
  if (kind) { node.className = kind; }
  if (text) { node.textContent = text; }
  return node;
}

function writtenRow(node) {
  const cells = Array.from(node.cells, (cell) => ({ text: cell.textContent.trim(), key: cell.dataset.v }));
  return { cells, failed: node.classList.contains("failed"), node: () => node };
}

function heldRow(cells, failed) {
  let made = null;
  function node() {
    if (made === null) {
      made = make("tr", failed ? "failed" : "");
      made.append(...cells.map(cellNode));
    }
    return made;
  }
  return { cells, failed, node };
}

function heldCell(held) {
  const [text, key, look, kind, ...notes] = [].concat(held);
  return { text: [text, ...notes].join(" "), key, parts: { text, look, kind, notes } };
}

function cellNode(cell) {
  const { text, look, kind, notes } = cell.parts;
  const node = make(kind === "name" ? "th" : "td", kind);
  if (kind === "name") { node.scope = "row"; }
  if (Array.isArray(look)) {
    node.append(gauge(text, look));
  } else {
    node.append(look ? make("span", look, text) : text);
  }
  node.append(...notes.map((note) => make("small", "", note)));
  return node;
}

function gauge(text, [kind, width]) {
  const fill = make("i", "fill " + kind);
  fill.style.width = width;
  const track = make("span", "track");
  track.append(fill);
  const whole = make("span", "gauge");
  whole.append(track, text);
  return whole;
}

const held = new Map();

// Each script with data is read once, however many tables show its rows. Returns a function, so that
// every table makes elements of its own.
function heldRows(script) {
  if (!held.has(script)) {
    const data = JSON.parse(script.textContent);
    const cells = data.cells.map(heldCell);
    const failed = new Set(data.failed);
    const rows = data.rows.map((row, number) => [row.map((cell) => cells[cell]), failed.has(number)]);
    held.set(script, (numbers) =>
      (numbers || Array.from(rows.keys())).map((number) => heldRow(...rows[number])));
  }
  return held.get(script);
}

function sortKey(cell) {
  if (cell.key === undefined || cell.key === null) { return cell.text; }
  return cell.key === "" ? null : Number(cell.key);
}

// What has no value comes last, whatever the direction.
function sorted(rows, column, down) {
  const sign = down ? -1 : 1;
  const keyed = rows.map((row) => [sortKey(row.cells[column]), row]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) { return (a === null) - (b === null); }
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b));
  });
  return keyed.map(([, row]) => row);
}
