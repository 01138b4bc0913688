// What moves on the pages: flights, view, instruments, map, faults, plots, replay. Layout and forms come from Python.
import { act, connect, on, send } from "./link.js";
import { drawHorizon, figures } from "./instruments.js";
import { GroundMap } from "./map.js";
import { Plot } from "./plots.js";
import { startReplay } from "./replay.js";
import { View, keepDrawing } from "./scene.js";

const KEY = "ironbird.selected";
const place = (id) => document.getElementById(id);
const shapes = new Map(); // vehicle -> its shape, or a promise of it
const before = new Map(); // id -> figures of the frame before
let view = null, map = null, plots = [], poses = [], editing = false, frozen = false;

const app = (window.ironbird = {
  selected: sessionStorage.getItem(KEY),
  flights: [],
  vehicle: "quad_f450", // of the form
  place: "", // its world
  items: [], // the mission that is drawn on the map
  get world() { return view && view.data ? view.worldKey : ""; }, // that is drawn
  act: perform, prepare, select, camera, zoom, edit, addItem, showItems, loadPlan, savePlan, uploadMission,
  plot: setPlots, freeze, sticks: toggleSticks, keyboard: toggleKeyboard, replay: (id, url, vehicle, scenery) => startReplay(id, url, vehicle, shapeOf, scenery),
});

// ---------------------------------------------------------------- actions

const WITHOUT_FLIGHT = new Set(["start", "read_plan", "write_plan", "check_mission"]);

async function perform(name, args = {}) {
  const whole = WITHOUT_FLIGHT.has(name) ? args : { flight: app.selected || "", ...args };
  const answer = await act(name, whole);
  if (!answer.ok) say(answer.error, true);
  else if (answer.result && answer.result.flight) select(answer.result.flight);
  else if (name === "end" && answer.result) say(`${answer.result.verdict}: ${answer.result.sentence || answer.result.failure}`);
  return answer;
}

// Words for the pilot; a page that is not mounted yet shows them a little later.
function say(words, bad = false, tries = 50) {
  const line = place("ib-message");
  if (!line) {
    if (tries > 0) setTimeout(() => say(words, bad, tries - 1), 100);
    return;
  }
  line.textContent = words;
  line.className = bad ? "ib-message ib-bad" : "ib-message";
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { line.textContent = ""; line.className = "ib-message"; }, 8000);
}

// An event for the server; a page that is not mounted yet receives it a little later.
function tell(what, value, tries = 50) {
  try {
    window.emitEvent(what, value);
  } catch {
    if (tries > 0) setTimeout(() => tell(what, value, tries - 1), 100);
  }
}

function select(name) {
  if (app.selected !== name) before.clear();
  app.selected = name;
  sessionStorage.setItem(KEY, name);
  tell("flight", name);
  for (const plot of plots) plot.clear();
  askForPlots();
}

// ---------------------------------------------------------------- what flies

on("status", (status) => {
  app.flights = status.flights;
  const names = status.flights.map((flight) => flight.name);
  if (names.length && !names.includes(app.selected)) select(names[names.length - 1]);
  showFlights(status.flights);
  const flight = selectedFlight();
  showState(flight);
  showFaults(flight);
  showCard(flight);
  if (view) {
    view.followed = flight ? flight.id : null;
    for (const one of status.flights) view.broken(one.id, new Set(one.faults.filter((f) => f.active).map((f) => f.part)));
    view.keep(new Set(flight ? seenWith(flight).map((one) => one.id) : ["ready"]));
    if (flight) {
      view.showMission(flight.items || [], flight.target);
      view.showHit(flight);
      view.showWorld(flight.world || "", `/scenery/${encodeURIComponent(flight.name)}`);
    } else prepare();
  }
  if (map && flight) {
    map.flown = flight.items || [];
    map.target = flight.state === "running" || flight.state === "paused" ? flight.target : null;
  }
});

// Flights that stand in the scene beside one: in its world, and not over.
const seenWith = (flight) => app.flights.filter((one) => one === flight || (!one.verdict && (one.world || "") === (flight.world || "")));

