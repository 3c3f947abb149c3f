// The page: it asks the worker, shows what it says, and edits the text.
"use strict";

const at = (id) => document.getElementById(id);
const [editor, under, lines] = ["editor", "under", "lines"].map(at);
/** Questions that tell nothing for longer are ended, in milliseconds. */
const PATIENCE = 60_000;
/** After this time the page shows how far a question is, in milliseconds. */
const SHORT = 400;
/** Runs that take no longer are made again for `why` without being asked for, in milliseconds. */
const QUICK = 1_500;
/** The largest scenario of a link, and the largest file to import, in octets. */
const MOST_LINK = 4 << 20;
const MOST_FILE = 256 << 20;

// --- The worker -------------------------------------------------------------------------------

let program;
let worker;
let current = null;

/** Makes a worker, which still needs the program. */
function hire() {
  const source = new Blob([at("worker").textContent], { type: "text/javascript" });
  const place = URL.createObjectURL(source);
  worker = new Worker(place);
  URL.revokeObjectURL(place);
}

/** Ends what the worker does; its answer is `null`. */
function end() {
  if (!current) return;
  worker.terminate();
  worker = null;
  current.done(null);
}

/** Shows how far the question is: percent simulated, or a word for what no percent is known of. */
function far(progress) {
  const percent = /^\d+$/.test(progress) ? Number(progress) : null;
  const text = percent === null ? progress : `simulated ${percent} %`;
  if (percent === null) at("bar").removeAttribute("value");
  else at("bar").value = percent;
  at("far").textContent = text;
  // A voice that read each percent, or each design that was tried, would say nothing else.
  const isCount = / tried$/.test(progress);
  if (!at("busy").hidden && !isCount && (percent === null || Math.floor(percent / 25) > far.quarter)) at("heard").textContent = text;
  far.quarter = Math.floor((percent ?? 0) / 25);
}

function cancel() {
  const isJudging = document.body.dataset.state !== "verdict";
  end();
  if (isJudging && hasVerdict) {
    document.body.dataset.state = "verdict";
    say("cancelled");
  } else if (isJudging) {
    document.body.dataset.state = "cancelled";
    banner("neutral", "Cancelled", "change the scenario, or run it again");
    at("again").hidden = false;
    at("again").focus();
  } else {
    stale(false);
    if (!at("report").querySelector("iframe")) at("whole").open = false;
    say("cancelled");
  }
}

/**
 * Asks one question; a new one ends the one before. Resolves to `null` if it was ended. `first` is called
 * with a verdict that comes before the answer.
 */
function ask(head, files = [], first = () => {}) {
  end();
  if (!worker) {
    hire();
    worker.postMessage({ program });
  }
  const named = files.map(({ name, octets }) => ({ name, size: octets.length }));
  const line = new TextEncoder().encode(JSON.stringify({ ...head, files: named }) + "\n");
  const pieces = [line, ...files.map((file) => file.octets)];
  const question = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  pieces.reduce((place, piece) => (question.set(piece, place), place + piece.length), 0);
  const own = { id: (ask.count = (ask.count ?? 0) + 1) };
  own.ended = new Promise((resolve) => {
    const giveUp = () => {
      worker.terminate();
      worker = null;
      own.done({ error: `ended after ${PATIENCE / 1000} s without progress: use the command` });
    };
    let late = setTimeout(giveUp, PATIENCE);
    far("working");
    at("heard").textContent = "";
    const shown = setTimeout(() => (at("busy").hidden = false), SHORT);
    own.hear = (progress) => {
      clearTimeout(late);
      late = setTimeout(giveUp, PATIENCE);
      if (progress.startsWith("verdict ")) {
        first(JSON.parse(progress.slice(8)));
        far("looking for what would help");
      } else far(progress);
    };
    own.done = (answer) => {
      clearTimeout(late);
      clearTimeout(shown);
      at("busy").hidden = true;
      current = null;
      resolve(answer);
    };
    current = own;
    const broken = (event) => {
      worker = null;
      own.done({ error: event.message || "the worker has failed" });
    };
    worker.onerror = broken;
    worker.onmessage = ({ data }) => {
      if (data.id !== own.id) return;
      if (data.progress) own.hear(data.progress);
      else own.done(data.answer);
    };
    worker.postMessage({ id: own.id, question }, [question.buffer]);
  });
  return own.ended;
}

// --- Text and places --------------------------------------------------------------------------

let file = "plant.yaml";
let loaded = { diagnostics: [], mends: [] };

/** Returns a function from octets to characters of a text. */
function characters(text) {
  const octets = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  return (offset) => decoder.decode(octets.subarray(0, offset)).length;
}

