
(function () {
  "use strict";
  function all(root, selector) {
    return Array.prototype.slice.call(root.querySelectorAll(selector));
  }
  function key(row, column) {
    var cell = row.cells[column];
    var value = cell.getAttribute("data-v");
    return value === null ? cell.textContent.trim().toLowerCase() : value === "" ? null : parseFloat(value);
  }
  function compare(a, b) {
    if (a === b) { return 0; }
    if (a === null) { return 1; }
    if (b === null) { return -1; }
    if (typeof a === "number") { return a - b; }
    return a.localeCompare(b, "en", { numeric: true });
  }
  function sort(table, title, column) {
    var down = title.getAttribute("aria-sort") === "ascending";
    all(table, "th").forEach(function (other) { other.removeAttribute("aria-sort"); });
    title.setAttribute("aria-sort", down ? "descending" : "ascending");
    var body = table.tBodies[0];
    var keyed = all(body, "tr").map(function (row) { return [key(row, column), row]; });
    keyed.sort(function (a, b) {
      if (a[0] === null || b[0] === null) { return compare(a[0], b[0]); }
      return down ? compare(b[0], a[0]) : compare(a[0], b[0]);
    });
    keyed.forEach(function (pair) { body.appendChild(pair[1]); });
  }
  all(document, "table.data").forEach(function (table) {
    all(table, "th").forEach(function (title, column) {
      title.className += " sortable";
      title.tabIndex = 0;
      title.addEventListener("click", function () { sort(table, title, column); });
      title.addEventListener("keydown", function (event) {
        if (event.key === "Enter") { sort(table, title, column); }
      });
    });
  });
  all(document, ".filtered").forEach(function (box) {
    var tools = box.querySelector(".tools");
    var field = tools.querySelector("input[type=search]");
    var only = tools.querySelector("input[type=checkbox]");
    function apply() {
      var text = field.value.toLowerCase();
      all(box, "tbody tr").forEach(function (row) {
        var found = row.textContent.toLowerCase().includes(text);
        var wanted = only.checked ? row.classList.contains("failed") : true;
        row.hidden = found ? !wanted : true;
      });
    }
    tools.hidden = false;
    field.addEventListener("input", apply);
    only.addEventListener("change", apply);
  });
  var choice = document.getElementById("path");
  if (choice !== null) {
    choice.parentNode.parentNode.hidden = false;
    choice.addEventListener("change", function () {
      var wanted = choice.value.split(" ");
      all(document, ".topology g[id]").forEach(function (part) {
        part.classList.toggle("on", wanted.indexOf(part.id) !== -1);
      });
    });
  }
})();
