// The 3D view. Ironbird's axes are north, east, down; three.js has x to the right, y up: x is east, y is up, z is south.
import { THREE, OrbitControls } from "nicegui-scene";
import { World } from "./world.js";

const TRAIL = 3000; // points of a path
const SKY = 0xdbeafe;
const COLOURS = [0x2563eb, 0xd97706, 0x059669, 0x9333ea, 0xdb2777, 0x0891b2, 0x65a30d, 0x475569];
const up = (p) => new THREE.Vector3(p[1], -p[2], -p[0]);

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
    this.place = place;
    this.bodies = new Map();
    this.camera = new THREE.PerspectiveCamera(50, 1, 0.05, 5000);
    this.camera.position.set(-6, 4, 8);
    this.renderer = new THREE.WebGLRenderer({ antialias: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    place.append(this.renderer.domElement);
    this.orbit = new OrbitControls(this.camera, this.renderer.domElement);
    this.mode = "chase";
    this.followed = null;
    this.plain = new THREE.Group(); // the ground where there is no world
    this.scene = makeWorld(this.plain);
    this.world = null;
    this.worldKey = "";
    this.mission = new THREE.Group();
    this.scene.add(this.mission);
    this.wind = new THREE.ArrowHelper(new THREE.Vector3(1, 0, 0), new THREE.Vector3(), 1, 0x0ea5e9);
    this.wind.visible = false;
    this.scene.add(this.wind);
    this.last = performance.now();
    new ResizeObserver(() => this.resize()).observe(place);
    this.resize();
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.place;
    if (!w || !h) return;
    this.renderer.setSize(w, h);
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
  }

  body(id, shape) {
    if (!this.bodies.has(id)) {
      const body = makeBody(shape, COLOURS[(id - 1) % COLOURS.length]);
      this.scene.add(body.group, body.trail.line, body.drop);
      this.bodies.set(id, body);
    }
    return this.bodies.get(id);
  }

  keep(ids) {
    for (const [id, body] of this.bodies) {
      if (ids.has(id)) continue;
      this.scene.remove(body.group, body.trail.line, body.drop);
      this.bodies.delete(id);
    }
  }

  move(id, shape, pose) {
    const body = this.body(id, shape), R = pose.R, p = pose.p;
    body.pose = pose;
    if (R.every((v) => v === 0)) return;
    body.group.matrix.set( // rows: east, up, south of the body's axes
      R[1], R[4], R[7], p[1],
      -R[2], -R[5], -R[8], -p[2],
      -R[0], -R[3], -R[6], -p[0],
      0, 0, 0, 1,
    );
    body.trail.add(up(p), pose.time);
    body.drop.geometry.setFromPoints([up(p), new THREE.Vector3(p[1], 0, -p[0])]);
  }

  broken(id, parts) {
    const body = this.bodies.get(id);
    if (!body) return;
    body.rotors.forEach((rotor, i) => {
      const bad = parts.has(`rotor/${i + 1}`);
      rotor.disc.material.color.set(bad ? 0xdc2626 : 0x64748b);
      rotor.disc.material.opacity = bad ? 0.85 : 0.3;
    });
    const other = [...parts].some((part) => !part.startsWith("rotor/"));
    body.hull.material.emissive.set(other ? 0xb91c1c : 0x000000);
  }

  showMission(items, target) {
    this.mission.clear();
    const points = items.map((item) => up([item[0], item[1], -item[2]]));
    if (points.length > 1) this.mission.add(line(points, 0x7c3aed));
    const size = (this.bodies.get(this.followed) || { size: 0.3 }).size;
    for (const point of points) this.mission.add(ball(point, 0x7c3aed, 0.15 * size));
    if (target) this.mission.add(ball(up(target), 0xf59e0b, 0.15 * size));
  }

  async showWorld(key, url) { // of the flight that is followed; none: flat ground
    if (this.worldKey === key) return;
    this.worldKey = key;
    let world = null;
    if (key) {
      const answer = await fetch(url);
      const data = answer.ok ? await answer.json() : null;
      if (data) world = new World(data);
      if (this.worldKey !== key) return; // another was chosen meanwhile
    }
    if (this.world) { this.scene.remove(this.world.group); this.world.dispose(); }
    this.world = world;
    this.plain.visible = !world;
    this.scene.background = world ? world.sky : new THREE.Color(SKY);
    const far = world && world.visibility ? world.visibility : 900;
    this.scene.fog = new THREE.Fog(this.scene.background, Math.min(150, 0.3 * far), Math.max(far, 20));
    if (world) this.scene.add(world.group);
  }

  draw() {
    const now = performance.now(), dt = Math.min((now - this.last) / 1000, 1);
    this.last = now;
    for (const body of this.bodies.values()) turnRotors(body, dt);
    const followed = this.bodies.get(this.followed);
    if (this.world && followed && followed.pose) this.world.move(followed.pose.time);
    this.follow(dt);
    this.renderer.render(this.scene, this.camera);
  }

  follow(dt) {
    const body = this.bodies.get(this.followed);
    if (!body || !body.pose) return void this.orbit.update();
    const at = up(body.pose.p);
    this.blow(body, at);
    if (this.mode === "free") return void this.orbit.update();
    const away = this.mode === "top"
      ? new THREE.Vector3(0, 30, 0.01)
      : new THREE.Vector3(-body.pose.R[1], 0, body.pose.R[0]).normalize().multiplyScalar(body.size * 7)
        .add(new THREE.Vector3(0, body.size * 3, 0));
    const there = at.clone().add(away), far = this.camera.position.distanceTo(there) > 12 * body.size + 40;
    this.camera.position.lerp(there, this.placed === this.followed && !far ? 1 - Math.exp(-4 * dt) : 1);
    this.placed = this.followed;
    this.orbit.target.copy(at);
    this.camera.lookAt(at);
  }

  blow(body, at) {
    const wind = up(body.pose.wind), speed = wind.length();
    this.wind.visible = speed > 0.3;
    if (!this.wind.visible) return;
    this.wind.position.copy(at).add(new THREE.Vector3(0, body.size * 1.6, 0));
    this.wind.setDirection(wind.normalize());
    this.wind.setLength(body.size * Math.min(0.5 + speed / 5, 4), body.size * 0.4, body.size * 0.25);
  }
}