const primary = (diagnostic) => diagnostic.spans.find((span) => span.primary);
const isHere = (diagnostic) => primary(diagnostic).file === file;

/** Replaces a range of the text so that the browser can undo it. */
function replace(start, end, text) {
  editor.focus();
  editor.setSelectionRange(start, end);
  const isDone = text === "" ? document.execCommand("delete") : document.execCommand("insertText", false, text);
  if (!isDone) editor.setRangeText(text, start, end, "end");
  changed();
}

function goTo(diagnostic) {
  const place = characters(editor.value);
  const { start, end } = primary(diagnostic);
  editor.focus();
  editor.setSelectionRange(place(start), place(end));
  const line = editor.value.slice(0, place(start)).split("\n").length;
  editor.scrollTop = Math.max(0, (line - 5) * 20);
}

function mend(one) {
  // Its place is one in the text that was read.
  if (loaded.text !== editor.value) {
    say("still reading");
    return;
  }
  const place = characters(editor.value);
  replace(place(one.start), place(one.end), one.text);
  say("edit made");
}

/** Draws line numbers, and the lines below the places of mistakes. */
function draw() {
  const text = editor.value;
  const count = text.split("\n").length;
  lines.textContent = Array.from({ length: count }, (_, index) => index + 1).join("\n");
  const place = characters(text);
  const marks = loaded.diagnostics.filter(isHere).map((diagnostic) => {
    const { start, end } = primary(diagnostic);
    const from = place(start);
    const line = text.indexOf("\n", from);
    const last = Math.min(place(end), line < 0 ? text.length : line);
    return { from, to: Math.max(last, from + 1), kind: diagnostic.severity };
  });
  marks.sort((a, b) => a.from - b.from);
  under.replaceChildren();
  let done = 0;
  for (const { from, to, kind } of marks) {
    if (from < done) continue;
    const mark = document.createElement("mark");
    mark.className = kind;
    mark.textContent = text.slice(from, to);
    under.append(text.slice(done, from), mark);
    done = to;
  }
  // The last line has a height only if something follows.
  under.append(text.slice(done), "\n ");
  follow();
}

function follow() {
  under.scrollTop = editor.scrollTop;
  under.scrollLeft = editor.scrollLeft;
  lines.scrollTop = editor.scrollTop;
}

/** Puts words in backticks into elements for code. */
function words(text) {
  const pieces = text.split("`").map((piece, index) => {
    if (index % 2 === 0) return piece;
    const code = document.createElement("code");
    code.textContent = piece;
    return code;
  });
  return pieces;
}

