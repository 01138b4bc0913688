"use strict";
// Filter and sort of the table of flights, and buttons that copy a command. The page can be read without it.
(() => {
  const table = document.getElementById("all");
  if (table) {
    const body = table.tBodies[0], rows = [...body.rows], text = document.getElementById("find");
    const verdicts = [...document.querySelectorAll("[data-verdict-box]")], which = document.getElementById("which");
    const said = document.getElementById("count");

    const filter = () => {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = new Set(verdicts.filter((box) => box.checked).map((box) => box.dataset.verdictBox));
      let count = 0;
      for (const row of rows) {
        const own = row.textContent.toLowerCase();
        const shown = wanted.has(row.dataset.verdict) && (!which.value || row.dataset.case === which.value) && words.every((word) => own.includes(word));
        row.hidden = !shown;
        count += shown;
      }
      said.textContent = `${count} of ${rows.length} flights`;
    };
    for (const input of [text, which, ...verdicts]) input.addEventListener("input", filter);
    document.getElementById("filter").hidden = false;
    filter();

    table.querySelectorAll("th[data-sort]").forEach((head) => {
      const column = head.cellIndex, numbers = head.dataset.sort === "number", button = head.querySelector("button");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => { const value = row.cells[column].dataset.value ?? row.cells[column].textContent.trim(); return numbers ? Number(value) : value; };
        rows.sort((a, b) => { const p = key(a), q = key(b); return (numbers ? p - q : p.localeCompare(q, undefined, { numeric: true })) * (down ? -1 : 1); });
        body.append(...rows);
      });
    });
  }

  // A link to a folded flight opens it
  const unfold = () => { const place = document.getElementById(location.hash.slice(1)); if (place && place.tagName === "DETAILS") place.open = true; };
  window.addEventListener("hashchange", unfold);
  unfold();

  document.querySelectorAll("pre[data-copy]").forEach((place) => {
    const button = document.createElement("button");
    button.type = "button"; button.textContent = "copy"; button.className = "copy";
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(place.firstChild.textContent); button.textContent = "copied"; }
      catch { getSelection().selectAllChildren(place); button.textContent = "marked: Ctrl-C"; }
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    place.append(button);
  });
})();
