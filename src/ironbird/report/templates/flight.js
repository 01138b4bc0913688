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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { group.redraw(); if (replay) replay.draw(); });
})();