function node(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function say(text) {
  at("said").textContent = text;
}

// --- What is wrong ----------------------------------------------------------------------------

function showMistakes() {
  const list = loaded.diagnostics.map((diagnostic, index) => {
    const { line, column, label } = primary(diagnostic);
    const go = node("button", { type: "button", className: "place" }, `Line ${line}, column ${column}: `, ...words(diagnostic.title));
    go.addEventListener("click", () => goTo(diagnostic));
    const item = node("li", { className: diagnostic.severity }, go);
    if (label) item.append(node("p", { className: "note" }, ...words(label)));
    diagnostic.help.forEach((help, number) => {
      const one = loaded.mends.find((own) => own.diagnostic === index && own.help === number);
      if (!one) {
        item.append(node("p", {}, ...words(help)));
        return;
      }
      const apply = node("button", { type: "button", className: "mend" }, "Apply: ", ...words(help.replace(/^did you mean (.*)\?$/, "write $1")));
      apply.addEventListener("click", () => mend(one));
      item.append(apply);
    });
    return item;
  });
  at("mistakes").replaceChildren(...list);
  at("mistakes-none").hidden = list.length > 0;
  const count = list.length;
  at("mistakes-title").textContent = count > 0 ? `Mistakes: ${count}` : "Mistakes";
  editor.setAttribute("aria-invalid", String(loaded.diagnostics.some((own) => own.severity === "error")));
}

// --- What is answered -------------------------------------------------------------------------

function banner(tone, title, text) {
  const words = [node("strong", {}, title), " ", node("span", {}, text)];
  at("banner").replaceChildren(node("p", { className: `banner ${tone}` }, ...words));
}

function stale(isStale) {
  for (const id of ["plan", "table", "why", "report", "notes"]) at(id).classList.toggle("stale", isStale);
}

/** Puts a result into the page: words as words, and tables with a button for all their rows. */
function put(place, html) {
  place.innerHTML = html;
  for (const text of place.querySelectorAll(":scope > pre")) {
    const lines = text.textContent.trim().split("\n").filter((line) => !line.startsWith("# "));
    if (lines.join("") === "") text.remove();
    else text.replaceWith(node("p", {}, ...words(lines.join("\n"))));
  }
  for (const rows of place.querySelectorAll(".rows")) unfold(rows);
}

function unfold(rows) {
  const data = rows.querySelector("script");
  const button = rows.querySelector(".more button");
  if (!data || !button) return;
  const titles = [...rows.querySelectorAll("thead th")].map((title) => title.className);
  button.hidden = false;
  button.textContent = "Show all";
  button.addEventListener("click", () => {
    const { cells, rows: all } = JSON.parse(data.textContent);
    const texts = cells.map((cell) => [].concat(cell)[0]);
    const made = all.map((row) => node("tr", {}, ...row.map((cell, index) => node("td", { className: titles[index] }, texts[cell]))));
    rows.querySelector("tbody").replaceChildren(...made);
    rows.querySelector(".more").remove();
    nameFlows();
  });
}

let streams = [];

function showVerdict(found) {
  at("banner").innerHTML = found.verdict;
  at("notes").replaceChildren(...found.notes.map((note) => node("li", {}, ...words(note))));
  at("plan").innerHTML = found.plan;
  streams = found.streams;
  put(at("table"), found.html);
  const chosen = at("stream").value;
  at("stream").replaceChildren(...streams.map(({ name, standing }) => node("option", { value: name }, `${name} (${standing})`)));
  if (streams.some(({ name }) => name === chosen)) at("stream").value = chosen;
  nameFlows();
  stale(false);
}

/** A click on a flow in the table asks why. */
function nameFlows() {
  for (const cell of at("table").querySelectorAll("tbody td:first-child")) {
    const name = cell.textContent;
    if (!streams.some((own) => own.name === name)) continue;
    const open = node("button", { type: "button", className: "why-this", title: `Why ${name}?` }, name);
    open.addEventListener("click", () => {
      at("stream").value = name;
      why(true);
    });
    cell.replaceChildren(open);
  }
}

const scenario = () => ({ name: file, text: editor.value });

/** Whether the verdict is shown of what is still worked on. */
let hasVerdict = false;

/** Loads, judges, and explains; what is typed meanwhile ends it. */
async function work() {
  const begin = performance.now();
  at("again").hidden = true;
  const { name, text } = scenario();
  const found = await ask({ do: "load", name, text });
  if (!found) return;
  if (found.error) {
    banner("bad", "Error", found.error);
    return;
  }
  loaded = { ...found, text };
  draw();
  showMistakes();
  if (found.name === null) {
    const errors = loaded.diagnostics.filter((own) => own.severity === "error").length;
    banner("neutral", "Not yet a plant", errors === 1 ? "1 mistake is left" : `${errors} mistakes are left`);
    stale(true);
    document.body.dataset.state = "mistakes";
    return;
  }
  stale(true);
  const wait = setTimeout(() => banner("neutral", "…", "simulating and proving"), SHORT);
  hasVerdict = false;
  const checked = await ask({ do: "check", ...scenario() }, [], (first) => {
    clearTimeout(wait);
    hasVerdict = true;
    showVerdict(first);
    document.body.dataset.first ??= Math.round(performance.now());
  });
  clearTimeout(wait);
  if (!checked) return;
  if (checked.error) {
    banner("bad", "Error", checked.error);
    return;
  }
  showVerdict(checked);
  const took = performance.now() - begin;
  document.body.dataset.took = Math.round(took);
  document.body.dataset.state = "verdict";
  if (took < QUICK || wantsWhy) await why(false);
  else at("why").replaceChildren(node("p", { className: "note" }, "Choose a flow."));
  if (at("whole").open) await report();
}

let wantsWhy = false;

async function why(isAsked) {
  const flow = at("stream").value;
  // A verdict that is under way comes first.
  wantsWhy = document.body.dataset.state !== "verdict";
  if (!flow || wantsWhy) return;
  const bound = at("what").value === "bound";
  at("why").classList.add("stale");
  const found = await ask({ do: "why", ...scenario(), flow, bound, packet: "worst" });
  if (!found) return;
  at("why").classList.remove("stale");
  if (found.error) {
    at("why").replaceChildren(node("p", {}, ...words(found.error)));
    return;
  }
  const picture = found.svg ? `<div class="picture" tabindex="0">${found.svg}</div>` : "";
  put(at("why"), found.html);
  at("why").insertAdjacentHTML("afterbegin", picture);
  document.body.dataset.why = flow;
  if (isAsked) at("why-title").scrollIntoView({ block: "start" });
  // It has ended a report that was under way.
  if (at("whole").open && !at("report").querySelector("iframe")) await report();
}

/** The text with the edits of the last design, and the text that it is of. */
let designed = null;

/** Searches for a design, or for what prevents the deadline of the chosen flow. */
async function design(isExplained) {
  // A verdict that is under way comes first.
  if (document.body.dataset.state !== "verdict") {
    say("still judging");
    return;
  }
  const flow = at("stream").value;
  const { text } = scenario();
  designed = null;
  at("adopt").hidden = true;
  at("designed").classList.add("stale");
  delete document.body.dataset.designed;
  const question = isExplained ? { do: "explain", flow } : { do: "design" };
  const found = await ask({ ...question, ...scenario() });
  at("designed").classList.remove("stale");
  if (!found) return;
  if (found.error) at("designed").replaceChildren(node("p", {}, ...words(found.error)));
  else put(at("designed"), found.html);
  if (found.edits?.length > 0) {
    designed = { before: text, text: found.text };
    at("adopt").hidden = false;
  }
  document.body.dataset.designed = isExplained ? flow : "all";
}

/** Puts the text with the edits in place of the one that they are of; the browser can undo it. */
function adopt() {
  if (designed?.before !== editor.value) {
    say("the scenario has changed since: design it again");
    return;
  }
  replace(0, editor.value.length, designed.text);
  at("adopt").hidden = true;
  say("edits made");
}

/** The page of `check --report`, in a frame of its own. */
async function report() {
  at("report").replaceChildren(node("p", { className: "note" }, "…"));
  while (current) await current.ended;
  if (document.body.dataset.state !== "verdict") return;
  const found = await ask({ do: "check", report: true, ...scenario() });
  if (!found) return;
  if (found.error) {
    at("report").replaceChildren(node("p", {}, found.error));
    return;
  }
  const { nonce } = document.currentScript ?? at("examples");
  const frame = node("iframe", { title: "Report", sandbox: "allow-scripts" });
  frame.srcdoc = found.report.replace("<script>", `<script nonce="${nonce}">`);
  at("report").replaceChildren(frame);
}

let soon;
function changed() {
  document.body.dataset.state = "typing";
  at("designed").classList.add("stale");
  draw();
  clearTimeout(soon);
  soon = setTimeout(work, 120);
}

function open(name, text) {
  file = name;
  editor.value = text;
  editor.scrollTop = 0;
  editor.setSelectionRange(0, 0);
  loaded = { diagnostics: [], mends: [] };
  at("stream").replaceChildren();
  at("designed").replaceChildren();
  at("adopt").hidden = true;
  at("imported").hidden = true;
  draw();
  clearTimeout(soon);
  document.body.dataset.state = "typing";
  return work();
}

// --- Files ------------------------------------------------------------------------------------

async function take(list) {
  const files = [...list];
  if (files.length === 0) return;
  if (files.reduce((sum, own) => sum + own.size, 0) > MOST_FILE) {
    say(`more than ${MOST_FILE >> 20} MB: use \`rtether import\``);
    return;
  }
  if (files.length === 1 && /\.(ya?ml)$/i.test(files[0].name)) {
    open(files[0].name, await files[0].text());
    return;
  }
  say(`importing ${files.map((own) => own.name).join(", ")}`);
  const contents = files.map(async (own) => ({ name: own.name, octets: new Uint8Array(await own.arrayBuffer()) }));
  const found = await ask({ do: "import" }, await Promise.all(contents));
  if (!found) return;
  if (found.error) {
    say(found.error);
    // The question before it may have been ended.
    await work();
    return;
  }
  say("imported");
  const shown = open(files[0].name.replace(/\.[^.]*$/, "") + ".yaml", found.scenario);
  put(at("imported-body"), found.html);
  at("imported").hidden = false;
  await shown;
}

function listen() {
  editor.addEventListener("input", changed);
  editor.addEventListener("scroll", follow);
  editor.addEventListener("keydown", keys);
  at("example").addEventListener("change", ({ target }) => {
    const one = examples.find((own) => own.name === target.value);
    if (one) open(one.name, one.text);
  });
  at("open").addEventListener("click", () => at("file").click());
  at("file").addEventListener("change", async ({ target }) => {
    await take(target.files);
    target.value = "";
  });
  at("cancel").addEventListener("click", cancel);
  at("again").addEventListener("click", work);
  at("link").addEventListener("click", copyLink);
  at("save").addEventListener("click", save);
  at("stream").addEventListener("change", () => why(false));
  at("what").addEventListener("change", () => why(false));
  at("design").addEventListener("click", () => design(false));
  at("explain").addEventListener("click", () => design(true));
  at("adopt").addEventListener("click", adopt);
  at("whole").addEventListener("toggle", () => at("whole").open && report());
  window.addEventListener("hashchange", fromLink);
  let depth = 0;
  const drop = (step) => {
    depth = Math.max(0, depth + step);
    at("drop").hidden = depth === 0;
  };
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  window.addEventListener("dragenter", (event) => hasFiles(event) && drop(1));
  window.addEventListener("dragleave", (event) => hasFiles(event) && drop(-1));
  window.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  window.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop(-depth);
    take(event.dataTransfer.files);
  });
}

