// The live view: the scene of all pages (report/templates/scene.js, global `Scene`), moved by the frames that come in.
const TRAIL = 3000; // points of a path
const COLOURS = ["#2563eb", "#d97706", "#059669", "#9333ea", "#db2777", "#0891b2", "#65a30d", "#475569"];
const AFLOAT = new Set(["boat", "submarine"]);
const SEA = { ground: { height: -60, slope: [0, 0], colour: "#8d8a72" }, things: [], pads: [], movers: [], water: { height: 0, colour: "#2f6f8f" }, visibility: 0 };

// Calls a drawing function for each frame, but leaves the browser two thirds of its time: without a graphics card one
// frame can take a tenth of a second.
export function keepDrawing(draw) {
  let next = 0;
  const turn = (now) => {
    requestAnimationFrame(turn);
    if (now < next || document.hidden) return;
    const begin = performance.now();
    draw();
    next = now + Math.max(25, 3 * (performance.now() - begin));
  };
  requestAnimationFrame(turn);
}

export class View {
  constructor(place) {
    this.scene = new Scene.View(place, { wheel: true, arrows: true, dark: false, horizon: false });
    this.trails = new Map();
    this.shown = new Map(); // id -> the frame that is shown
    this.followed = null;
    this.worldKey = "";
    this.data = null; // of the world
    this.onworld = () => {};
  }

  get world() { return this.data; }

  keep(ids) {
    for (const name of [...this.scene.bodies.keys()]) if (!ids.has(name)) this.drop(name);
  }

  drop(name) {
    this.scene.remove(name);
    this.scene.setPath(`trail ${name}`, null);
    this.trails.delete(name);
    this.shown.delete(name);
  }

  move(id, shape, pose) {
    const old = this.shown.get(id);
    if (old && old.time === pose.time && old.p.every((v, k) => v === pose.p[k])) return; // it stands
    if (pose.R.every((v) => v === 0)) return;
    this.shown.set(id, pose);
    const { scene } = this;
    if (!scene.bodies.has(id)) {
      scene.add(id, { shape });
      if (this.ready && id === this.followed) scene.setCamera("chase"); // it has begun
      this.ready = null;
    }
    scene.focus = this.followed !== null && scene.bodies.has(this.followed) ? this.followed : id;
    scene.pose(id, pose);
    const trail = this.trails.get(id) || { points: [], time: -1 };
    this.trails.set(id, trail);
    if (pose.time < trail.time) trail.points = []; // a replay that goes back
    if (pose.time - trail.time < 0.1 && pose.time >= trail.time) return;
    trail.time = pose.time;
    trail.points.push(...pose.p);
    if (trail.points.length > 3 * TRAIL) trail.points.splice(0, 1.5 * TRAIL); // forget the older half
    scene.setPath(`trail ${id}`, { points: trail.points, colour: COLOURS[(id - 1) % COLOURS.length] || COLOURS[0], width: 2.2 });
  }

  stand(shape) { // the vehicle before the start, where its file puts it
    this.scene.add("ready", { shape });
    this.scene.focus = "ready";
    const p = [...shape.start.p];
    p[2] -= this.data ? this.scene.world.height(p[0], p[1]) : 0;
    this.scene.pose("ready", { p, q: shape.start.q, joints: shape.signals.map(() => 0) });
    this.ready = shape;
    this.scene.setCamera("orbit");
  }

  showHit(flight) { // what it flew into is red, and both are seen
    const name = flight.hit || "";
    if (name === this.scene.hit) return;
    this.scene.setHit(name);
    const thing = name && this.data && this.data.things.find((one) => one.name === name), body = this.scene.bodies.get(flight.id);
    if (!thing || !body || !body.pose) return;
    const p = body.pose.p, wide = thing.size ? Math.min(Math.max(...thing.size), 25) : 5;
    this.scene.setLook(Math.atan2(p[1] - thing.p[1], p[0] - thing.p[0]) + 0.8, 0.22, Math.max(2.1 * wide, 6 * body.radius));
  }

  broken(id, parts) { this.scene.setBroken(id, parts); }

  showMission(items, target) {
    const points = items.flatMap((item) => [item[0], item[1], -item[2]]), { scene } = this;
    const text = JSON.stringify([items, target]);
    if (text === this.mission) return;
    this.mission = text;
    scene.setPath("mission", points.length > 3 ? { points, ink: "set-point", width: 1.4, dash: [0.8, 0.4] } : null);
    for (const name of [...scene.marks.keys()]) scene.setMark(name, null);
    items.forEach((item, k) => scene.setMark(`item ${k}`, { at: [item[0], item[1], -item[2]], ink: "muted", text: String(k + 1) }));
    if (target) scene.setMark("target", { at: target, ink: "set-point", shape: "cross", size: 7, text: "" });
  }

  async showWorld(key, url) { // of the flight that is followed; none: flat ground
    if (this.worldKey === key) return;
    this.worldKey = key;
    let data = null;
    if (key) {
      const answer = await fetch(url);
      data = answer.ok ? await answer.json() : null;
      if (this.worldKey !== key) return; // another was chosen meanwhile
    }
    this.data = data;
    this.scene.setWorld(data);
    if (this.ready && this.scene.bodies.has("ready")) this.stand(this.ready);
    this.onworld(data);
  }

  surroundings(drawing) { // vehicles of the water have it around them where there is no world
    const afloat = AFLOAT.has(drawing) && !this.data;
    if (afloat !== !!this.afloat) this.scene.setWorld(afloat ? SEA : this.data);
    this.afloat = afloat;
  }
}
