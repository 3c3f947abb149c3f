// The drawing of the plant: marks the path of a stream, and lists the streams over a link or node.

function mark(parts) {
  all(document, ".topology g[id]").forEach((part) => part.classList.toggle("on", parts.includes(part.id)));
}

const path = document.getElementById("path");
if (path) {
  path.addEventListener("change", () => mark(path.value.split(" ")));
}

const over = document.getElementById("over");
if (over) {
  const list = document.getElementById("over-streams");
  const said = document.getElementById("over-said");
  const ways = () => JSON.parse(document.getElementById("ways").textContent);

  // An option has the links whose streams it stands for, and the part of the drawing.
  function showStreams() {
    const option = over.selectedOptions[0];
    const links = new Set(option.value.split(" ").filter(Boolean).map(Number));
    const { ways: paths, streams } = ways();
    const isOver = paths.map((way) => way.some((link) => links.has(link)));
    const found = Array.from(streams.keys()).filter((stream) => isOver[streams[stream]]);
    mark([option.dataset.part]);
    list.hidden = option.value === "";
    said.textContent = list.hidden ? "" : `${number(found.length)} streams over ${option.textContent}`;
    tables.get(list)(found);
  }

  over.addEventListener("change", showStreams);
  document.querySelector(".topology").addEventListener("click", (event) => {
    const part = event.target.closest("g[id]");
    const option = part && all(over, "option").find((one) => one.dataset.part === part.id);
    if (!option) { return; }
    option.selected = true;
    showStreams();
    list.scrollIntoView({ block: "nearest" });
  });
}

all(document, "#path, #over").forEach((choice) => { choice.closest(".tools").hidden = false; });