function save() {
  const place = URL.createObjectURL(new Blob([editor.value], { type: "text/plain" }));
  node("a", { href: place, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(place), 10_000);
}

function keys(event) {
  if (event.key === "F8" && loaded.diagnostics.length > 0) {
    event.preventDefault();
    const place = characters(editor.value);
    const here = loaded.diagnostics.filter(isHere);
    const next = here.find((own) => place(primary(own).start) > editor.selectionStart);
    if (here.length > 0) goTo(next ?? here[0]);
  } else if (event.key === "." && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    const place = characters(editor.value);
    const next = loaded.mends.find((own) => place(own.end) >= editor.selectionStart);
    const one = next ?? loaded.mends[0];
    if (one) mend(one);
    else say("no edit is offered here");
  } else if (event.key === "Enter" && !event.isComposing && !event.shiftKey && !event.ctrlKey && !event.metaKey) {
    const line = editor.value.slice(0, editor.selectionStart).split("\n").pop();
    const [indent] = line.match(/^ */);
    if (indent === "") return;
    event.preventDefault();
    replace(editor.selectionStart, editor.selectionEnd, "\n" + indent);
  }
}

// --- Links ------------------------------------------------------------------------------------

async function through(octets, stream, most) {
  const reader = new Blob([octets]).stream().pipeThrough(stream).getReader();
  const pieces = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(pieces);
    size += value.length;
    if (size > most) throw new Error("too large");
    pieces.push(value);
  }
}

