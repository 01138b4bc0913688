// The flight again in space: path, set-point, vehicle with its attitude; drag to turn, wheel to come nearer. No library.
const Replay = (() => {
  const { Labels, ink, number, unpack } = Plots;
  const FAST = [0.25, 0.5, 1, 2, 4, 8, 16];

  class View {
    constructor(place, data) {
      Object.assign(this, data, { place, names: data.modes });
      this.time = unpack(data.frames.time_s);
      for (const name of ["place", "attitude", "set_point", "mode"]) this[name + "s"] = data.frames[name] ? unpack(data.frames[name]) : null;
      this.twins = data.lines.map((line) => ({ ...line, points: unpack(line.points) }));
      this.angle = [-0.6, 0.42]; this.near = 1; this.speed = 1; this.now = this.time[0]; this.playing = false; this.follow = false;
      this.onmove = () => {};
      const find = (name) => place.querySelector(`[data-part=${name}]`);
      [this.canvas, this.button, this.slider, this.clock, this.pace, this.tied, this.words] =
        ["canvas", "play", "slider", "clock", "pace", "follow", "words"].map(find);
      this.slider.min = this.time[0]; this.slider.max = this.time[this.time.length - 1]; this.slider.step = "any"; this.slider.value = this.now;
      this.button.addEventListener("click", () => this.play(!this.playing));
      this.slider.addEventListener("input", () => { this.play(false); this.go(Number(this.slider.value)); });
      this.pace.addEventListener("change", () => { this.speed = Number(this.pace.value); });
      this.tied.addEventListener("change", () => { this.follow = this.tied.checked; this.near = this.follow ? Math.max(this.near, 3) : 1; this.draw(); });
      this.turning();
      for (const speed of FAST) this.pace.append(new Option(`${speed}×`, speed, speed === 1, speed === 1));
      new ResizeObserver(() => this.draw()).observe(this.canvas);
      this.draw();
    }

    turning() {
      let last = null;
      this.canvas.addEventListener("pointerdown", (event) => { last = [event.clientX, event.clientY]; this.canvas.setPointerCapture(event.pointerId); });
      this.canvas.addEventListener("pointermove", (event) => {
        if (!last) return;
        this.angle[0] -= (event.clientX - last[0]) * 0.008;
        this.angle[1] = Math.min(1.5, Math.max(0.02, this.angle[1] + (event.clientY - last[1]) * 0.006));
        last = [event.clientX, event.clientY];
        this.draw();
      });
      for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => { last = null; });
      this.canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.shiftKey && document.activeElement !== this.canvas) return; // the page scrolls
        event.preventDefault();
        this.near = Math.min(40, Math.max(0.3, this.near * Math.exp(-event.deltaY * 0.001)));
        this.draw();
      }, { passive: false });
      this.canvas.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] }[event.key];
        if (event.key === " ") this.play(!this.playing);
        else if (event.key === "+" || event.key === "-") this.near *= event.key === "+" ? 1.2 : 1 / 1.2;
        else if (step) { this.angle[0] += step[0]; this.angle[1] = Math.min(1.5, Math.max(0.02, this.angle[1] + step[1])); }
        else return;
        event.preventDefault();
        this.draw();
      });
    }

    play(on) {
      this.playing = on;
      this.button.textContent = on ? "❚❚ pause" : "▶ play";
      if (!on) return;
      if (this.now >= this.time[this.time.length - 1]) this.now = this.time[0];
      let before = performance.now();
      const step = (clock) => {
        if (!this.playing) return;
        const now = Math.min(this.now + (clock - before) / 1000 * this.speed, this.time[this.time.length - 1]);
        before = clock;
        this.go(now);
        if (now >= this.time[this.time.length - 1]) this.play(false); else requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    }

    go(time) {
      this.now = Math.min(Math.max(time, this.time[0]), this.time[this.time.length - 1]);
      this.slider.value = this.now;
      this.draw();
      this.onmove(this.now);
    }

    frame() { // the last one not after now
      let low = 0, high = this.time.length - 1;
      while (low < high) { const middle = (low + high + 1) >> 1; if (this.time[middle] <= this.now) low = middle; else high = middle - 1; }
      return low;
    }

    between(values, size, i) { // between two frames
      const j = Math.min(i + 1, this.time.length - 1), gap = this.time[j] - this.time[i];
      const share = gap > 0 ? (this.now - this.time[i]) / gap : 0, found = [];
      let sign = 1;
      if (size === 4) { let dot = 0; for (let k = 0; k < 4; k++) dot += values[4 * i + k] * values[4 * j + k]; sign = dot < 0 ? -1 : 1; }
      for (let k = 0; k < size; k++) found.push(values[size * i + k] * (1 - share) + sign * values[size * j + k] * share);
      if (size === 4) { const n = Math.hypot(...found) || 1; return found.map((v) => v / n); }
      return found;
    }

    // North, east, height to the screen: a camera far away that looks at the middle
    project(p) {
      const [turn, lift] = this.angle, [n, e, h] = [0, 1, 2].map((k) => p[k] - this.centre[k]);
      const x = e * Math.cos(turn) - n * Math.sin(turn), away = n * Math.cos(turn) + e * Math.sin(turn);
      const y = h * Math.cos(lift) + away * Math.sin(lift), deep = this.far + away * Math.cos(lift) - h * Math.sin(lift);
      const scale = this.focal / Math.max(deep, 0.05 * this.far);
      return [this.width / 2 + x * scale, this.height / 2 - y * scale, scale];
    }

    draw() {
      const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
      this.width = canvas.clientWidth; this.height = canvas.clientHeight;
      if (!this.width) return;
      canvas.width = Math.round(this.width * ratio); canvas.height = Math.round(this.height * ratio);
      const c = this.c = canvas.getContext("2d");
      c.scale(ratio, ratio);
      c.font = `11px ${getComputedStyle(document.body).fontFamily}`;
      c.lineJoin = "round";
      const i = this.frame(), here = this.between(this.places, 3, i);
      this.centre = this.follow && here.every(Number.isFinite) ? here : this.ranges.map(([low, high]) => (low + high) / 2);
      const wide = Math.max(...this.ranges.map(([low, high]) => high - low));
      this.far = 2.2 * wide; this.focal = 0.62 * Math.min(this.width, 1.3 * this.height) * 2.2 * this.near;
      const labels = this.labels = new Labels(c, { l: 0, r: this.width, t: 0, b: this.height });
      this.ground(wide);
      this.way(this.places, ink("var(--grid-strong)"), 1.5, this.time.length, 0); // shadow on the ground
      for (const twin of this.twins) this.way(twin.points, ink(twin.ink), 1.2, twin.points.length / 3, 1, [6, 4]);
      this.way(this.places, ink("var(--grid-strong)"), 1.4, this.time.length, 1);
      this.way(this.places, ink("var(--c0)"), 2.4, i + 1, 1, [], here);
      c.lineWidth = 1.4;
      this.waypoints.forEach((p, k) => {
        const [x, y] = this.project(p);
        c.strokeStyle = ink("var(--muted)"); c.beginPath(); c.arc(x, y, 4, 0, 7); c.stroke();
        labels.mark(x, y, 5); labels.text(this.numbers[k], x, y, "var(--muted)");
      });
      for (const mark of this.marks) if (mark.place.every((v) => v !== null)) {
        const [x, y] = this.project(mark.place);
        c.fillStyle = ink(mark.ink); c.beginPath(); c.arc(x, y, 3.4, 0, 7); c.fill();
        labels.mark(x, y, 4);
        if (mark.symbol === "diamond" || mark.symbol === "x") labels.text(mark.name, x, y, mark.ink);
      }
      canvas.dataset.labels = JSON.stringify(labels.write(7));
      if (this.set_points) {
        const [x, y] = this.project(this.between(this.set_points, 3, i));
        c.strokeStyle = ink("var(--c1)"); c.lineWidth = 1.6;
        c.beginPath(); c.moveTo(x - 7, y); c.lineTo(x + 7, y); c.moveTo(x, y - 7); c.lineTo(x, y + 7); c.stroke();
      }
      if (here.every(Number.isFinite)) this.vehicle(here, this.attitudes ? this.between(this.attitudes, 4, i) : [1, 0, 0, 0], wide);
      this.said(i, here);
      this.place.dataset.frame = i;
    }

    ground(wide) {
      const c = this.c, step = [1, 2, 5].map((m) => m * 10 ** Math.floor(Math.log10(wide / 5))).find((s) => wide / s <= 9) || 10 ** Math.ceil(Math.log10(wide / 5));
      const [ns, es] = this.ranges.slice(0, 2).map(([low, high]) => [Math.floor(low / step) * step, Math.ceil(high / step) * step]);
      c.strokeStyle = ink("var(--grid)"); c.lineWidth = 1; c.fillStyle = ink("var(--muted)");
      for (let n = ns[0]; n <= ns[1] + 1e-9; n += step) this.segment([n, es[0], 0], [n, es[1], 0]);
      for (let e = es[0]; e <= es[1] + 1e-9; e += step) this.segment([ns[0], e, 0], [ns[1], e, 0]);
      const [nx, ny] = this.project([ns[1], (es[0] + es[1]) / 2, 0]), [ex, ey] = this.project([(ns[0] + ns[1]) / 2, es[1], 0]);
      c.fillText("north", nx - 14, ny - 6); c.fillText("east", ex + 6, ey);
      this.labels.taken.push([nx - 14, ny - 17, nx + 16, ny - 4], [ex + 6, ey - 11, ex + 30, ey + 3]);
      c.fillText(`lines every ${number(step)} m`, 8, this.height - 8);
    }

    segment(a, b) {
      const [x0, y0] = this.project(a), [x1, y1] = this.project(b), c = this.c;
      c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke();
    }

    way(points, colour, width, count, lift, dash = [], last = null) {
      const c = this.c;
      c.strokeStyle = colour; c.lineWidth = width; c.setLineDash(dash); c.beginPath();
      let pen = false;
      const seen = [];
      for (let i = 0; i < count; i++) {
        const p = [points[3 * i], points[3 * i + 1], points[3 * i + 2] * lift];
        if (!p.every(Number.isFinite)) { pen = false; seen.push(null); continue; }
        const [x, y] = this.project(p);
        seen.push([x, y]);
        if (pen) c.lineTo(x, y); else c.moveTo(x, y);
        pen = true;
      }
      if (last && pen) { const [x, y] = this.project(last); c.lineTo(x, y); }
      c.stroke(); c.setLineDash([]);
      if (lift && !last) this.labels.line(seen); // the whole path: what was flown so far is part of it
    }

    // A simple body of its kind, drawn at least so large that its attitude is seen
    vehicle(here, q, wide) {
      const [w, x, y, z] = q, c = this.c;
      const turned = ([a, b, d]) => { // body forward, right, down to north, east, height
        const p = 2 * (y * d - z * b), r = 2 * (z * a - x * d), s = 2 * (x * b - y * a);
        return [a + w * p + y * s - z * r, b + w * r + z * p - x * s, -(d + w * s + x * r - y * p)];
      };
      const rotors = this.shape.rotors, reach = Math.max(0.3, ...rotors.map((r) => Math.hypot(...r)));
      const [, , scale] = this.project(here), size = Math.max(1, 26 / (scale * reach));
      const at = (p) => { const t = turned(p); return [0, 1, 2].map((k) => here[k] + t[k] * size); };
      const stroke = (points, colour, width) => {
        c.strokeStyle = colour; c.lineWidth = width; c.beginPath();
        points.map(at).map((p) => this.project(p)).forEach(([px, py], k) => (k ? c.lineTo(px, py) : c.moveTo(px, py)));
        c.stroke();
      };
      this.segmentTo(here);
      const body = ink(this.crashed && this.now >= this.time[this.time.length - 1] ? "var(--bad)" : "var(--text)"), nose = ink("var(--c4)");
      const drawing = this.shape.drawing;
      if (drawing === "rotors" && rotors.length) {
        for (const rotor of rotors) {
          stroke([[0, 0, 0], rotor], body, 2.4);
          const ring = [];
          for (let k = 0; k <= 16; k++) ring.push([rotor[0] + 0.42 * reach * Math.cos(k * Math.PI / 8), rotor[1] + 0.42 * reach * Math.sin(k * Math.PI / 8), rotor[2]]);
          stroke(ring, rotor[0] > 1e-6 ? nose : body, 1.5);
        }
      } else if (["wing", "vtol", "tilt_rotor", "helicopter"].includes(drawing)) {
        const s = reach;
        stroke([[s, 0, 0], [-s, 0, 0]], body, 3);
        if (drawing === "helicopter") stroke(Array.from({ length: 17 }, (_, k) => [s * Math.cos(k * Math.PI / 8), s * Math.sin(k * Math.PI / 8), -0.3 * s]), body, 1.5);
        else { stroke([[0.1 * s, -1.1 * s, 0], [0.3 * s, 0, 0], [0.1 * s, 1.1 * s, 0]], body, 2.6); stroke([[-s, -0.4 * s, 0], [-s, 0.4 * s, 0]], body, 2); }
        stroke([[-s, 0, 0], [-1.1 * s, 0, -0.4 * s], [-0.8 * s, 0, 0]], body, 2);
      } else {
        const s = reach, deck = [[s, 0, 0], [0.4 * s, 0.5 * s, 0], [-s, 0.5 * s, 0], [-s, -0.5 * s, 0], [0.4 * s, -0.5 * s, 0], [s, 0, 0]];
        stroke(deck, body, 2.4);
        stroke([[-0.5 * s, 0, 0], [-0.5 * s, 0, -0.5 * s]], body, 2);
      }
      stroke([[0, 0, 0], [1.25 * reach, 0, 0]], nose, 3);
    }

    segmentTo(here) { // where it is above the ground
      this.c.strokeStyle = ink("var(--grid-strong)"); this.c.lineWidth = 1; this.c.setLineDash([2, 3]);
      this.segment(here, [here[0], here[1], 0]);
      this.c.setLineDash([]);
    }

    said(i, here) {
      const j = Math.max(i - 1, 0), k = Math.min(j + 1, this.time.length - 1), dt = this.time[k] - this.time[j];
      const speed = dt > 0 ? Math.hypot(...[0, 1, 2].map((a) => this.places[3 * k + a] - this.places[3 * j + a])) / dt : 0;
      this.clock.textContent = `${this.now.toFixed(2)} s`;
      const mode = this.modes ? this.names[Math.round(this.modes[i])] : "";
      this.words.textContent = `height ${here[2].toFixed(1)} m, speed ${speed.toFixed(1)} m/s${mode ? ", " + mode : ""}`;
    }
  }

  return { View };
})();
