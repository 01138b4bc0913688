"use strict";
// The flight once more, in this browser: a worker with the kernel as WebAssembly, sliders, plots of both flights.
const Again = (() => {
  const part = (name) => document.querySelector(`[data-again=${name}]`);
  const given = JSON.parse(document.getElementById("again-controls")?.textContent || "null");
  let vehicle = ""; // on a page of several: whose data are used
  const bytesOf = (id) => Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));

  // Runs in the worker, behind the text of kernel.js: takes the data once, then flies what it is asked for.
  function inWorker() {
    const unpacked = async (bytes) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
    let model = null, flight = null;
    self.onmessage = async ({ data: asked }) => {
      try {
        if (asked.module) {
          const { info, order } = JSON.parse(new TextDecoder().decode(await unpacked(asked.data)));
          [model, flight] = [await Model.from(await unpacked(asked.module), info), order];
          self.postMessage({ ready: true, order });
          return;
        }
        const { log, stop, judgements, sha256, seconds } = model.fly(flight, asked.changes, {
          progress: (share) => self.postMessage({ share }),
        });
        const signals = {};
        for (const path of log.paths) signals[path] = log.get(path);
        self.postMessage({ flown: { changes: asked.changes, time_s: log.time_s, signals, stop, judgements, sha256, seconds, text: orderText(flight, asked.changes) } });
      } catch (error) {
        self.postMessage({ problem: error instanceof KernelError ? error.message : `the module failed: ${error.message}` });
      }
    };
  }

  let worker = null, started = null, answer = null, busy = false, waiting = null, order = null, original = null, latest = null;

  // A worker that has the module; promises of what it answers.
  function start() {
    if (started) return started;
    const text = `${document.getElementById("again-kernel").textContent.replace(/^export /gm, "")}\n(${inWorker})();`;
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    worker = new Worker(address);
    worker.onmessage = ({ data: said }) => {
      if (said.share !== undefined) part("progress").value = said.share;
      else if (answer) { const [done, fail] = answer; answer = null; if (said.problem) fail(new Error(said.problem)); else done(said); }
    };
    worker.onerror = (event) => { if (answer) { const [, fail] = answer; answer = null; fail(new Error(event.message || "this browser runs no workers in a page from disk")); } };
    started = ask({ module: bytesOf(`again-module${vehicle}`), data: bytesOf(`again-data${vehicle}`) }).then((said) => { order = said.order; URL.revokeObjectURL(address); return said; });
    return started;
  }

  function ask(message) { return new Promise((done, fail) => { answer = [done, fail]; worker.postMessage(message); }); }

  function stop() {
    if (worker) worker.terminate();
    if (answer) answer[1](new Error("stopped"));
    worker = started = answer = null;
    waiting = null;
  }

  // One flight with some changes; while one is flown only the last that was asked for is kept.
  async function fly(changes) {
    if (busy) { waiting = changes; return; }
    busy = true;
    show();
    try {
      await start();
      if (!original) {
        original = (await ask({ changes: {} })).flown;
        told(original);
      }
      latest = Object.keys(changes).length ? (await ask({ changes })).flown : original;
      if (latest !== original) told(latest);
      report();
    } catch (error) {
      part("said").textContent = error.message === "stopped" ? "Stopped." : `This cannot be flown: ${error.message}.`;
      part("hash").textContent = "";
    }
    busy = false;
    show();
    if (waiting) { const next = waiting; waiting = null; await fly(next); }
  }

  // For others on this page (a scene): the poses of a flight that was flown here.
  function told(flown) {
    document.dispatchEvent(new CustomEvent("ironbird:flown", { detail: { original: flown === original, ...flown } }));
  }

  // ---------------------------------------------------------------- what is seen

  function end({ stop, time_s }) {
    const words = stop ? `${stop.reason} at ${stop.time_s.toFixed(2)} s` : `flown to the end at ${time_s[time_s.length - 1].toFixed(2)} s`;
    return words[0].toUpperCase() + words.slice(1);
  }

  function margin(judgement) {
    if (!judgement || judgement.margin === null) return "";
    const value = judgement.margin * judgement.factor;
    return Number.isFinite(value) ? `margin ${Plots.number(Number(value.toPrecision(3)))} ${judgement.unit}` : "";
  }

  function report() {
    const same = latest === original, equal = latest.sha256 === order.sha256, hash = part("hash");
    const speed = Math.round(latest.time_s[latest.time_s.length - 1] / latest.seconds);
    const flown = `${end(latest)}; computed in ${latest.seconds.toFixed(2)} s, ${speed} times real time.`;
    part("said").textContent = same
      ? (equal ? `Equal to ${order.label}, bit for bit. ${flown}` : `NOT equal to ${order.label}. ${flown}`)
      : flown + (equal ? ` The same bytes as ${order.label}.` : "");
    hash.className = same ? (equal ? "equal" : "unequal") : "";
    hash.textContent = (equal ? "✓ " : same ? "✗ " : "") + latest.sha256;
    const badge = { holds: "pass", broken: "fail", "not judged": "plain" };
    part("judged").replaceChildren(...latest.judgements.map((now, i) => {
      const row = document.createElement("tr"), name = document.createElement("td"), formula = document.createElement("code");
      formula.textContent = now.formula;
      name.append(now.name === now.formula ? "" : now.name, document.createElement("br"), formula);
      if (now.name === now.formula) name.replaceChildren(formula);
      row.append(name);
      for (const [label, judgement] of [[order.label, original.judgements[i]], ["now", now]]) {
        const cell = document.createElement("td"), mark = document.createElement("span");
        cell.dataset.label = label;
        mark.className = `badge ${badge[judgement.status]}`;
        mark.textContent = judgement.status;
        cell.append(mark, " ", margin(judgement));
        if (judgement.status === "broken" && judgement.time_s !== null) cell.append(` at ${judgement.time_s.toFixed(2)} s`);
        row.append(cell);
      }
      return row;
    }));
    const text = part("order");
    text.textContent = latest.text;
    text.hidden = false;
    draw();
  }

  function show() {
    part("stop").disabled = !busy;
    part("progress").hidden = !busy;
    part("fly").disabled = busy;
    part("shrink").disabled = busy;
    part("save").disabled = busy || !latest;
    part("reset").disabled = busy || !Object.keys(changes()).length;
  }

  // ---------------------------------------------------------------- plots

  let group = null, figures = [], plan = null;
  const column = (flown, name) => {
    const [, path, index] = /^(.*?)(?:\[(\d+)\])?$/.exec(name), values = flown.signals[path], size = values.length / flown.time_s.length;
    return Float32Array.from(flown.time_s, (_, row) => values[row * size + Number(index || 0)]);
  };
  const VALUES = {
    signal: (flown, { entries, factor }) => column(flown, entries[0]).map((v) => v * factor),
    norm: (flown, { entries }) => { const all = entries.map((s) => column(flown, s)); return all[0].map((_, i) => Math.hypot(...all.map((a) => a[i]))); },
    tilt: (flown, { entries }) => {
      const [roll, pitch] = entries.map((s) => column(flown, s));
      return roll.map((r, i) => Math.acos(Math.max(-1, Math.min(1, Math.cos(r) * Math.cos(pitch[i])))) * 180 / Math.PI);
    },
  };

  function curve(name, ink, dash, width, zorder) {
    const none = { bdata: "" };
    return { type: "scatter", mode: "lines", x: none, y: none, name, label: name, unit: "", line: { color: ink, width, dash }, zorder };
  }

  function card(panel) { // the place of a plot, with its title
    const made = document.createElement("div"), title = document.createElement("h3"), unit = document.createElement("small"), place = document.createElement("div");
    made.className = "card panel"; place.className = "plot"; place.dataset.title = panel.title;
    unit.textContent = panel.unit;
    title.append(panel.title, " ", unit);
    made.append(title, place);
    document.getElementById("again-plots").append(made);
    return place;
  }

  function plots() {
    for (const id of ["again-plots", "again-plan"]) document.getElementById(id).replaceChildren();
    group = new Plots.Group([0, 1]);
    const both = () => [curve(order.label, "var(--idle)", "solid", 1.6, -1), curve("now", "var(--c0)", "solid", 1.8, 1)];
    const layout = { height: 190, margin: { l: 62, r: 30, t: 20, b: 30 }, shapes: [] };
    order.panels.forEach((panel) => {
      const data = both().map((c) => ({ ...c, unit: panel.unit }));
      group.add(card(panel), { kind: "time", data, layout: { ...layout, xaxis: { ticksuffix: " s" }, yaxis: { zeroline: true } } });
    });
    const equal = { xaxis: { scaleanchor: "y", ticksuffix: " m" }, yaxis: {} };
    group.add(document.getElementById("again-plan"), { kind: "path", data: both(), layout: { ...layout, height: 300, ...equal } });
    figures = group.figures.slice(0, -1);
    plan = group.figures[group.figures.length - 1];
    for (const id of ["again-plots", "again-track"]) document.getElementById(id).hidden = false;
    group.watch();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => group.redraw());
  }

  function draw() {
    if (!group) plots();
    const flights = { [order.label]: original, now: latest };
    const fill = (figure, x, y) => {
      for (const trace of figure.curves) {
        trace.x = x(flights[trace.name]);
        trace.y = y(flights[trace.name]);
      }
    };
    const last = Math.max(...Object.values(flights).map(({ time_s }) => time_s[time_s.length - 1]));
    group.whole = group.view = [0, 1.01 * last];
    const times = (flown) => Float32Array.from(flown.time_s), faults = shades();
    figures.forEach((figure, i) => {
      fill(figure, times, (flown) => VALUES[order.panels[i].kind](flown, order.panels[i]));
      figure.layout.shapes = faults;
    });
    fill(plan, (flown) => column(flown, `${order.position}[1]`), (flown) => column(flown, `${order.position}[0]`));
    group.redraw();
  }

  function shades() { // faults that begin at a time that is known
    const changed = latest.changes.faults || {};
    const ordered = order.order.faults.map((fault, i) => ({ ...fault, ...changed[i] }));
    return [...ordered, ...(latest.changes.also || [])].flatMap((now) => {
      if (now.when) return [];
      const x1 = Math.min(now.end_s ?? Infinity, group.whole[1]);
      return [{ type: "rect", x0: now.start_s, x1, fillcolor: "var(--fault-span)" }];
    });
  }

  // ---------------------------------------------------------------- controls

  const inputs = []; // [name, input, value of the order]
  function changes() {
    const found = {};
    for (const [name, input, value] of inputs) {
      if (input.value === String(value)) continue;
      const [table, key, entry] = name.split("."), now = name === "seed" ? input.value : Number(input.value);
      if (table === "seed") found.seed = now;
      else if (table === "wind") (found.wind ??= {})[key] = now;
      else if (table === "also") continue;
      else ((found.faults ??= {})[key] ??= {})[entry] = now;
    }
    const fault = chosen();
    if (fault) found.also = [fault];
    return found;
  }

  function chosen() { // a fault of the list, on a page that has one
    const list = part("fault");
    if (!list || !list.value) return null;
    const known = given.vehicles[vehicle.slice(1)].faults[list.value], on = part("instance").value;
    const value = (name) => Number(inputs.find(([one]) => one === name)[1].value);
    return {
      id: list.value,
      ...(on ? { instance: /^\d+$/.test(on) ? Number(on) : on } : {}),
      ...(known.has_severity ? { severity: value("also.severity") } : {}),
      start_s: value("also.start_s"),
    };
  }

  function refused() { // why the values cannot be flown
    const seed = inputs.find(([name]) => name === "seed")[1].value;
    return /^\d{1,19}$/.test(seed) && BigInt(seed) < 2n ** 63n ? "" : "seed: give a whole number from 0 to 2^63 - 1";
  }

  function moved(live) {
    for (const [, input, value] of inputs) {
      const label = input.closest("label");
      label.classList.toggle("changed", input.value !== String(value));
      const shown = label.querySelector("output");
      if (shown) shown.textContent = input.dataset.words.replace("#", Plots.number(Number(input.value === String(value) ? input.dataset.own : input.value)));
    }
    const why = refused();
    if (why) part("said").textContent = `This cannot be flown: ${why}.`;
    else if (live) fly(changes());
    show();
  }

  function control(box, [name, title, words, value, low, high, step]) {
    const label = document.createElement("label"), input = document.createElement("input");
    label.append(title);
    if (name === "seed") Object.assign(input, { type: "number", min: 0, step: 1 });
    else {
      Object.assign(input, { type: "range", min: Math.min(low, value), max: Math.max(high, value), step });
      label.append(document.createElement("output"));
    }
    input.dataset.words = words;
    input.dataset.name = name;
    input.dataset.own = value;
    input.value = value;
    const own = input.value; // as the browser rounds it to a step: what stays there is the order's own value
    inputs.push([name, input, own]);
    label.append(input);
    input.addEventListener(name === "seed" ? "change" : "input", () => moved(true));
    box.append(label);
  }

  function controls(groups) {
    for (const { title, rows } of groups) {
      const box = document.createElement("fieldset"), name = document.createElement("legend");
      name.textContent = title;
      box.append(name);
      rows.forEach((row) => control(box, row));
      part("controls").append(box);
    }
    moved(false);
  }

  // The smallest severity of a fault that breaks a requirement: the interval is halved until it is one step wide.
  async function shrink(name) {
    const [, input] = inputs.find(([one]) => one === name), broken = () => latest.judgements.some((j) => j.status === "broken");
    const at = async (severity) => { input.value = severity; moved(false); await fly(changes()); return broken(); };
    const boxes = part("controls").querySelectorAll("fieldset");
    for (const box of boxes) box.disabled = true;
    try {
      await narrow(at);
    } finally {
      for (const box of boxes) box.disabled = false;
    }
  }

  async function narrow(at) {
    const SHARES = 200; // of a severity of 1: the step of the slider
    let low = 0, high = SHARES;
    if (!(await at(1))) { part("said").textContent = `Nothing that is judged here breaks at any severity. ${part("said").textContent}`; return; }
    if (await at(0)) { part("said").textContent = `A requirement is broken without the fault. ${part("said").textContent}`; return; }
    while (high - low > 1 && started) {
      const middle = (low + high) >> 1;
      if (await at(middle / SHARES)) high = middle; else low = middle;
    }
    if (!started) return; // it was stopped
    await at(high / SHARES);
    part("said").textContent = `Breaks at severity ${high / SHARES}, holds at ${low / SHARES}. ${part("said").textContent}`;
  }

  function save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([latest.text], { type: "application/toml" }));
    link.download = "order.toml";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // ---------------------------------------------------------------- several vehicles

  function options(list, pairs, none) {
    list.replaceChildren(...(none ? [new Option(none, "")] : []), ...pairs.map(([value, words]) => new Option(words, value)));
  }

  function use(name) { // another vehicle
    const own = given.vehicles[name];
    stop();
    [vehicle, original, latest, group, order] = [`-${name}`, null, null, null, null];
    inputs.length = 0;
    part("vehicle").value = name;
    part("controls").replaceChildren();
    const titles = Object.entries(own.faults).map(([id, { summary }]) => [id, `${id.split("@")[0]}: ${summary}`]);
    options(part("fault"), titles, "none");
    controls(own.groups);
    parts();
  }

  function parts() { // of the vehicle that can have the fault
    const known = given.vehicles[vehicle.slice(1)].faults[part("fault").value];
    options(part("instance"), known ? known.parts.map((one) => [one, one || "-"]) : [], "");
    part("instance").closest("label").hidden = !known || known.parts.length < 2;
    const severity = inputs.find(([name]) => name === "also.severity")[1].closest("label");
    severity.hidden = !known?.has_severity;
    part("words").textContent = known ? `Severity: ${known.severity}.` : "";
    part("shrink").hidden = !known?.has_severity;
    moved(false);
  }

  function link() { // what is flown, behind the # of the address
    const values = Object.fromEntries(inputs.filter(([, input, value]) => input.value !== String(value)).map(([name, input]) => [name, input.value]));
    return `#${encodeURIComponent(JSON.stringify({ vehicle: vehicle.slice(1), fault: part("fault").value, instance: part("instance").value, ...values }))}`;
  }

  function opened() { // an order in the address; only numbers and names of this page are taken from it
    if (location.hash.length < 2) return;
    try {
      if (location.hash.length > 2000) throw new Error("it is too long");
      const asked = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      if (!Object.hasOwn(given.vehicles, asked.vehicle)) throw new Error(`there is no vehicle '${String(asked.vehicle).slice(0, 40)}' on this page`);
      use(asked.vehicle);
      if (asked.fault && !Object.hasOwn(given.vehicles[asked.vehicle].faults, asked.fault)) throw new Error(`${asked.vehicle} cannot have the fault '${String(asked.fault).slice(0, 40)}'`);
      part("fault").value = asked.fault || "";
      parts();
      part("instance").value = asked.instance || part("instance").value;
      for (const [name, input] of inputs) if (Object.hasOwn(asked, name)) input.value = String(asked[name]);
      moved(true);
    } catch (error) {
      part("said").textContent = `The address of this page holds no order: ${error.message}.`;
    }
  }

  const view = document.getElementById("again-view");
  if (view) {
    if (given.vehicles) {
      options(part("vehicle"), Object.entries(given.vehicles).map(([name, { title }]) => [name, title]));
      part("vehicle").addEventListener("change", () => { use(part("vehicle").value); fly({}); });
      part("fault").addEventListener("change", () => { parts(); moved(true); });
      part("instance").addEventListener("change", () => moved(true));
      document.addEventListener("ironbird:flown", () => history.replaceState(null, "", link()));
      use(given.first);
      opened();
    } else controls(given.groups);
    part("fly").addEventListener("click", () => {
      const now = changes();
      if (!Object.keys(now).length) original = null; // computed again
      if (!refused()) fly(now);
    });
    part("stop").addEventListener("click", stop);
    part("reset").addEventListener("click", () => { for (const [, input, value] of inputs) input.value = value; moved(true); });
    part("save").addEventListener("click", save);
    if (!given.vehicles) part("shrink").hidden = !given.shrinks;
    part("shrink").addEventListener("click", () => shrink(given.vehicles ? "also.severity" : given.shrinks));
  }
  return { fly, get latest() { return latest; }, get original() { return original; }, get busy() { return busy; } };
})();