let prepared = ""; // what stands in the view before a flight

async function prepare() { // the chosen vehicle in the chosen world
  const wanted = `${app.vehicle} in ${app.place}`;
  if (!view || prepared === wanted || selectedFlight()) return;
  prepared = wanted;
  const shape = await shapeOf(app.vehicle);
  if (prepared !== wanted || !shape.parts) return;
  await view.showWorld(app.place, `/world/${encodeURIComponent(app.place)}`);
  view.surroundings(shape.drawing);
  view.showMission([], null);
  view.stand(shape);
}

const selectedFlight = () => app.flights.find((flight) => flight.name === app.selected);

function element(kind, name, words) {
  const found = document.createElement(kind);
  if (name) found.className = name;
  if (words !== undefined) found.textContent = words; // never as HTML: names come from outside
  return found;
}

function showFlights(flights) {
  const row = place("ib-flights");
  if (!row) return;
  const text = JSON.stringify(flights.map((f) => [f.name, f.state, Math.floor(f.time_s), f.verdict])) + app.selected;
  if (row.dataset.shown === text) return;
  row.dataset.shown = text;
  row.replaceChildren();
  for (const flight of flights) {
    const chip = element("button", `ib-chip ib-${flight.state}${flight.name === app.selected ? " ib-chosen" : ""}`);
    chip.append(element("b", "", flight.name), ` ${flight.state} ${flight.time_s.toFixed(0)} s ${flight.verdict || ""}`);
    chip.onclick = () => select(flight.name);
    row.append(chip);
    if (flight.verdict) {
      const link = element("a", "ib-report", "report");
      link.href = `/report/${encodeURIComponent(flight.name)}/flight.html`;
      link.target = "_blank";
      const gone = element("button", "ib-close", "×");
      gone.title = `close ${flight.name}; its folder stays`;
      gone.setAttribute("aria-label", gone.title);
      gone.onclick = () => act("close", { flight: flight.name });
      row.append(link, gone);
    }
  }
  if (!flights.length) row.append(element("span", "ib-hint", "nothing flies yet: press Start"));
}

function showState(flight) {
  const box = place("ib-state");
  if (!box) return;
  const rows = !flight ? [] : [
    ["mode", flight.mode || flight.control], ["armed", flight.armed ? "yes" : "no"],
    ["battery", flight.battery === null || flight.battery === undefined ? "–" : `${(100 * flight.battery).toFixed(0)} %  ${(flight.voltage || 0).toFixed(1)} V`],
    ["failsafes", (flight.failsafes || []).join(", ") || "none"],
    ["time", `${flight.time_s.toFixed(1)} s ${flight.speed ? `× ${flight.speed}` : "as fast as it goes"}`],
    ["wind", flight.wind],
  ];
  if (flight && flight.failure) rows.push(["failed", flight.failure]);
  if (flight && flight.sentence) rows.push([flight.verdict, flight.sentence]);
  if (flight && flight.wishes.length) rows.push(["waits", `to ${flight.wishes.join(", ")}`]);
  if (flight && flight.said) rows.push(["says", flight.said]);
  for (const one of ((flight && flight.orders) || []).slice(-4)) rows.push([one.state, `${one.order}${one.why ? `: ${one.why}` : ""}`]);
  for (const line of (flight && flight.listens) || []) rows.push(["listens", line]);
  box.replaceChildren(...rows.map(([name, value]) => {
    const row = element("div", `ib-row${name === "failed" || name === "refused" || (name === "failsafes" && value !== "none") ? " ib-bad" : ""}`);
    row.append(element("span", "ib-name", name), element("span", "ib-value", value));
    return row;
  }));
}

// What came out, over the view, until it is closed.
const closed = new Set();

