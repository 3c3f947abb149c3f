// Tables: filter, sort, and all rows in place of the first ones.

const tables = new Map();

function number(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
}

function ownRows(box) {
  const script = box.querySelector(":scope > script");
  return script ? heldRows(script)() : all(box, "tbody > tr:not(.because)").map(writtenRow);
}

function partRows(box, numbers) {
  return heldRows(document.getElementById(box.dataset.of))(numbers);
}

function startTable(box) {
  const body = box.querySelector("tbody");
  const titles = all(box, "thead th");
  const more = box.querySelector(".more");
  const first = more ? Number(more.dataset.first) : Infinity;
  const view = { text: "", failures: false, column: -1, down: false, isWhole: false };
  let rows = null;

  function load() {
    if (rows === null) {
      const { of, rows: list } = box.dataset;
      rows = of ? partRows(box, list.split(" ").filter(Boolean).map(Number)) : ownRows(box);
    }
    return rows;
  }

  function isWanted(row) {
    if (view.failures && !row.failed) { return false; }
    row.text = row.text || row.cells.map((cell) => cell.text).join(" ").toLowerCase();
    return row.text.includes(view.text);
  }

  function draw() {
    const found = load().filter(isWanted);
    const wanted = view.column < 0 ? found : sorted(found, view.column, view.down);
    const shown = view.isWhole ? wanted : wanted.slice(0, first);
    const fresh = document.createDocumentFragment();
    fresh.append(...shown.map((row) => row.node()));
    body.replaceChildren(fresh);
    if (more) { say(shown.length, wanted.length); }
  }

  function say(shown, found) {
    const matching = found < rows.length ? ` that match, ${number(rows.length)} in all` : "";
    more.querySelector("span").textContent = `${number(shown)} of ${number(found)} rows${matching}`;
    label(found);
  }

  function label(found) {
    const button = more.querySelector("button");
    button.textContent = view.isWhole ? `Show the first ${first}` : `Show all ${number(found)}`;
    button.setAttribute("aria-expanded", view.isWhole);
    button.hidden = found <= first;
  }

  function sortBy(title, column) {
    view.down = title.getAttribute("aria-sort") === "ascending";
    view.column = column;
    titles.forEach((other) => other.removeAttribute("aria-sort"));
    title.setAttribute("aria-sort", view.down ? "descending" : "ascending");
    draw();
  }

  // A button is reached and pressed by keyboard, and a screen reader says what it is.
  titles.forEach((title, column) => {
    const button = make("button", "sort", title.textContent);
    button.type = "button";
    button.addEventListener("click", () => sortBy(title, column));
    title.replaceChildren(button);
  });

  const tools = box.querySelector(".tools");
  if (tools) {
    tools.hidden = false;
    tools.addEventListener("input", (event) => {
      const field = event.target;
      if (field.type === "checkbox") {
        view.failures = field.checked;
      } else {
        view.text = field.value.toLowerCase();
      }
      draw();
    });
  }

  if (more) {
    label(Number(more.dataset.count));
    more.querySelector("button").addEventListener("click", () => {
      view.isWhole = !view.isWhole;
      draw();
    });
  }

  // Shows these rows of the data in place of its own.
  return function choose(numbers) {
    rows = partRows(box, numbers);
    view.isWhole = false;
    draw();
  };
}

all(document, ".rows").forEach((box) => tables.set(box, startTable(box)));
