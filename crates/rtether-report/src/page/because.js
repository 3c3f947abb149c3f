// Why a stream takes so long: below its row, the timelines of its slowest packet and of its bound.

const because = document.getElementById("because");
if (because) {
  const { texts, streams, command } = JSON.parse(because.textContent);
  const isOpen = (row) => row.nextElementSibling !== null && row.nextElementSibling.className === "because";

  function lane(kind, begin, width) {
    const bar = make("i", kind === null ? "k-own" : `k-${kind}`);
    bar.style.marginLeft = `${begin / 10}%`;
    bar.style.width = `${width / 10}%`;
    const cell = make("td", "lane");
    cell.append(bar);
    return cell;
  }

  // A part has no kind; what other packets take of it has one.
  function line([kind, name, begin, width, time]) {
    const row = make("tr", kind === null ? "" : "wait");
    const title = make("th", "", texts[name]);
    title.scope = "row";
    row.append(title, make("td", "n", texts[time]), lane(kind, begin, width));
    return row;
  }

  function timeline([title, ...lines]) {
    const figure = make("figure", "chart");
    const table = make("table");
    const body = make("tbody");
    table.setAttribute("aria-label", texts[title]);
    body.append(...lines.map(line));
    table.append(body);
    figure.append(make("figcaption", "", texts[title]), table);
    return figure;
  }

  function panel(name, columns) {
    const [packet, bound] = streams[name] || [null, null];
    const box = make("div", "grid wide");
    box.append(...[packet, bound].filter(Boolean).map(timeline));
    const more = make("p", "note");
    more.append("All of it: ", make("code", "", `${command} '${name}'`), ", and with ",
      make("code", "", "--bound"), " for the bound.");
    const cell = make("td");
    cell.colSpan = columns;
    const inner = make("div", "panel");
    inner.append(box, more);
    cell.append(inner);
    const row = make("tr", "because");
    row.append(cell);
    return row;
  }

  function toggle(row) {
    if (isOpen(row)) {
      row.nextElementSibling.remove();
    } else {
      row.after(panel(row.because.name, row.cells.length));
    }
  }

  function dress(row) {
    const title = row.querySelector(":scope > th.name");
    if (title === null) { return; }
    if (row.because === undefined) {
      const name = title.firstChild.textContent;
      const button = make("button", "open");
      button.type = "button";
      button.setAttribute("aria-label", `Why ${name}`);
      button.addEventListener("click", () => toggle(row));
      title.firstChild.after(button);
      row.because = { name, button };
    }
    row.because.button.setAttribute("aria-expanded", isOpen(row));
  }

  all(document, "table.data").forEach((table) => {
    const [body] = table.tBodies;
    if (table.tHead.rows[0].cells[1].textContent !== "stream") { return; }
    const dressAll = () => Array.from(body.rows).forEach(dress);
    new MutationObserver(dressAll).observe(body, { childList: true });
    dressAll();
    body.addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      const isText = String(getSelection()) !== "" || event.target.closest("button, a, code");
      if (row.because && !isText) { toggle(row); }
    });
  });
  document.getElementById("because-note").hidden = false;
}
