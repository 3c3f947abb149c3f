// The search. What it reads is loaded when it is used first, as a script: a page from a disk may not
// read files.
"use strict";

const find = document.getElementById("find");
const found = document.getElementById("found");
const { up } = document.body.dataset;
/** Most results that are shown, and the characters around the first word. */
const MOST = 20;
const AROUND = 70;

let loading;
function load() {
  loading ??= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = `${up}search.js`;
    script.addEventListener("load", resolve);
    document.head.append(script);
  });
  return loading;
}

/** Returns how well a section answers, 0 if not: each word has to be there. */
function score([, title, heading, text], words) {
  const [top, head, body] = [title, heading, text].map((own) => own.toLowerCase());
  let sum = 0;
  for (const word of words) {
    const one = (top.includes(word) ? 4 : 0) + (head.includes(word) ? 8 : 0);
    const count = body.split(word).length - 1;
    if (one + count === 0) return 0;
    sum += one + Math.min(count, 3);
  }
  // Words beside each other are what was meant.
  if (words.length > 1 && `${top} ${head} ${body}`.includes(words.join(" "))) sum += 10;
  return sum;
}

function marked(text, words) {
  const low = text.toLowerCase();
  const pieces = [];
  let at = 0;
  while (at < text.length) {
    const hits = words.map((word) => [low.indexOf(word, at), word]).filter(([place]) => place >= 0);
    if (hits.length === 0) break;
    const [place, word] = hits.reduce((a, b) => (b[0] < a[0] ? b : a));
    const mark = document.createElement("mark");
    mark.textContent = text.slice(place, place + word.length);
    pieces.push(text.slice(at, place), mark);
    at = place + word.length;
  }
  return [...pieces, text.slice(at)];
}

function shown([place, title, heading, text], words, index) {
  const item = document.createElement("li");
  item.role = "option";
  item.id = `found-${index}`;
  const link = document.createElement("a");
  link.href = up + place;
  link.tabIndex = -1;
  const name = document.createElement("strong");
  name.textContent = heading === "" || heading === title ? title : `${title} › ${heading}`;
  const low = text.toLowerCase();
  const together = low.indexOf(words.join(" "));
  const places = words.map((word) => low.indexOf(word)).filter((own) => own >= 0);
  const first = together >= 0 ? together : Math.min(...places, text.length);
  const from = Math.max(0, first - AROUND);
  const around = document.createElement("span");
  around.append(from > 0 ? "…" : "", ...marked(text.slice(from, first + 2 * AROUND), words), "…");
  link.append(name, around);
  item.append(link);
  return item;
}

function choose(index) {
  const items = [...found.querySelectorAll("[role=option]")];
  items.forEach((item, own) => item.setAttribute("aria-selected", String(own === index)));
  items[index]?.scrollIntoView({ block: "nearest" });
  if (items[index]) find.setAttribute("aria-activedescendant", items[index].id);
  else find.removeAttribute("aria-activedescendant");
}

const chosen = () => [...found.children].findIndex((item) => item.ariaSelected === "true");

function close() {
  found.hidden = true;
  find.setAttribute("aria-expanded", "false");
}

async function search() {
  await load();
  const words = find.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) {
    close();
    return;
  }
  const scored = globalThis.sections.map((section) => [score(section, words), section]);
  const best = scored.filter(([own]) => own > 0).sort(([a], [b]) => b - a).slice(0, MOST);
  const none = document.createElement("li");
  none.className = "none";
  none.textContent = "nothing has these words";
  found.replaceChildren(...(best.length > 0 ? best.map(([, own], index) => shown(own, words, index)) : [none]));
  found.hidden = false;
  find.setAttribute("aria-expanded", "true");
  choose(0);
}

find.form.hidden = false;
find.addEventListener("focus", load);
find.addEventListener("input", search);
find.form.addEventListener("submit", (event) => event.preventDefault());
find.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") close();
  else if (event.key === "Enter") found.querySelector("[aria-selected=true] a")?.click();
  else if (step && !found.hidden) {
    event.preventDefault();
    choose(Math.max(0, Math.min(found.children.length - 1, chosen() + step)));
  }
});
// A result on the same page is a jump.
found.addEventListener("click", close);
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  find.focus();
  find.select();
});
document.addEventListener("click", ({ target }) => find.form.contains(target) || close());