function showCard(flight) {
  const box = place("ib-card");
  if (!box) return;
  const shown = flight && flight.verdict && !closed.has(flight.name) ? `${flight.name} ${flight.verdict}` : "";
  if (box.dataset.shown === shown) return;
  box.dataset.shown = shown;
  box.replaceChildren();
  if (!shown) return;
  const row = element("div", "ib-buttons"), page = element("a", "ib-small", "replay and report"), fault = flight.faults[0];
  page.href = `/report/${encodeURIComponent(flight.name)}/flight.html`;
  page.target = "_blank";
  const button = (words, work) => { const made = element("button", "ib-small", words); made.onclick = work; row.append(made); };
  row.append(page);
  if (fault && fault.start_s > 1) button("branch before the fault", () => perform("branch", { at_s: fault.start_s - 1 }));
  button("again", () => perform("reset"));
  button("close", () => { closed.add(flight.name); showCard(flight); });
  box.append(element("b", `ib-verdict ib-${flight.verdict}`, flight.verdict), element("div", "", flight.sentence));
  if (flight.worst) box.append(element("div", "ib-hint", `smallest margin: ${flight.worst}`));
  box.append(row);
}

function showFaults(flight) {
  const box = place("ib-faults");
  if (!box) return;
  box.replaceChildren(...((flight && flight.faults) || []).map((fault) => {
    const row = element("div", `ib-fault${fault.active ? " ib-active" : ""}`);
    row.append(element("b", "", `${fault.number + 1}. ${fault.text}`), element("div", fault.acts ? "ib-acts" : "", fault.witness));
    if (fault.active) {
      const button = element("button", "ib-small", "clear");
      button.onclick = () => perform("clear", { number: fault.number });
      row.append(button);
    }
    return row;
  }));
  if (!box.children.length) box.append(element("span", "ib-hint", "no fault was injected into this flight"));
}

// ---------------------------------------------------------------- view, instruments, map

async function shapeOf(vehicle) {
  if (!shapes.has(vehicle)) {
    const coming = fetch(`/shape/${encodeURIComponent(vehicle)}`).then((answer) => answer.json());
    shapes.set(vehicle, coming);
    shapes.set(vehicle, await coming);
  }
  return shapes.get(vehicle);
}

on("poses", (found) => {
  poses = found;
  if (map) map.move(found);
});

function draw() { // the newest, as often as the browser can
  if (map) { if (!editing) centreMap(); map.draw(currentId()); }
  const chosen = selectedFlight(), seen = new Set(chosen ? seenWith(chosen) : []);
  for (const pose of poses) {
    const flight = app.flights.find((one) => one.id === pose.id);
    if (flight && flight.name === app.selected) showInstruments(pose);
    const shape = flight && shapes.get(flight.vehicle);
    if (flight && !shape) shapeOf(flight.vehicle);
    else if (view && shape && !shape.then && seen.has(flight)) {
      if (flight.name === app.selected) view.surroundings(shape.drawing);
      view.move(pose.id, shape, pose);
    }
  }
  for (const plot of plots) if (plot.fresh) plot.draw();
}

const currentId = () => (selectedFlight() || {}).id;

function centreMap() {
  const pose = poses.find((one) => one.id === currentId());
  if (!pose || !map) return;
  const { clientWidth: w, clientHeight: h } = map.canvas, [x, y] = map.pixels(pose.p[0], pose.p[1]);
  if (x < 20 || y < 20 || x > w - 20 || y > h - 20) map.centre = [pose.p[0], pose.p[1]];
}

function showInstruments(pose) {
  const horizon = place("ib-horizon"), box = place("ib-figures");
  if (!horizon || !box) return;
  drawHorizon(horizon, pose.R);
  const last = before.get(pose.id);
  if (!last || pose.time - last.time >= 0.2 || pose.time < last.time) {
    const found = last && pose.time > last.time ? figures(pose, last) : { height: -pose.p[2], speed: 0, climb: 0, yaw: 0, wind: 0 };
    before.set(pose.id, { time: pose.time, p: Array.from(pose.p), ...found });
    box.textContent = `${found.height.toFixed(1)} m   ${found.speed.toFixed(1)} m/s   ${found.climb >= 0 ? "+" : ""}${found.climb.toFixed(1)} m/s   ${found.yaw.toFixed(0)}°`;
  }
}

function camera(mode) { if (view) view.scene.setCamera(mode); }
function zoom(factor) { if (map) { map.scale = Math.max(0.05, Math.min(80, map.scale * factor)); map.draw(currentId()); } }

