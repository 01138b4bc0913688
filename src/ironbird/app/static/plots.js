// Live plots on canvases: several signals on one axis, the newest seconds of them.
const COLOURS = ["#2563eb", "#d97706", "#059669", "#db2777", "#7c3aed", "#0891b2", "#65a30d", "#475569"];
const MOST = 6000; // points of a signal

export class Plot {
  constructor(canvas, title, series, unit) { // series: [{flight, id, path, entry, label}]
    Object.assign(this, { canvas, title, series, unit });
    this.span = 30;
    this.clear();
  }

  clear() { this.data = this.series.map(() => ({ t: [], v: [] })); }

  take(number, time, values) {
    const data = this.data[number];
    if (time.length && data.t.length && time[0] <= data.t[data.t.length - 1]) data.t.length = data.v.length = 0; // everything is sent again
    for (let i = 0; i < time.length; i++) { data.t.push(time[i]); data.v.push(values[i]); }
    this.fresh = true;
    if (data.t.length > MOST) { data.t.splice(0, data.t.length - MOST); data.v.splice(0, data.v.length - MOST); }
  }

  draw() {
    const canvas = this.canvas, ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (!w) return;
    this.fresh = false;
    if (canvas.width !== Math.round(w * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    const c = canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, w, h);
    const end = Math.max(0, ...this.data.map((d) => (d.t.length ? d.t[d.t.length - 1] : 0))), begin = Math.max(0, end - this.span);
    const [low, high] = this.range(begin);
    const box = { left: 52, right: w - 8, top: 36, bottom: h - 20 };
    const x = (t) => box.left + (t - begin) / Math.max(end - begin, 1e-6) * (box.right - box.left);
    const y = (v) => box.bottom - (v - low) / (high - low) * (box.bottom - box.top);
    this.axes(c, box, begin, end, low, high, y);
    c.save();
    c.beginPath();
    c.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    c.clip();
    this.data.forEach((data, i) => this.curve(c, data, begin, x, y, COLOURS[i % COLOURS.length]));
    c.restore();
    this.legend(c, w);
  }

  range(begin) {
    let low = Infinity, high = -Infinity;
    for (const data of this.data) {
      for (let i = data.t.length - 1; i >= 0 && data.t[i] >= begin; i--) {
        const v = data.v[i];
        if (v < low) low = v;
        if (v > high) high = v;
      }
    }
    if (!(low <= high)) return [-1, 1];
    const room = Math.max((high - low) * 0.08, Math.abs(high) * 0.01, 1e-6);
    return [low - room, high + room];
  }

  axes(c, box, begin, end, low, high, y) {
    c.strokeStyle = "#e2e8f0";
    c.fillStyle = "#475569";
    c.font = "11px sans-serif";
    c.lineWidth = 1;
    c.textAlign = "right";
    for (let i = 0; i <= 4; i++) {
      const value = low + (high - low) * i / 4;
      c.beginPath(); c.moveTo(box.left, y(value)); c.lineTo(box.right, y(value)); c.stroke();
      c.fillText(Math.abs(value) >= 1000 || (value && Math.abs(value) < 0.001) ? value.toExponential(1) : value.toFixed(high - low < 1 ? 3 : 1), box.left - 4, y(value) + 4);
    }
    c.textAlign = "left";
    c.fillText(`${begin.toFixed(1)} s`, box.left, box.bottom + 14);
    c.textAlign = "right";
    c.fillText(`${end.toFixed(1)} s`, box.right, box.bottom + 14);
    c.textAlign = "left";
  }

  curve(c, data, begin, x, y, colour) {
    c.strokeStyle = colour;
    c.lineWidth = 1.5;
    c.beginPath();
    let pen = false;
    for (let i = 0; i < data.t.length; i++) {
      if (data.t[i] < begin - 1 || Number.isNaN(data.v[i])) continue;
      c[pen ? "lineTo" : "moveTo"](x(data.t[i]), y(data.v[i]));
      pen = true;
    }
    c.stroke();
  }

  legend(c, w) {
    c.font = "bold 12px sans-serif";
    c.fillStyle = "#0f172a";
    c.fillText(`${this.title}${this.unit && this.unit !== "1" ? ` [${this.unit}]` : ""}`, 8, 14);
    c.font = "11px sans-serif";
    let at = 8;
    this.series.forEach((one, i) => {
      c.fillStyle = COLOURS[i % COLOURS.length];
      c.fillRect(at, 22, 10, 3);
      c.fillText(one.label, at + 13, 28);
      at += 24 + c.measureText(one.label).width;
    });
  }
}
