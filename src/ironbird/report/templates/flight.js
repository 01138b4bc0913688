"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const range = JSON.parse(document.getElementById("figures").dataset.range);
  const config = { responsive: true, displaylogo: false, displayModeBar: "hover", modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d", "sendDataToCloud", "tableRotation", "resetCameraLastSave3d"] };

  // Colours are named in the figures; the style sheet gives their values for the light and the dark theme.
  function filled(value, style) {
    if (typeof value === "string") {
      const name = value.startsWith("var(") && value.slice(4, -1);
      return name ? style.getPropertyValue(name).trim() : value;
    }
    if (Array.isArray(value)) return value.map((inner) => filled(inner, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner, style)]));
    }
    return value;
  }

  const drawn = [];
  async function draw() {
    const style = getComputedStyle(document.documentElement);
    for (const [id, figure] of Object.entries(figures)) {
      const place = document.getElementById(id);
      if (!place) continue;
      const { data, layout } = filled({ data: figure.data, layout: { ...figure.layout, uirevision: 1 } }, style);
      try {
        Plotly.react(place, data, layout, config);
      } catch (error) {
        place.textContent = "This plot cannot be drawn here: " + error.message;
        continue;
      }
      if (figure.kind === "time" && !drawn.includes(place)) {
        drawn.push(place);
        link(place);
      }
      await new Promise((done) => setTimeout(done)); // the page can be read while the rest is drawn
    }
  }

  // One time axis for all: a zoom or a pointer in one plot acts in the others.
  let busy = false;
  function link(place) {
    place.on("plotly_relayout", (change) => {
      if (busy) return;
      let wanted = null;
      if (change["xaxis.range[0]"] !== undefined) wanted = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      else if (change["xaxis.range"]) wanted = change["xaxis.range"];
      else if (change["xaxis.autorange"]) wanted = range;
      if (!wanted) return;
      busy = true;
      const targets = wanted === range ? drawn : drawn.filter((other) => other !== place);
      Promise.all(targets.map((other) => Plotly.relayout(other, { "xaxis.range": [...wanted] }))).finally(() => { busy = false; });
    });
    const cursor = document.createElement("div");
    cursor.className = "cursor";
    place.appendChild(cursor);
    place.on("plotly_hover", (event) => {
      const bar = event.points.length && event.points[0].data.type === "bar"; // its x is a length, not a time
      point(bar ? event.xvals[0] : event.points.length ? event.points[0].x : null, place);
    });
    place.on("plotly_unhover", () => point(null, place));
  }

  // A thin line in all other plots at the time under the pointer.
  function point(time, source) {
    for (const place of drawn) {
      const cursor = place.querySelector(".cursor");
      const [low, high] = place.layout.xaxis.range;
      const { l, r, t, b } = place.layout.margin;
      const share = (time - low) / (high - low);
      cursor.hidden = time === null || place === source || !(share >= 0 && share <= 1);
      cursor.style.left = l + share * (place.clientWidth - l - r) + "px";
      cursor.style.top = t + "px";
      cursor.style.height = place.clientHeight - t - b + "px";
    }
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