/** Decodes Base64. */
function octetsOf(text) {
  const digits = atob(text);
  const octets = new Uint8Array(digits.length);
  for (let place = 0; place < digits.length; place++) octets[place] = digits.charCodeAt(place);
  return octets;
}

async function copyLink() {
  const text = JSON.stringify([file, editor.value]);
  const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"), MOST_LINK);
  const octets = new Uint8Array(await packed.arrayBuffer());
  let digits = "";
  for (const octet of octets) digits += String.fromCharCode(octet);
  const hash = "#s=" + btoa(digits).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  ownHash = hash;
  location.hash = hash;
  try {
    await navigator.clipboard.writeText(location.href);
    say(`link of ${location.href.length} characters copied`);
  } catch {
    say("the address of this page is the link");
  }
}

let ownHash = "";

/** Opens the scenario of the address, if there is one. */
async function fromLink() {
  // Written by others as a form writes it, without compression.
  const form = new URLSearchParams(location.hash.slice(1));
  if (form.has("text") && location.hash !== ownHash) {
    at("example").value = "";
    open(form.get("name") ?? "plant.yaml", form.get("text"));
    return true;
  }
  if (!location.hash.startsWith("#s=") || location.hash === ownHash) return false;
  try {
    const octets = octetsOf(location.hash.slice(3).replace(/-/g, "+").replace(/_/g, "/"));
    const text = await through(octets, new DecompressionStream("deflate-raw"), MOST_LINK);
    const [name, content] = JSON.parse(await text.text());
    at("example").value = "";
    open(String(name), String(content));
    return true;
  } catch {
    say("the link is damaged");
    return false;
  }
}

// --- Start ------------------------------------------------------------------------------------

const examples = JSON.parse(at("examples").textContent);

async function begin() {
  const none = node("option", { value: "" }, "–");
  at("example").replaceChildren(none, ...examples.map(({ name, title }) => node("option", { value: name }, title)));
  // It starts while the program is decoded, and compiles it once for all that follow.
  hire();
  program = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data.program);
    worker.onerror = ({ message }) => reject(message);
    const [unpacker, packed] = ["unpacker", "program"].map((id) => octetsOf(at(id).textContent));
    worker.postMessage({ unpacker, packed }, [unpacker.buffer, packed.buffer]);
  });
  listen();
  if (!(await fromLink())) {
    const first = examples.find((own) => own.is_first) ?? examples[0];
    at("example").value = first.name;
    await open(first.name, first.text);
  }
}

begin().catch((error) => banner("bad", "Error", String(error)));