function clicked([north, east]) {
  if (editing) addItem({ kind: "waypoint", north_m: round(north), east_m: round(east), height_m: editHeight(), hold_s: 0, yaw_deg: 0 });
  else if (app.selected) perform("goto", { north_m: north, east_m: east });
}

const round = (value) => Math.round(value * 10) / 10;
const editHeight = () => (app.items.length ? app.items[app.items.length - 1].height_m || 5 : 5);

// ---------------------------------------------------------------- mission

function edit(on_) { editing = on_; if (map) map.canvas.style.cursor = on_ ? "copy" : "crosshair"; }

function addItem(item) { app.items.push(item); showItems(); }

function showItems(items) {
  if (items) app.items = items;
  if (map) map.items = app.items.map((item) => [item.north_m, item.east_m, item.height_m]);
  const box = place("ib-items");
  if (!box) return;
  box.replaceChildren(...app.items.map((item, i) => {
    const row = element("div", "ib-item"), gone = element("button", "ib-small", "×");
    row.append(element("b", "", `${i + 1} ${item.kind}`));
    for (const [key, label] of [["north_m", "N"], ["east_m", "E"], ["height_m", "h"], ["hold_s", "hold"]]) {
      const field = element("input");
      Object.assign(field, { type: "number", step: "any", value: item[key], title: key });
      field.onchange = () => { item[key] = Number(field.value) || 0; showItems(); };
      const wrap = element("label", "", label);
      wrap.append(field);
      row.append(wrap);
    }
    gone.onclick = () => { app.items.splice(i, 1); showItems(); };
    row.append(gone);
    return row;
  }));
}

async function loadPlan(text, vehicle) {
  const answer = await perform("read_plan", { text, vehicle });
  if (answer.ok) showItems(answer.result);
}

async function savePlan(vehicle) {
  const answer = await perform("write_plan", { items: app.items, vehicle });
  if (!answer.ok) return;
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([answer.result], { type: "application/json" }));
  link.download = "mission.plan";
  link.click();
  URL.revokeObjectURL(link.href);
}

async function uploadMission() {
  const answer = await perform("set_mission", { items: app.items });
  if (answer.ok) await perform("mission");
}

// ---------------------------------------------------------------- plots

function setPlots(wanted) { // [{title, unit, series: [{path, entry, label}]}]
  const box = place("ib-plots");
  if (!box) return;
  box.replaceChildren();
  plots = wanted.map((one) => {
    const canvas = element("canvas", "ib-plot");
    box.append(canvas);
    return new Plot(canvas, one.title, one.series, one.unit);
  });
  askForPlots();
}

function askForPlots() {
  const series = plots.flatMap((plot) => plot.series.map((one) => [app.selected || "", one.path, one.entry]));
  if (plots.length) send({ plots: series, span_s: 30 });
}

on("plots", ({ id, time, values }) => {
  if (frozen || id !== currentId()) return;
  let at = 0;
  for (const plot of plots) plot.series.forEach((_, i) => plot.take(i, time, values[at++]));
});

function freeze(on_) { frozen = on_; }

// ---------------------------------------------------------------- sticks of a gamepad

let stickTimer = null;

function toggleSticks(on_) {
  clearInterval(stickTimer);
  if (!on_) return;
  let begun = false;
  stickTimer = setInterval(async () => {
    const pad = [...navigator.getGamepads()].find(Boolean);
    if (!pad) return say("no gamepad is seen: press a button on it");
    const [yaw, throttle, roll, pitch] = pad.axes;
    await act("sticks", { flight: app.selected || "", roll, pitch: -pitch, throttle: -throttle, yaw });
    if (!begun) { begun = true; perform("mode", { mode: "position" }); }
  }, 50);
}

// ---------------------------------------------------------------- keyboard

