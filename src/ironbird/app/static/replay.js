// A log played back in the 3D view: all frames are here, the slider chooses one.
import { FLOATS, unpack } from "./link.js";
import { drawHorizon } from "./instruments.js";
import { View } from "./scene.js";

let view = null;
let timer = null;

export async function startReplay(id, url, vehicle, shapeOf, scenery) {
  const space = document.getElementById(id), slider = document.getElementById("ib-slider"), said = document.getElementById("ib-replayed");
  const answer = await fetch(url);
  if (!answer.ok) { said.textContent = (await answer.json()).error || "cannot be read"; return; }
  const numbers = new Float32Array(await answer.arrayBuffer()), rows = Math.floor(numbers.length / FLOATS);
  if (!rows) { said.textContent = "the log has no row"; return; }
  if (!view) {
    view = new View(space);
    view.followed = 1;
  }
  view.keep(new Set());
  view.showWorld(scenery || "", scenery);
  const shape = await shapeOf(vehicle), horizon = document.getElementById("ib-horizon");
  const time = (row) => numbers[row * FLOATS];
  let shown = -1;
  const show = (row) => {
    if (row < shown) view.keep(new Set());
    for (let at = Math.max(0, shown + 1); at < row; at += 5) view.move(1, shape, unpack(numbers, at * FLOATS)); // the path between
    const pose = unpack(numbers, row * FLOATS);
    view.move(1, shape, pose);
    if (horizon) drawHorizon(horizon, pose.R);
    shown = row;
    said.textContent = `${(time(row) - time(0)).toFixed(2)} s of ${(time(rows - 1) - time(0)).toFixed(1)} s   ${(-pose.p[2]).toFixed(1)} m high`;
  };
  Object.assign(slider, { min: 0, max: rows - 1, value: 0 });
  slider.oninput = () => show(Number(slider.value));
  show(0);
  clearInterval(timer);
  window.ironbird.play = (speed) => {
    clearInterval(timer);
    if (!speed) return;
    let begin = performance.now(), from = time(Number(slider.value));
    timer = setInterval(() => {
      const now = from + speed * (performance.now() - begin) / 1000;
      let row = Number(slider.value);
      while (row < rows - 1 && time(row + 1) <= now) row++;
      slider.value = row;
      show(row);
      if (row === rows - 1) clearInterval(timer);
    }, 33);
  };
}
