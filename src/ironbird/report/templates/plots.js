"use strict";
// Draws figures on canvases: curves over time with faults shaded, bands of spans, tracks, spectra. No library.
const Plots = (() => {
  const root = document.documentElement;
  const DASHES = { solid: [], dot: [2, 3], dash: [7, 4] };

  // Colours are named in the figures; the style sheet gives their values for the light and the dark theme.
  function ink(value) {
    return String(value).startsWith("var(") ? getComputedStyle(root).getPropertyValue(value.slice(4, -1)).trim() : value;
  }

  function unpack(packed) {
    const text = atob(packed.bdata), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new Float32Array(bytes.buffer);
  }

  function ticks(low, high, count) {
    const raw = (high - low) / Math.max(count, 1), scale = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * scale).find((s) => s >= raw * 0.999) || raw;
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9 && found.length < 50; i++) found.push(i * step);
    return found;
  }

  function decades(low, high) { // of logarithms
    const found = [], marks = high - low < 2.6 ? [1, 2, 5] : [1];
    for (let e = Math.floor(low); e <= high; e++) for (const m of marks) {
      const place = Math.log10(m) + e;
      if (place >= low - 1e-9 && place <= high + 1e-9) found.push(place);
    }
    return found;
  }

  function number(value) {
    if (!Number.isFinite(value)) return "-";
    const text = value.toPrecision(4);
    return text.includes("e") ? text : String(Number(text));
  }

  function nearest(x, value) { // place in x, which rises, of the entry nearest to a value
    let low = 0, high = x.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (x[middle] > value) high = middle; else low = middle;
    }
    return value - x[low] <= x[high] - value ? low : high;
  }

  // Texts beside points, each at the free one of eight places around its point: off lines, marks and other texts.
  class Labels {
    constructor(c, box) { this.c = c; this.box = box; this.taken = []; this.lines = []; this.wanted = []; }
    line(points) { // [x, y] on the screen; a gap ends it
      points.forEach((p, i) => {
        const q = points[i + 1];
        if (!p) return;
        const steps = q ? Math.min(200, Math.ceil(Math.hypot(q[0] - p[0], q[1] - p[1]) / 4)) : 1;
        for (let k = 0; k < steps; k++) this.lines.push(q ? [p[0] + (q[0] - p[0]) * k / steps, p[1] + (q[1] - p[1]) * k / steps] : p);
      });
    }
    mark(x, y, size) { this.taken.push([x - size, y - size, x + size, y + size]); }
    text(words, x, y, colour) { if (words) this.wanted.push({ words, x, y, colour }); }
    write(least) { // all that was asked for; returns the words with their boxes
      const c = this.c, box = this.box, high = 11, found = [];
      c.textAlign = "left"; c.textBaseline = "middle"; c.lineJoin = "round";
      for (const { words, x, y, colour } of this.wanted) {
        const wide = c.measureText(words).width, g = least;
        let best = null, cost = Infinity;
        for (const far of [1, 2.2, 3.6]) for (const [h, v] of [[1, -1], [1, 1], [-1, -1], [-1, 1], [0, -1], [0, 1], [1, 0], [-1, 0]]) {
          const left = h > 0 ? x + g * far : h < 0 ? x - g * far - wide : x - wide / 2;
          const top = v > 0 ? y + g * far * 0.7 : v < 0 ? y - g * far * 0.7 - high : y - high / 2;
          const own = [left - 1, top - 1, left + wide + 1, top + high + 1];
          let worse = far;
          if (own[0] < box.l || own[2] > box.r || own[1] < box.t || own[3] > box.b) worse += 1000;
          for (const t of this.taken) if (own[0] < t[2] && own[2] > t[0] && own[1] < t[3] && own[3] > t[1]) worse += 100;
          for (const [px, py] of this.lines) if (px > own[0] && px < own[2] && py > own[1] && py < own[3]) { worse += 10; break; }
          if (worse < cost) { cost = worse; best = own; }
        }
        this.taken.push(best);
        c.lineWidth = 3; c.strokeStyle = ink("var(--card)"); c.strokeText(words, best[0] + 1, (best[1] + best[3]) / 2);
        c.lineWidth = 1; c.fillStyle = ink(colour); c.fillText(words, best[0] + 1, (best[1] + best[3]) / 2);
        found.push([words, ...best.map(Math.round)]);
      }
      return found;
    }
  }

  class Figure {
    constructor(place, figure, group) {
      this.place = place; this.layout = figure.layout; this.kind = figure.kind; this.group = group;
      this.curves = figure.data.filter((t) => t.type === "scatter").map((t) => ({ ...t, x: unpack(t.x), y: unpack(t.y) }));
      this.curves.sort((a, b) => (a.zorder || 0) - (b.zorder || 0));
      this.bars = figure.data.filter((t) => t.type === "bar");
      this.hidden = new Set();
      this.view = null; // of the horizontal axis, if it is this figure's own
      this.axes = Object.keys(this.layout).filter((k) => /^yaxis\d*$/.test(k)).sort()
        .map((k) => ({ key: "y" + k.slice(5), ...this.layout[k] }));
      this.legend();
      this.canvas = document.createElement("canvas");
      this.canvas.setAttribute("role", "img");
      this.canvas.setAttribute("aria-label", place.dataset.title || "plot");
      this.canvas.style.height = this.layout.height + "px";
      this.cursor = document.createElement("div"); this.cursor.className = "cursor"; this.cursor.hidden = true;
      this.tip = document.createElement("div"); this.tip.className = "tip"; this.tip.hidden = true;
      this.chosen = document.createElement("div"); this.chosen.className = "chosen"; this.chosen.hidden = true;
      this.area = document.createElement("div"); this.area.className = "area";
      this.area.append(this.canvas, this.cursor, this.chosen, this.tip);
      place.append(this.area);
      this.listen();
    }

    legend() {
      if (this.layout.showlegend === false) return;
      const box = document.createElement("div");
      box.className = "legend";
      const entries = this.curves.filter((t) => t.showlegend !== false).sort((a, b) => (a.legendrank || 1000) - (b.legendrank || 1000));
      for (const trace of entries) {
        const entry = document.createElement("button"), sample = document.createElement("i");
        entry.type = "button"; entry.title = "hide or show";
        if (trace.marker) Object.assign(sample.style, { width: "9px", height: "9px", borderRadius: "5px", background: trace.marker.color });
        else sample.style.borderTop = `2px ${{ dash: "dashed", dot: "dotted" }[trace.line.dash] || "solid"} ${trace.line.color}`;
        entry.append(sample, trace.name);
        entry.addEventListener("click", () => {
          const key = trace.legendgroup || trace.name;
          if (!this.hidden.delete(key)) this.hidden.add(key);
          entry.classList.toggle("off", this.hidden.has(key));
          this.draw();
        });
        box.append(entry);
      }
      this.place.append(box);
    }

    shown() { return this.curves.filter((t) => !this.hidden.has(t.legendgroup || t.name)); }

    range() {
      if (this.kind === "time") return this.group.view;
      if (this.view) return this.view;
      let low = Infinity, high = -Infinity;
      for (const trace of this.shown()) for (const v of trace.x) { if (v < low) low = v; if (v > high) high = v; }
      if (!(low <= high)) return [0, 1];
      const room = this.log ? 0 : 0.05 * Math.max(high - low, 1e-6) + 1e-9;
      return [low - room, high + room];
    }

    span(axis, view) {
      if (axis.range) return axis.range;
      let low = Infinity, high = -Infinity;
      for (const trace of this.shown()) {
        if ((trace.yaxis || "y") !== axis.key) continue;
        for (let i = 0; i < trace.y.length; i++) {
          const v = trace.y[i];
          if (trace.x[i] < view[0] || trace.x[i] > view[1] || !(Math.abs(v) < 1e30)) continue;
          if (v < low) low = v;
          if (v > high) high = v;
        }
      }
      if (!(low <= high)) return [-1, 1];
      const room = Math.max(0.06 * (high - low), 1e-3 * Math.abs(high), 1e-9);
      return high - low < 1e-12 ? [low - Math.max(room, 0.5), high + Math.max(room, 0.5)] : [low - room, high + room];
    }

    draw() {
      const width = this.area.clientWidth, height = this.layout.height, ratio = window.devicePixelRatio || 1;
      if (!width) return;
      this.canvas.width = Math.round(width * ratio); this.canvas.height = Math.round(height * ratio);
      const c = this.canvas.getContext("2d"), margin = this.layout.margin, narrow = width < 560;
      c.scale(ratio, ratio);
      c.font = `${narrow ? 11 : 12}px ${getComputedStyle(document.body).fontFamily}`;
      const right = this.axes.some((a) => a.side === "right");
      const xaxis = this.layout.xaxis;
      this.log = xaxis.type === "log";
      let view = this.range(), spans = this.axes.map((a) => this.span(a, view));
      const tall = height - margin.t - margin.b, long = this.axes.map((a, i) => this.wide(c, a, spans[i], tall)); // of numbers at the left
      const l = Math.max(narrow ? 46 : margin.l, ...long), r = narrow && !right ? 10 : margin.r;
      const box = this.box = { l, r: width - r, t: margin.t, b: height - margin.b };
      if (xaxis.scaleanchor) [view, spans[0]] = this.equal(view, spans[0], box);
      const lx = (v) => (this.log ? Math.log10(v) : v), a = lx(view[0]), b = lx(view[1]);
      this.across = (v) => box.l + (lx(v) - a) / (b - a) * (box.r - box.l);
      this.back = (pixel) => { const v = a + (pixel - box.l) / (box.r - box.l) * (b - a); return this.log ? 10 ** v : v; };
      const marks = this.log ? decades(a, b) : ticks(a, b, Math.max(2, (box.r - box.l) / 90));
      c.strokeStyle = ink("var(--grid)"); c.fillStyle = ink("var(--muted)"); c.textAlign = "center"; c.textBaseline = "top";
      marks.forEach((mark, i) => {
        const x = box.l + (mark - a) / (b - a) * (box.r - box.l), value = this.log ? 10 ** mark : mark;
        line(c, x, box.t, x, box.b);
        const last = i === marks.length - 1;
        c.fillText(number(value) + (last ? xaxis.ticksuffix || "" : ""), Math.min(x, width - 14), box.b + 6);
      });
      if (xaxis.title) c.fillText(xaxis.title.text, (box.l + box.r) / 2, box.b + 22);
      for (const shape of this.layout.shapes || []) if (shape.type === "rect") {
        c.fillStyle = ink(shape.fillcolor);
        const x0 = Math.max(this.across(shape.x0), box.l), x1 = Math.min(this.across(shape.x1), box.r);
        c.globalAlpha = shape.opacity || 1;
        if (x1 > x0) c.fillRect(x0, box.t, x1 - x0, box.b - box.t);
        c.globalAlpha = 1;
      }
      this.axes.forEach((axis, i) => this.axis(c, axis, spans[i], box));
      for (const shape of this.layout.shapes || []) if (shape.type === "line") {
        const x = this.across(shape.x0);
        c.strokeStyle = ink(shape.line.color); c.lineWidth = shape.line.width; c.globalAlpha = shape.opacity || 1;
        if (x >= box.l && x <= box.r + 1) line(c, x, box.t, x, box.b);
        c.lineWidth = 1; c.globalAlpha = 1;
      }
      if (this.kind === "path") this.labels(c, box);
      const taken = []; // above the plot, from left to right
      for (const note of this.layout.annotations || []) this.note(c, note, box, taken);
      this.place.dataset.drawn = String(Number(this.place.dataset.drawn || 0) + 1);
    }

    equal(view, span, box) { // one metre is as long across as up
      const wide = (view[1] - view[0]) / (box.r - box.l), tall = (span[1] - span[0]) / (box.b - box.t), most = Math.max(wide, tall);
      const about = ([low, high], room) => { const m = (low + high) / 2; return [m - room * most / 2, m + room * most / 2]; };
      return [about(view, box.r - box.l), about(span, box.b - box.t)];
    }

    scale(axis, span, tall) { // ends of an upright axis of a height in pixels, and where its numbers stand
      const log = axis.type === "log";
      let [low, high] = log ? span.map((v) => Math.log10(Math.max(v, 1e-12))) : span;
      if (log && !axis.range) { // of positive values alone
        const values = this.shown().flatMap((t) => [...t.y]).filter((v) => v > 0);
        low = Math.log10(Math.min(...values)); high = Math.log10(Math.max(...values)); low = Math.max(low, high - 6);
      }
      const marks = log ? decades(low, high) : axis.dtick ? ticks(low, high, (high - low) / axis.dtick) : ticks(low, high, Math.max(2, tall / 36));
      return [low, high, marks];
    }

    wide(c, axis, span, tall) { // room that the numbers of an axis at the left need
      if (axis.side === "right" || axis.showticklabels === false) return 0;
      const [bottom, top] = axis.domain || [0, 1], [, , marks] = this.scale(axis, span, (top - bottom) * tall);
      const numbers = marks.map((mark) => c.measureText(number(axis.type === "log" ? 10 ** mark : mark)).width);
      return Math.ceil(Math.max(0, ...numbers)) + (axis.title ? 24 : 8);
    }

    axis(c, axis, span, box) {
      const [bottom, top] = axis.domain || [0, 1], log = axis.type === "log";
      const yt = box.b - top * (box.b - box.t), yb = box.b - bottom * (box.b - box.t);
      const ly = (v) => (log ? Math.log10(Math.max(v, 1e-12)) : v);
      const [low, high, marks] = this.scale(axis, span, yb - yt);
      axis.up = (v) => yb - (ly(v) - low) / (high - low) * (yb - yt);
      axis.top = yt; axis.bottom = yb;
      const right = axis.side === "right", over = Boolean(axis.overlaying);
      c.lineWidth = 1;
      if (axis.showticklabels !== false) {
        c.textAlign = right ? "left" : "right"; c.textBaseline = "middle";
        for (const mark of marks) {
          const y = yb - (mark - low) / (high - low) * (yb - yt);
          if (!over && axis.showgrid !== false) {
            c.strokeStyle = ink(axis.zeroline && mark === 0 ? "var(--grid-strong)" : "var(--grid)");
            line(c, box.l, y, box.r, y);
          }
          c.fillStyle = ink("var(--muted)");
          c.fillText(number(log ? 10 ** mark : mark) + (right && axis.ticksuffix ? axis.ticksuffix : ""), right ? box.r + 6 : box.l - 6, y);
        }
      }
      c.strokeStyle = ink("var(--grid-strong)");
      line(c, box.l, yb, box.r, yb);
      if (axis.title) {
        c.save(); c.fillStyle = ink("var(--text)"); c.textAlign = "center"; c.textBaseline = "top";
        c.translate(1, (yt + yb) / 2); c.rotate(-Math.PI / 2);
        c.fillText(axis.title.text, 0, 0);
        c.restore();
      }
      c.save();
      c.beginPath(); c.rect(box.l, yt - 2, box.r - box.l, yb - yt + 4); c.clip();
      const mine = this.shown().filter((t) => (t.yaxis || "y") === axis.key);
      mine.forEach((trace, i) => this.curve(c, trace, axis, mine[i - 1]));
      if (axis.key === "y") for (const bar of this.bars) this.bar(c, bar, axis);
      c.restore();
    }

    curve(c, trace, axis, before) {
      const { x, y } = trace, mode = trace.mode;
      c.globalAlpha = trace.opacity || 1;
      if (trace.fill === "tonexty" && before) {
        c.beginPath();
        for (let i = 0; i < x.length; i++) c.lineTo(this.across(x[i]), axis.up(y[i]));
        for (let i = before.x.length - 1; i >= 0; i--) c.lineTo(this.across(before.x[i]), axis.up(before.y[i]));
        c.fillStyle = ink(trace.fillcolor); c.fill();
      }
      if (mode.includes("lines")) {
        c.strokeStyle = ink(trace.line.color); c.lineWidth = trace.line.width; c.lineJoin = "round";
        c.setLineDash(DASHES[trace.line.dash] || []);
        c.beginPath();
        let pen = false;
        for (let i = 0; i < x.length; i++) {
          if (!(Math.abs(y[i]) < 1e30) || !(Math.abs(x[i]) < 1e30)) { pen = false; continue; }
          const px = this.across(x[i]), py = axis.up(y[i]);
          if (pen) c.lineTo(px, py); else c.moveTo(px, py);
          pen = true;
        }
        c.stroke(); c.setLineDash([]); c.lineWidth = 1;
      }
      if (mode.includes("markers")) {
        const look = trace.marker || { symbol: "circle", size: 5, color: trace.line.color };
        for (let i = 0; i < x.length; i++) symbol(c, look.symbol, this.across(x[i]), axis.up(y[i]), look.size / 2, ink(look.color));
      }
      c.globalAlpha = 1;
    }

    labels(c, box) { // of waypoints, beside the tracks
      const made = new Labels(c, box), up = this.axes[0].up;
      for (const { mode, marker, text, x, y } of this.shown()) {
        const points = Array.from(x, (v, i) => (Math.abs(v) < 1e30 && Math.abs(y[i]) < 1e30 ? [this.across(v), up(y[i])] : null));
        if (mode.includes("lines")) made.line(points);
        else for (const point of points) if (point) made.mark(...point, marker.size / 2 + 1);
        if (mode.includes("text")) points.forEach((point, i) => point && made.text(text[i], ...point, "var(--muted)"));
      }
      this.canvas.dataset.labels = JSON.stringify(made.write(7));
    }

    bar(c, bar, axis) {
      bar.x.forEach((length, i) => {
        const x0 = Math.max(this.across(bar.base[i]), this.box.l), x1 = Math.min(this.across(bar.base[i] + length), this.box.r);
        const y0 = axis.up(bar.y[i] + bar.width / 2), y1 = axis.up(bar.y[i] - bar.width / 2);
        if (x1 < x0) return;
        c.fillStyle = ink(bar.marker.color[i]);
        c.fillRect(x0, y0, Math.max(x1 - x0, 1), y1 - y0);
        if (bar.textposition === "inside" && c.measureText(bar.text[i]).width < x1 - x0 - 4) {
          c.fillStyle = ink("var(--card)"); c.textAlign = "center"; c.textBaseline = "middle";
          c.fillText(bar.text[i], (x0 + x1) / 2, (y0 + y1) / 2);
        }
      });
    }

    note(c, note, box, taken) {
      const row = note.yref === "y", x = note.xref === "paper" ? box.l : this.across(note.x);
      if (x < box.l - 1 || x > box.r + 1) return;
      c.fillStyle = ink(note.font.color);
      c.textAlign = note.xanchor; c.textBaseline = "bottom";
      const long = c.measureText(note.text).width, left = note.xanchor === "right" ? x - long : x;
      const crowded = !row && taken.some(([from, to]) => left < to + 6 && left + long > from - 6);
      if (!row) taken.push([left, left + long]);
      c.fillText(note.text, x, row ? this.axes[0].up(note.y) - 1 : crowded ? box.t + 13 : box.t - 4);
    }

    // ------------------------------------------------------------ pointer

    listen() {
      let from = null;
      const at = (event) => { const r = this.area.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
      const inside = (x) => Math.min(Math.max(x, this.box.l), this.box.r);
      this.area.addEventListener("pointerdown", (event) => {
        if (!this.box || this.kind === "path") return;
        from = inside(at(event)[0]);
        this.area.setPointerCapture(event.pointerId);
      });
      this.area.addEventListener("pointermove", (event) => {
        if (!this.box) return;
        const [x, y] = at(event);
        if (from !== null) {
          this.chosen.hidden = Math.abs(inside(x) - from) < 6;
          this.chosen.style.left = Math.min(from, inside(x)) + "px";
          this.chosen.style.width = Math.abs(inside(x) - from) + "px";
        }
        this.read(x, y);
      });
      this.area.addEventListener("pointerup", (event) => {
        if (from === null) return;
        const to = inside(at(event)[0]), pair = [from, to].sort((p, q) => p - q).map(this.back);
        this.chosen.hidden = true;
        if (Math.abs(to - from) >= 6) this.zoom(pair);
        else if (this.kind === "time") this.group.seek(this.back(to));
        from = null;
      });
      this.area.addEventListener("pointercancel", () => { from = null; this.chosen.hidden = true; });
      this.area.addEventListener("pointerleave", () => { this.tip.hidden = true; this.group.point(null); });
      this.area.addEventListener("dblclick", () => this.zoom(null));
    }

    zoom(view) {
      if (this.kind === "time") return this.group.zoom(view);
      this.view = view;
      this.draw();
    }

    read(x, y) { // what is under the pointer
      if (x < this.box.l || x > this.box.r) { this.tip.hidden = true; return; }
      const value = this.back(x), rows = [];
      const found = this.bars.length ? this.band(value, y, rows) : this.kind === "path" ? this.near(x, y, rows) : this.values(value, y, rows);
      if (this.kind === "time") this.group.point(value, this);
      this.tip.hidden = !rows.length;
      this.tip.replaceChildren(...[found, ...rows].map((text, i) => {
        const row = document.createElement(i ? "div" : "b");
        if (text.ink) { const dot = document.createElement("i"); dot.style.background = text.ink; row.append(dot); }
        row.append(text.text || text);
        return row;
      }));
      const half = this.area.clientWidth / 2;
      this.tip.style.left = x < half ? x + 14 + "px" : "auto";
      this.tip.style.right = x < half ? "auto" : this.area.clientWidth - x + 14 + "px";
      this.tip.style.top = Math.max(0, y - 20) + "px";
    }

    values(value, y, rows) {
      const over = this.axes.find((a) => y >= a.top && y <= a.bottom && !a.overlaying) || this.axes[0];
      for (const trace of this.shown()) {
        const axis = this.axes.find((a) => a.key === (trace.yaxis || "y"));
        if (!trace.label || !trace.x.length || (axis !== over && !axis.overlaying)) continue;
        const i = nearest(trace.x, value);
        rows.push({ ink: trace.line.color, text: `${trace.label}  ${number(trace.y[i])} ${trace.unit}` });
      }
      return this.kind === "time" ? `${value.toFixed(2)} s` : `${number(value)}${this.layout.xaxis.ticksuffix || ""}`;
    }

    band(value, y, rows) {
      const up = this.axes[0].up;
      for (const bar of this.bars) bar.base.forEach((start, i) => {
        const inside = value >= start && value <= start + bar.x[i] && y <= up(bar.y[i] - bar.width / 2) && y >= up(bar.y[i] + bar.width / 2);
        if (inside) rows.push({ ink: bar.marker.color[i], text: `${bar.name}: ${bar.text[i]}, ${bar.customdata[i]}` });
      });
      return `${value.toFixed(2)} s`;
    }

    near(x, y, rows) {
      let best = 20, found = "";
      for (const trace of this.shown()) for (let i = 0; i < trace.x.length; i++) {
        const away = Math.hypot(this.across(trace.x[i]) - x, this.axes[0].up(trace.y[i]) - y);
        if (away < best) { best = away; found = trace.label; rows.length = 0; rows.push(`${number(trace.y[i])} m north, ${number(trace.x[i])} m east`); }
      }
      return found;
    }
  }

  function line(c, x0, y0, x1, y1) { c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke(); }

  function symbol(c, name, x, y, size, colour) {
    c.beginPath(); c.strokeStyle = c.fillStyle = colour; c.lineWidth = 1.6;
    if (name === "x") { c.moveTo(x - size, y - size); c.lineTo(x + size, y + size); c.moveTo(x + size, y - size); c.lineTo(x - size, y + size); c.stroke(); }
    else if (name === "diamond") { c.moveTo(x, y - size * 1.3); c.lineTo(x + size * 1.3, y); c.lineTo(x, y + size * 1.3); c.lineTo(x - size * 1.3, y); c.fill(); }
    else if (name === "square") c.fillRect(x - size, y - size, 2 * size, 2 * size);
    else { c.arc(x, y, size, 0, 7); if (name === "circle-open") c.stroke(); else c.fill(); }
    c.lineWidth = 1;
  }

  // All figures of a page: one time axis, drawn when they come into view.
  class Group {
    constructor(range) { this.whole = this.view = range; this.figures = []; this.onseek = null; }
    add(place, figure) {
      const made = new Figure(place, figure, this);
      this.figures.push(made);
      made.stale = true;
    }
    watch() {
      this.eye = new IntersectionObserver((seen) => seen.forEach((one) => {
        const figure = this.figures.find((f) => f.place === one.target);
        figure.seen = one.isIntersecting;
        if (figure.seen && figure.stale) this.draw(figure);
      }), { rootMargin: "400px" });
      this.size = new ResizeObserver(() => this.redraw());
      for (const figure of this.figures) { this.eye.observe(figure.place); this.size.observe(figure.place); }
      window.addEventListener("beforeprint", () => this.figures.forEach((f) => this.draw(f)));
    }
    draw(figure) {
      figure.stale = false;
      try { figure.draw(); } catch (error) { figure.place.textContent = "This plot cannot be drawn here: " + error.message; }
    }
    redraw(kind) {
      for (const figure of this.figures) {
        if (kind && figure.kind !== kind) continue;
        figure.stale = true;
        if (figure.seen) this.draw(figure);
      }
    }
    zoom(view) { this.view = view || this.whole; this.redraw("time"); }
    seek(time) { if (this.onseek) this.onseek(time); }
    point(time, source) { // a thin line in all plots at a time
      for (const figure of this.figures) {
        if (figure.kind !== "time" || !figure.box || figure === source) continue;
        const x = time === null ? -1 : figure.across(time);
        figure.cursor.hidden = !(x >= figure.box.l && x <= figure.box.r);
        Object.assign(figure.cursor.style, { left: x + "px", top: figure.box.t + "px", height: figure.box.b - figure.box.t + "px" });
      }
    }
  }

  return { Group, Labels, ink, number, unpack };
})();
