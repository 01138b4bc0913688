// The map: seen from above, in metres; north is up. A click goes there, or sets a waypoint while one edits.
const COLOURS = ["#2563eb", "#d97706", "#059669", "#9333ea", "#db2777", "#0891b2", "#65a30d", "#475569"];
const TRAIL = 2000;

export class GroundMap {
  constructor(canvas, clicked) {
    this.canvas = canvas;
    this.scale = 8; // pixels for a metre
    this.centre = [0, 0]; // north, east
    this.trails = new Map();
    this.items = []; // of the editor
    this.flown = []; // of the flight
    this.poses = [];
    this.target = null;
    this.world = null; // its scenery
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.scale = Math.max(0.05, Math.min(80, this.scale * Math.exp(-event.deltaY / 500)));
    }, { passive: false });
    let from = null;
    canvas.addEventListener("pointerdown", (event) => { from = [event.offsetX, event.offsetY, ...this.centre]; });
    canvas.addEventListener("pointermove", (event) => {
      if (!from || !event.buttons) return;
      this.centre = [from[2] + (event.offsetY - from[1]) / this.scale, from[3] - (event.offsetX - from[0]) / this.scale];
    });
    canvas.addEventListener("pointerup", (event) => {
      const still = from && Math.hypot(event.offsetX - from[0], event.offsetY - from[1]) < 4;
      from = null;
      if (still) clicked(this.metres(event.offsetX, event.offsetY));
    });
  }

  metres(x, y) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return [this.centre[0] - (y - h / 2) / this.scale, this.centre[1] + (x - w / 2) / this.scale];
  }

  pixels(north, east) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return [w / 2 + (east - this.centre[1]) * this.scale, h / 2 - (north - this.centre[0]) * this.scale];
  }

  move(poses) {
    this.poses = poses;
    const ids = new Set(poses.map((pose) => pose.id));
    for (const id of this.trails.keys()) if (!ids.has(id)) this.trails.delete(id);
    for (const pose of poses) {
      const trail = this.trails.get(pose.id) || [];
      this.trails.set(pose.id, trail);
      const last = trail[trail.length - 1];
      if (!last || Math.hypot(last[0] - pose.p[0], last[1] - pose.p[1]) > 0.2) trail.push([pose.p[0], pose.p[1]]);
      if (trail.length > TRAIL) trail.splice(0, TRAIL / 2);
    }
  }

  draw(selected) {
    const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
    const w = canvas.clientWidth, h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    const c = canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = "#f1f5f0";
    c.fillRect(0, 0, w, h);
    if (this.world && this.world.water) { c.fillStyle = "#d3e4ee"; c.fillRect(0, 0, w, h); }
    this.grid(c, w, h);
    this.obstacles(c, w, h);
    this.way(c, this.flown, "#7c3aed", false);
    this.way(c, this.items, "#be123c", true);
    for (const [id, trail] of this.trails) this.path(c, trail, COLOURS[(id - 1) % COLOURS.length]);
    if (this.target) this.cross(c, this.pixels(this.target[0], this.target[1]));
    for (const pose of this.poses) this.vehicle(c, pose, pose.id === selected);
    c.fillStyle = "#334155";
    c.font = "bold 12px sans-serif";
    c.fillText("N ↑", 8, 16);
  }

  grid(c, w, h) {
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((m) => m * this.scale > 30) || 2000;
    const [top, left] = this.metres(0, 0), [bottom, right] = this.metres(w, h);
    c.strokeStyle = "#d5ddd0";
    c.lineWidth = 1;
    c.beginPath();
    for (let n = Math.floor(bottom / step) * step; n <= top; n += step) { const y = this.pixels(n, 0)[1]; c.moveTo(0, y); c.lineTo(w, y); }
    for (let e = Math.floor(left / step) * step; e <= right; e += step) { const x = this.pixels(0, e)[0]; c.moveTo(x, 0); c.lineTo(x, h); }
    c.stroke();
    c.fillStyle = "#64748b";
    c.font = "11px sans-serif";
    c.fillText(`${step} m`, w - 42, h - 8);
    c.strokeStyle = "#64748b";
    c.beginPath();
    c.moveTo(w - 50, h - 22); c.lineTo(w - 50 + Math.min(step * this.scale, 46), h - 22);
    c.stroke();
  }

  obstacles(c, w, h) {
    c.globalAlpha = 0.55;
    for (const thing of (this.world && this.world.things) || []) {
      const [x, y] = this.pixels(thing.p[0], thing.p[1]), s = thing.size, R = thing.R, k = this.scale;
      const reach = (thing.kind === "mesh" ? 60 : Math.hypot(s[0], s[1])) * k + 4;
      if (x < -reach || y < -reach || x > w + reach || y > h + reach) continue;
      c.fillStyle = thing.colour;
      c.beginPath();
      if (thing.kind === "box") {
        for (const [a, b] of [[1, 1], [1, -1], [-1, -1], [-1, 1]]) {
          const n = (a * s[0] * R[0] + b * s[1] * R[3]) / 2, e = (a * s[0] * R[1] + b * s[1] * R[4]) / 2;
          c.lineTo(x + e * k, y - n * k);
        }
        c.closePath();
      } else if (thing.kind === "mesh") {
        const v = thing.vertices, at = (i) => [R[0] * v[3 * i] + R[3] * v[3 * i + 1] + R[6] * v[3 * i + 2], R[1] * v[3 * i] + R[4] * v[3 * i + 1] + R[7] * v[3 * i + 2]];
        for (let i = 0; i < thing.triangles.length; i += 3) [0, 1, 2].forEach((j) => { const [n, e] = at(thing.triangles[i + j]); c[j ? "lineTo" : "moveTo"](x + e * k, y - n * k); });
      } else c.arc(x, y, Math.max(s[0] * k, 1.5), 0, 2 * Math.PI);
      c.fill();
    }
    c.globalAlpha = 1;
  }

  path(c, points, colour) {
    c.strokeStyle = colour;
    c.lineWidth = 1.5;
    c.beginPath();
    points.forEach((point, i) => c[i ? "lineTo" : "moveTo"](...this.pixels(point[0], point[1])));
    c.stroke();
  }

  way(c, items, colour, numbered) {
    if (!items.length) return;
    c.setLineDash([5, 4]);
    this.path(c, items, colour);
    c.setLineDash([]);
    items.forEach((item, i) => {
      const [x, y] = this.pixels(item[0], item[1]);
      c.fillStyle = colour;
      c.beginPath();
      c.arc(x, y, numbered ? 8 : 4, 0, 2 * Math.PI);
      c.fill();
      if (!numbered) return;
      c.fillStyle = "#fff";
      c.font = "bold 10px sans-serif";
      c.textAlign = "center";
      c.fillText(String(i + 1), x, y + 3.5);
      c.textAlign = "left";
    });
  }

  cross(c, [x, y]) {
    c.strokeStyle = "#f59e0b";
    c.lineWidth = 2;
    c.beginPath();
    c.moveTo(x - 6, y); c.lineTo(x + 6, y); c.moveTo(x, y - 6); c.lineTo(x, y + 6);
    c.stroke();
  }

  vehicle(c, pose, chosen) {
    const [x, y] = this.pixels(pose.p[0], pose.p[1]), yaw = Math.atan2(pose.R[1], pose.R[0]);
    c.save();
    c.translate(x, y);
    c.rotate(yaw);
    c.fillStyle = COLOURS[(pose.id - 1) % COLOURS.length];
    c.strokeStyle = chosen ? "#111827" : "#fff";
    c.lineWidth = 2;
    c.beginPath();
    c.moveTo(0, -11); c.lineTo(7, 8); c.lineTo(0, 4); c.lineTo(-7, 8); c.closePath();
    c.fill();
    c.stroke();
    c.restore();
  }
}