function makeWorld(plain) {
  const scene = new THREE.Scene();
  scene.background = new THREE.Color(SKY);
  scene.fog = new THREE.Fog(SKY, 150, 900);
  scene.add(new THREE.HemisphereLight(0xffffff, 0x9ca3af, 2.2));
  const sun = new THREE.DirectionalLight(0xffffff, 1.4);
  sun.position.set(30, 60, 20);
  scene.add(sun);
  const ground = new THREE.Mesh(
    new THREE.PlaneGeometry(4000, 4000), new THREE.MeshLambertMaterial({ color: 0xcbd5c0 }));
  ground.rotation.x = -Math.PI / 2;
  ground.position.y = -0.02;
  plain.add(ground);
  const fine = new THREE.GridHelper(200, 200, 0x94a3b8, 0xb6c2ad);
  const coarse = new THREE.GridHelper(2000, 200, 0x94a3b8, 0xa3b39a);
  coarse.position.y = -0.01;
  plain.add(fine, coarse);
  scene.add(plain);
  scene.add(line([new THREE.Vector3(), new THREE.Vector3(0, 0.01, -5)], 0xdc2626)); // north
  return scene;
}

function line(points, colour) {
  return new THREE.Line(new THREE.BufferGeometry().setFromPoints(points), new THREE.LineBasicMaterial({ color: colour }));
}

function ball(at, colour, radius) {
  const mesh = new THREE.Mesh(new THREE.SphereGeometry(radius, 12, 8), new THREE.MeshLambertMaterial({ color: colour }));
  mesh.position.copy(at);
  return mesh;
}

function makeBody(shape, colour) {
  const group = new THREE.Group();
  group.matrixAutoUpdate = false;
  const reach = Math.max(0.2, ...shape.rotors.map((r) => Math.hypot(r[0], r[1])));
  const size = ["car", "boat", "wing", "vtol"].includes(shape.drawing) ? Math.max(reach, 1) : Math.max(reach, 0.25);
  const paint = new THREE.MeshLambertMaterial({ color: colour });
  const hull = makeHull(shape.drawing, size, paint);
  group.add(hull);
  const rotors = shape.rotors.map((place) => makeRotor(group, place, shape, size));
  const drop = line([new THREE.Vector3(), new THREE.Vector3()], 0x64748b);
  return { group, hull, rotors, size, drop, trail: new Trail(colour), pose: null };
}