const KEYS = { // key: axis and way, or what it does
  w: ["throttle", 1, "up"], s: ["throttle", -1, "down"], a: ["yaw", -1, "turn left"], d: ["yaw", 1, "turn right"],
  ArrowUp: ["pitch", 1, "forward"], ArrowDown: ["pitch", -1, "back"], ArrowLeft: ["roll", -1, "left"], ArrowRight: ["roll", 1, "right"],
};
const SIGNS = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };
const KEY_STEP = 0.12; // of a stick in 50 ms: a key is no step of a stick
const held = new Set(), stick = { roll: 0, pitch: 0, throttle: 0, yaw: 0 };
let keyTimer = null, keyed = false;

const typing = (event) => /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";

function pressed(event) {
  if (!keyTimer || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key, down = event.type === "keydown";
  if (key === "t" && down && !event.repeat) takeOff();
  else if (key === "l" && down && !event.repeat) { keyed = false; perform("land"); }
  else if (KEYS[key]) { if (down) held.add(key); else held.delete(key); }
  else return;
  event.preventDefault();
  showKeys();
}

async function takeOff() {
  await act("arm", { flight: app.selected || "" });
  await perform("take_off", { height_m: 5 });
}

async function toggleKeyboard(on_) {
  clearInterval(keyTimer);
  keyTimer = null;
  held.clear();
  keyed = false;
  if (on_) {
    keyTimer = setInterval(moveSticks, 50);
    const flight = selectedFlight();
    if (!flight || flight.verdict) {
      const begun = await perform("start", { vehicle: app.vehicle, world: app.place, go: false });
      if (begun.ok) say("t takes off, l lands");
    }
  }
  showKeys();
}

async function moveSticks() {
  const want = { roll: 0, pitch: 0, throttle: 0, yaw: 0 };
  for (const key of held) want[KEYS[key][0]] += KEYS[key][1];
  for (const axis of Object.keys(stick)) stick[axis] += Math.max(-KEY_STEP, Math.min(KEY_STEP, want[axis] - stick[axis]));
  if (!keyed && !held.size) return;
  await act("sticks", { flight: app.selected || "", ...stick });
  if (!keyed) { keyed = true; perform("mode", { mode: "position" }); }
}

function showKeys() {
  const box = place("ib-keys");
  if (!box) return;
  const cap = (key, sign, words) => { const made = element("kbd", held.has(key) ? "ib-held" : "", sign); made.title = words; return made; };
  box.replaceChildren(...(keyTimer ? [["w", "s", "a", "d"], ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]].map((group) => {
    const pad = element("div", "ib-pad");
    pad.append(...group.map((key) => cap(key, SIGNS[key] || key.toUpperCase(), KEYS[key][2])));
    return pad;
  }) : []));
  if (!keyTimer) return;
  const more = element("div", "ib-more");
  more.append(cap("t", "T", "take off"), element("span", "", "take off"), cap("l", "L", "land"), element("span", "", "land"));
  box.append(more);
}

for (const name of ["keydown", "keyup"]) document.addEventListener(name, pressed);
window.addEventListener("blur", () => { held.clear(); showKeys(); });

// ---------------------------------------------------------------- begin

on("up", () => { place("ib-banner")?.classList.remove("ib-lost"); askForPlots(); });
on("down", (why) => {
  const banner = place("ib-banner");
  if (!banner) return;
  banner.classList.add("ib-lost");
  if (why) banner.textContent = `the server met something unexpected (${why}): trying again`;
});

function furnish() { // elements come when the page's own scripts have made them
  const canvas = place("ib-map"), space = place("ib-3d");
  if (canvas && !map) {
    map = new GroundMap(canvas, clicked);
    map.draw(null);
    showItems();
  }
  if (space && !view) {
    try {
      view = new View(space);
      prepared = "";
      view.onworld = (data) => { if (map) map.world = data; };
      prepare();
    } catch (error) { // no WebGL: the rest of the page works
      space.textContent = `no 3D view in this browser: ${error.message}`;
      space.id = "ib-3d-none";
    }
  }
  const file = place("ib-plan");
  if (file && !file.onchange) file.onchange = async () => loadPlan(await file.files[0].text(), app.vehicle);
}

setInterval(furnish, 300);
furnish();
connect();
keepDrawing(draw);
