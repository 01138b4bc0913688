"use strict";
(() => {
  const source = document.getElementById("figures");
  const figures = JSON.parse(source.textContent), group = new Plots.Group(JSON.parse(source.dataset.range));
  for (const [id, figure] of Object.entries(figures)) {
    const place = document.getElementById(id);
    if (place && figure.kind !== "replay") group.add(place, figure);
  }
  group.watch();
  let replay = null;
  if (figures.replay) {
    replay = new Replay.View(document.getElementById("replay"), figures.replay);
    replay.onmove = (time) => group.point(time); // the same moment in all plots
    group.onseek = (time) => { replay.play(false); replay.go(time); };
  }
  document.addEventListener("click", (event) => { // a time in a table or list: the same moment in replay and plots
    const link = event.target.closest("[data-time]"), time = link && Number(link.dataset.time);
    if (!link || !Number.isFinite(time)) return;
    if (replay) { replay.play(false); replay.go(time); } else group.point(time);
    const wide = (group.whole[1] - group.whole[0]) / 20;
    if (time < group.view[0] || time > group.view[1]) group.zoom([time - wide, time + wide]);
    document.getElementById(replay ? "replay" : "timeline")?.scrollIntoView({ block: "nearest" });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { group.redraw(); if (replay) replay.draw(); });
})();
