"use strict";
// Filter and sort of the table of flights, and buttons that copy a command. The page can be read without it.
(() => {
  const table = document.getElementById("all");
  if (table) {
    const body = table.tBodies[0], text = document.getElementById("find"), MOST = 2000; // rows that are drawn at once
    const verdicts = [...document.querySelectorAll("[data-verdict-box]")], which = document.getElementById("which");
    const said = document.getElementById("count");
    const cell = (row, i) => row.cells[i].dataset.value ?? row.cells[i].textContent.trim();
    let flights = [...body.rows].map((row) => ({ row, verdict: row.dataset.verdict, which: row.dataset.case, cells: [0, 1, 2, 3, 4].map((i) => cell(row, i)), own: row.textContent.toLowerCase() }));
    for (const [verdict, case_, id, number, margin, values, reason, expected] of JSON.parse(document.getElementById("rest")?.textContent || "[]")) // what is not drawn yet
      flights.push({ row: null, verdict, which: case_, margin, expected, cells: [verdict, id, number, values, reason], own: `${verdict}${expected ? " expected" : ""} ${id} ${margin} ${values} ${reason}`.toLowerCase() });

    const rowOf = (flight) => {
      if (flight.row) return flight.row;
      const row = flight.row = document.createElement("tr"), made = flight.cells.map((value, i) => { const td = row.insertCell(); td.textContent = i === 2 ? flight.margin : value; return td; });
      const badge = document.createElement("span"), code = document.createElement("code");
      badge.className = `badge ${flight.verdict}`; badge.textContent = flight.verdict; made[0].replaceChildren(badge);
      if (flight.expected) { const said = document.createElement("span"); said.className = "badge plain"; said.textContent = "expected"; made[0].append(" ", said); }
      code.textContent = flight.cells[1]; made[1].replaceChildren(code);
      made[2].className = "num"; made[2].dataset.value = flight.cells[2]; made[2].dataset.label = "margin"; made[3].dataset.label = "varied";
      return row;
    };
    const filter = () => {
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = new Set(verdicts.filter((box) => box.checked).map((box) => box.dataset.verdictBox));
      const shown = flights.filter((flight) => wanted.has(flight.verdict) && (!which.value || flight.which === which.value) && words.every((word) => flight.own.includes(word)));
      body.replaceChildren(...shown.slice(0, MOST).map(rowOf));
      said.textContent = `${shown.length} of ${flights.length} flights` + (shown.length > MOST ? `, the first ${MOST} are listed` : "");
    };
    for (const input of [text, which, ...verdicts]) input.addEventListener("input", filter);
    document.getElementById("filter").hidden = false;
    document.getElementById("unlisted")?.remove();
    filter();

    table.querySelectorAll("th[data-sort]").forEach((head) => {
      const column = head.cellIndex, numbers = head.dataset.sort === "number", button = head.querySelector("button");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const order = new Intl.Collator(undefined, { numeric: true }).compare;
        flights = flights.sort((a, b) => { const p = a.cells[column], q = b.cells[column]; return (numbers ? Number(p) - Number(q) : order(p, q)) * (down ? -1 : 1); });
        filter();
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