function box(x, y, z, paint, at = [0, 0, 0]) {
  const mesh = new THREE.Mesh(new THREE.BoxGeometry(x, y, z), paint);
  mesh.position.set(...at);
  return mesh;
}

// Body axes: x forward, y to the right, z down.
function makeHull(drawing, s, paint) {
  if (drawing === "wing" || drawing === "vtol") {
    const hull = box(1.3 * s, 0.16 * s, 0.16 * s, paint);
    hull.add(box(0.3 * s, 2.4 * s, 0.03 * s, paint), box(0.2 * s, 0.8 * s, 0.03 * s, paint, [-0.6 * s, 0, 0]));
    hull.add(box(0.2 * s, 0.03 * s, 0.3 * s, paint, [-0.6 * s, 0, -0.15 * s]));
    return hull;
  }
  if (drawing === "car") {
    const hull = box(2 * s, 0.9 * s, 0.35 * s, paint), dark = new THREE.MeshLambertMaterial({ color: 0x1f2937 });
    for (const x of [-0.6, 0.6]) for (const y of [-0.45, 0.45]) {
      const wheel = new THREE.Mesh(new THREE.CylinderGeometry(0.2 * s, 0.2 * s, 0.12 * s, 16), dark);
      wheel.position.set(x * s, y * s, 0.2 * s);
      hull.add(wheel);
    }
    return hull;
  }
  if (drawing === "boat") return box(2 * s, 0.8 * s, 0.3 * s, paint);
  if (drawing === "submarine" || drawing === "helicopter") {
    const hull = new THREE.Mesh(new THREE.CylinderGeometry(0.2 * s, 0.2 * s, 1.2 * s, 16), paint);
    hull.geometry.rotateZ(Math.PI / 2);
    return hull;
  }
  const hull = box(0.5 * s, 0.32 * s, 0.16 * s, paint);
  hull.add(box(0.14 * s, 0.1 * s, 0.05 * s, new THREE.MeshLambertMaterial({ color: 0xf97316 }), [0.3 * s, 0, 0]));
  return hull;
}

function makeRotor(group, place, shape, size) {
  const forward = shape.drawing === "wing" || (shape.drawing === "vtol" && Math.abs(place[1]) < 0.01);
  const radius = shape.drawing === "helicopter" ? (place[0] < -0.3 ? 0.15 : 0.75) : Math.max(0.1, size * 0.5);
  const arm = line([new THREE.Vector3(0, 0, 0), new THREE.Vector3(...place)], place[0] > 0.01 ? 0xf97316 : 0x334155);
  const bar = new THREE.Group();
  const look = new THREE.MeshBasicMaterial({ color: 0x64748b, transparent: true, opacity: 0.3, side: THREE.DoubleSide });
  const disc = new THREE.Mesh(new THREE.CircleGeometry(radius, 24), look);
  const blade = box(2 * radius, radius * 0.12, 0.01, new THREE.MeshLambertMaterial({ color: 0x1f2937 }));
  bar.add(disc, blade);
  bar.position.set(place[0], place[1], place[2] - 0.05 * size);
  if (forward) bar.rotation.y = Math.PI / 2;
  group.add(arm, bar);
  return { disc, blade, angle: 0 };
}

function turnRotors(body, dt) {
  if (!body.pose) return;
  body.rotors.forEach((rotor, i) => {
    rotor.angle += (i % 2 ? -1 : 1) * Math.min(Math.abs(body.pose.rotors[i] || 0), 60) * dt; // slower than true: seen
    rotor.blade.rotation.z = rotor.angle;
  });
}

class Trail {
  constructor(colour) {
    this.points = new Float32Array(3 * TRAIL);
    this.count = 0;
    this.time = -1;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(this.points, 3));
    geometry.setDrawRange(0, 0);
    this.line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: colour }));
    this.line.frustumCulled = false;
  }

  add(point, time) {
    if (time < this.time) this.count = 0; // a replay that goes back
    if (time - this.time < 0.1 && time >= this.time) return;
    this.time = time;
    if (this.count === TRAIL) { // forget the older half
      this.points.copyWithin(0, 3 * (TRAIL / 2));
      this.count = TRAIL / 2;
    }
    this.points.set([point.x, point.y, point.z], 3 * this.count++);
    this.line.geometry.setDrawRange(0, this.count);
    this.line.geometry.attributes.position.needsUpdate = true;
  }
}
