// Plays a flight again in the 3D scene (scene.js): buttons, keys, scrub bar. The data is of ironbird/report/flight/replay.py.
const Replay = (() => {
  "use strict";
  const { unpack } = Plots;
  const FAST = [0.25, 0.5, 1, 2, 4, 8, 16];
  const CAMERAS = { chase: "Chase", orbit: "Orbit", board: "On board", ground: "Ground", top: "Top", whole: "Whole flight" };
  const NEAR_END_S = 5; // "play the last five seconds"

  const down = (packed) => { const points = unpack(packed); for (let i = 2; i < points.length; i += 3) points[i] = -points[i]; return points; };
  const track = (data) => ({
    time: unpack(data.time_s), place: down(data.place), attitude: data.attitude && unpack(data.attitude), joints: data.joints && unpack(data.joints),
    wind: data.wind && unpack(data.wind), thrust: data.thrust && unpack(data.thrust),
  });

  class View {
    constructor(place, data) {
      this.place = place; this.data = data; this.names = data.modes;
      const flown = this.flown = track(data.frames);
      this.time = flown.time;
      this.end = this.time[this.time.length - 1];
      this.modes = data.frames.mode ? unpack(data.frames.mode) : null;
      this.speed = 1; this.now = this.time[0]; this.playing = false;
      this.onmove = () => {};
      const find = (name) => place.querySelector(`[data-part=${name}]`);
      [this.stage, this.button, this.slider, this.clock, this.pace, this.words, this.bands, this.cameras, this.key, this.last, this.arrows] =
        ["stage", "play", "slider", "clock", "pace", "words", "bands", "cameras", "key", "last", "arrows"].map(find);
      this.slider.min = this.time[0]; this.slider.max = this.end; this.slider.step = "any"; this.slider.value = this.now;
      this.button.addEventListener("click", () => this.play(!this.playing));
      this.slider.addEventListener("input", () => { this.play(false); this.go(Number(this.slider.value)); });
      this.pace.addEventListener("change", () => { this.speed = Number(this.pace.value); });
      this.last.addEventListener("click", () => { this.go(this.end - NEAR_END_S); this.play(true); });
      for (const speed of FAST) this.pace.append(new Option(`${speed}×`, speed, speed === 1, speed === 1));
      place.addEventListener("keydown", (event) => this.pressed(event));
      this.drawBands();
      try { this.start(); } catch (error) {
        this.scene = null;
        this.stage.textContent = `The flight cannot be drawn in space: ${error.message}. The track from above shows where it went.`;
      }
      this.go(data.crashed ? this.end : this.now);
    }

    start() {
      const { data } = this, scene = this.scene = new Scene.View(this.stage);
      if (data.world) scene.setWorld(data.world);
      scene.add("flight", { shape: data.shape });
      scene.home = Array.from(this.flown.place.subarray(0, 3));
      for (const [name, other] of Object.entries(data.others)) {
        scene.add(name, { shape: data.shape, role: name });
        const one = track(other);
        scene.setTrack(name, one);
        scene.setPath(name, { points: one.place, ink: name, dash: name === "twin" ? [1.2, 0.55] : [0.5, 0.4], width: 1.4, alpha: 0.9 });
      }
      scene.setTrack("flight", this.flown);
      scene.setPath("future", { points: this.flown.place, ink: "future", width: 1.2, alpha: 0.55 });
      scene.setPath("flight", { points: this.flown.place, times: this.flown.time, until: true, ink: "flight", width: 2.6 });
      if (data.frames.set_point) this.asked = down(data.frames.set_point);
      if (this.asked) scene.setPath("set-point", { points: this.asked, ink: "set-point", width: 1.3, dash: [0.8, 0.35], alpha: 0.85 });
      if (this.flown.thrust) { let most = 1e-3; for (const v of this.flown.thrust) if (Math.abs(v) > most) most = Math.abs(v); scene.thrustScale = most; }
      data.waypoints.forEach((p, k) => scene.setMark(`waypoint ${k}`, { at: [p[0], p[1], -p[2]], ink: "muted", text: data.numbers[k], size: 4 }));
      data.marks.forEach((mark) => {
        if (mark.place.some((v) => v === null)) return;
        const bad = mark.ink === "var(--bad)";
        scene.setMark(mark.name, { at: [mark.place[0], mark.place[1], -mark.place[2]], ink: bad ? "bad" : mark.symbol === "diamond" ? "fault" : "good", size: 3.5, filled: true, text: mark.symbol === "circle" ? "" : mark.name });
      });
      for (const [mode, title] of Object.entries(CAMERAS)) {
        const button = document.createElement("button");
        button.type = "button"; button.textContent = title; button.dataset.camera = mode; button.title = "next camera: c";
        button.addEventListener("click", () => this.look(mode));
        this.cameras.append(button);
      }
      this.arrows.addEventListener("change", () => { scene.options.arrows = this.arrows.checked; scene.ask(); });
      if (!this.flown.thrust && !this.flown.wind) this.arrows.closest("label").hidden = true;
      this.legend();
      this.look(data.crashed ? "orbit" : "chase");
      if (!data.crashed) return;
      const last = Array.from(this.flown.place.slice(-3)), thing = data.hit && [...data.world.things, ...data.world.movers.map((m) => m.shape)].find((t) => t.name === data.hit.name);
      const r = scene.bodies.get("flight").radius;
      if (!thing) { scene.nearer(0.6); return; }
      const wide = thing.size ? Math.min(Math.max(...thing.size), 25) : 5; // both are seen, from the free side
      scene.setLook(Math.atan2(last[1] - thing.p[1], last[0] - thing.p[0]) + 0.8, 0.22, Math.max(2.1 * wide, 6 * r));
    }

    look(mode) {
      this.scene.setCamera(mode);
      for (const button of this.cameras.children) button.setAttribute("aria-pressed", String(button.dataset.camera === mode));
    }

    legend() {
      const { data } = this, rows = [["flight", "what flew", "solid"]];
      if (this.asked) rows.push(["set-point", "set-point", "dashed"]);
      if (data.others.twin) rows.push(["twin", "healthy twin", "dashed"]);
      if (data.others.estimate) rows.push(["estimate", "estimate of the autopilot", "dotted"]);
      if (data.broken.length || data.hit || data.crashed) rows.push(["bad", data.hit ? "broken, or hit" : "broken part", "solid"]);
      for (const [ink, text, line] of rows) {
        const row = document.createElement("li"), sign = document.createElement("i");
        sign.style.borderTop = `3px ${line} ${this.scene.ink(ink)}`;
        row.append(sign, text);
        this.key.append(row);
      }
    }

    drawBands() { // what happened when: modes, faults, and marks that the keys [ and ] step through
      const share = (t) => `${100 * Math.min(1, Math.max(0, (t - this.time[0]) / Math.max(this.end - this.time[0], 1e-6)))}%`;
      for (const row of this.data.bands) {
        const band = document.createElement("div");
        band.className = "band";
        for (const [start, end, text, ink] of row.spans) {
          const span = document.createElement("span"), wide = (end - start) / Math.max(this.end - this.time[0], 1e-6);
          span.style.left = share(start); span.style.width = `calc(${100 * Math.min(wide, 1)}% - 1px)`; span.style.setProperty("--ink", ink);
          span.title = `${row.name}: ${text}, ${start.toFixed(2)} to ${end.toFixed(2)} s`;
          span.textContent = text;
          band.append(span);
        }
        this.bands.append(band);
      }
      const marks = document.createElement("div");
      marks.className = "band marks";
      for (const event of this.data.events) {
        const mark = document.createElement("button");
        mark.type = "button"; mark.className = event.kind; mark.style.left = share(event.time_s);
        mark.title = `${event.time_s.toFixed(2)} s: ${event.text}`; mark.setAttribute("aria-label", mark.title); mark.tabIndex = -1;
        mark.addEventListener("click", () => { this.play(false); this.go(event.time_s); });
        marks.append(mark);
      }
      this.bands.append(marks);
    }

    pressed(event) {
      if (event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "SELECT") return;
      const step = event.shiftKey ? 1 : 0.1, key = event.key;
      if (key === " ") { if (event.target.tagName === "BUTTON") return; this.play(!this.playing); }
      else if (key === "ArrowLeft" || key === "ArrowRight") { this.play(false); this.go(this.now + (key === "ArrowLeft" ? -step : step)); }
      else if (key === "Home" || key === "End") { this.play(false); this.go(key === "Home" ? this.time[0] : this.end); }
      else if (key === "[" || key === "]") this.jump(key === "]" ? 1 : -1);
      else if (!this.scene) return;
      else if (key === "+" || key === "=" || key === "-") this.scene.nearer(key === "-" ? 1 / 1.2 : 1.2);
      else if (key === "ArrowUp" || key === "ArrowDown") this.scene.turned(0, key === "ArrowUp" ? 0.08 : -0.08);
      else if (key === "c") { const all = Object.keys(CAMERAS); this.look(all[(all.indexOf(this.scene.mode) + 1) % all.length]); }
      else return;
      event.preventDefault();
    }

    jump(way) { // to the next thing that happened
      this.play(false);
      const all = this.data.events.map((e) => e.time_s), found = way > 0 ? all.find((t) => t > this.now + 1e-3) : all.reverse().find((t) => t < this.now - 1e-3);
      if (found !== undefined) this.go(found);
    }

    play(on) {
      if (on === this.playing) return;
      this.playing = on;
      this.button.textContent = on ? "❚❚ pause" : "▶ play";
      if (!on) return;
      if (this.now >= this.end) this.now = this.time[0];
      let before = performance.now();
      const step = (clock) => {
        if (!this.playing) return;
        const now = Math.min(this.now + Math.max(clock - before, 0) / 1000 * this.speed, this.end);
        before = clock;
        this.go(now);
        if (now >= this.end) this.play(false); else requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    }

    go(time) {
      this.now = Math.min(Math.max(time, this.time[0]), this.end);
      this.slider.value = this.now;
      this.draw();
      this.said();
      this.onmove(this.now);
    }

    draw() {
      const { scene, data, now } = this;
      if (!scene) return;
      const broken = new Set();
      for (const fault of data.broken) if (fault.spans.some(([start, end]) => now >= start && now <= end + 0.03)) fault.places.forEach((place) => broken.add(place));
      scene.setBroken("flight", broken);
      scene.setHit(data.hit && now >= data.hit.time_s - 0.02 ? data.hit.name : "");
      scene.seek(now);
      if (this.asked) {
        const i = scene.bodies.get("flight").pose.row, at = Array.from(this.asked.subarray(3 * i, 3 * i + 3));
        scene.setMark("set-point", { at, ink: "set-point", shape: "cross", size: 6, text: "" });
      }
    }

    said() {
      const all = this.time;
      let low = 0, high = all.length - 1;
      while (low < high) { const middle = (low + high + 1) >> 1; if (all[middle] <= this.now) low = middle; else high = middle - 1; }
      const j = Math.max(low - 1, 0), k = Math.min(j + 1, all.length - 1), dt = all[k] - all[j], p = this.flown.place;
      const speed = dt > 0 ? Math.hypot(...[0, 1, 2].map((a) => p[3 * k + a] - p[3 * j + a])) / dt : 0;
      this.clock.textContent = `${this.now.toFixed(2)} s`;
      const mode = this.modes ? this.names[Math.round(this.modes[low])] || "" : "";
      this.words.textContent = `height ${(-p[3 * low + 2]).toFixed(1)} m, speed ${speed.toFixed(1)} m/s${mode ? `, ${mode}` : ""}`;
      this.place.dataset.frame = low;
    }
  }

  return { View };
})();
