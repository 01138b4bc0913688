// A world in the 3D view, from the data of ironbird/app/scenery.py. Ironbird's axes are north, east, down; x is east, y up, z south.
import { THREE } from "nicegui-scene";

const AXES = new THREE.Matrix4().set(0, 1, 0, 0, 0, 0, -1, 0, -1, 0, 0, 0, 0, 0, 0, 1); // N to the view
const FAR = 3000;

export class World {
  constructor(data) {
    this.group = new THREE.Group();
    this.sky = new THREE.Color(data.sky);
    this.visibility = data.visibility;
    this.movers = [];
    this.group.add(makeGround(data.ground));
    if (data.water) this.group.add(makeWater(data.water));
    addThings(this.group, data.things);
    const decks = new Map();
    for (const mover of data.movers) {
      const body = new THREE.Group(), inner = one(mover.shape);
      body.matrixAutoUpdate = false;
      body.add(inner);
      this.group.add(body);
      this.movers.push({ ...mover, body });
      decks.set(mover.name, body);
    }
    for (const pad of data.pads) addPad(this.group, decks, pad);
    this.move(0);
  }

  move(time) { // of the flight
    for (const mover of this.movers) mover.body.matrix.copy(AXES).multiply(poseAt(mover, time));
  }

  dispose() {
    this.group.traverse((thing) => { if (thing.geometry) thing.geometry.dispose(); if (thing.material) thing.material.dispose(); });
  }
}

const paint = (colour, more = {}) => new THREE.MeshLambertMaterial({ color: colour, ...more });

function makeGround(ground) {
  if (!ground.heights) {
    const geometry = new THREE.PlaneGeometry(2 * FAR, 2 * FAR);
    geometry.rotateX(-Math.PI / 2);
    const place = geometry.attributes.position;
    for (let i = 0; i < place.count; i++) place.setY(i, ground.height - ground.slope[0] * place.getZ(i) + ground.slope[1] * place.getX(i) - 0.02);
    geometry.computeVertexNormals();
    return new THREE.Mesh(geometry, paint(ground.colour));
  }
  const rows = ground.north.length, columns = ground.east.length, points = [], faces = [], height = heightsOf(ground.heights);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) points.push(ground.east[j], height[i * columns + j], -ground.north[i]);
  for (let i = 0; i < rows - 1; i++) for (let j = 0; j < columns - 1; j++) {
    const a = i * columns + j, b = a + columns; // 00 and 10, one step to the north
    faces.push(a, b + 1, b, a, a + 1, b + 1);
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
  geometry.setIndex(faces);
  geometry.computeVertexNormals();
  return new THREE.Mesh(geometry, paint(ground.colour, { side: THREE.DoubleSide }));
}

function heightsOf(packed) {
  const bytes = Uint8Array.from(atob(packed.bdata), (letter) => letter.charCodeAt(0));
  return Float32Array.from(new Int16Array(bytes.buffer), (v) => v * packed.scale + packed.offset);
}

function makeWater(water) {
  const mesh = new THREE.Mesh(new THREE.PlaneGeometry(2 * FAR, 2 * FAR), paint(water.colour, { transparent: true, opacity: 0.75 }));
  mesh.rotation.x = -Math.PI / 2;
  mesh.position.y = water.height;
  return mesh;
}

const UNITS = { // along own axes: x forward, y right, z down
  box: () => new THREE.BoxGeometry(1, 1, 1),
  cylinder: () => new THREE.CylinderGeometry(1, 1, 1, 20).rotateX(Math.PI / 2),
  sphere: () => new THREE.SphereGeometry(1, 18, 12),
};

function poseOf(thing) {
  const R = thing.R, p = thing.p, s = thing.size;
  return new THREE.Matrix4().set(
    R[0] * s[0], R[3] * s[1], R[6] * s[2], p[0],
    R[1] * s[0], R[4] * s[1], R[7] * s[2], p[1],
    R[2] * s[0], R[5] * s[1], R[8] * s[2], p[2],
    0, 0, 0, 1);
}

function meshOf(thing) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(thing.vertices, 3));
  geometry.setIndex(thing.triangles);
  geometry.computeVertexNormals();
  return geometry;
}

function one(thing) {
  const geometry = thing.kind === "mesh" ? meshOf(thing) : UNITS[thing.kind]();
  const mesh = new THREE.Mesh(geometry, paint(thing.colour, { side: THREE.DoubleSide }));
  mesh.matrixAutoUpdate = false;
  mesh.matrix.copy(poseOf(thing));
  return mesh;
}

function addThings(group, things) { // equal kinds in one call of the graphics card: a forest has thousands
  for (const kind of Object.keys(UNITS)) {
    const same = things.filter((thing) => thing.kind === kind);
    if (!same.length) continue;
    const mesh = new THREE.InstancedMesh(UNITS[kind](), paint("#ffffff"), same.length);
    same.forEach((thing, i) => {
      mesh.setMatrixAt(i, AXES.clone().multiply(poseOf(thing)));
      mesh.setColorAt(i, new THREE.Color(thing.colour));
    });
    mesh.frustumCulled = false;
    group.add(mesh);
  }
  for (const thing of things.filter((one_) => one_.kind === "mesh")) {
    const mesh = one(thing);
    mesh.matrix.premultiply(AXES);
    group.add(mesh);
  }
}

function addPad(group, decks, pad) {
  const disc = new THREE.Mesh(new THREE.CircleGeometry(pad.radius, 32), paint(pad.colour, { side: THREE.DoubleSide }));
  const ring = new THREE.Mesh(new THREE.RingGeometry(0.8 * pad.radius, pad.radius, 32), new THREE.MeshBasicMaterial({ color: 0xf8fafc, side: THREE.DoubleSide }));
  const deck = decks.get(pad.mover);
  for (const [thing, over] of [[disc, 0.02], [ring, 0.04]]) {
    if (deck) thing.position.set(pad.north, pad.east, -over - 0.5 * (deck.children[0].geometry.type === "BoxGeometry" ? deck.children[0].matrix.elements[10] : 0));
    else { thing.rotation.x = -Math.PI / 2; thing.position.set(pad.east, pad.height + over, -pad.north); }
    (deck || group).add(thing);
  }
}

function poseAt(mover, time) { // as Mover.pose_at of ironbird/world/model.py
  const { times, places, turns } = mover, first = times[0], last = times[times.length - 1];
  let at = time;
  if (mover.repeat && at > first) at = first + ((at - first) % (last - first));
  at = Math.min(Math.max(at, first), last);
  let i = 0;
  while (i < times.length - 2 && times[i + 1] < at) i++;
  const j = Math.min(i + 1, times.length - 1), span = times[j] - times[i], share = span > 0 ? (at - times[i]) / span : 0;
  const mix = (rows, k) => rows[i][k] + share * (rows[j][k] - rows[i][k]);
  const p = [0, 1, 2].map((k) => mix(places, k)), turn = [0, 1, 2].map((k) => mix(turns, k));
  if (mover.sway) {
    const [period, heave, roll, pitch] = mover.sway, angle = (2 * Math.PI * time) / period;
    p[2] -= heave * Math.sin(angle);
    turn[0] += roll * Math.cos(angle);
    turn[1] += pitch * Math.cos(angle);
  }
  const rotation = new THREE.Matrix4().makeRotationFromEuler(new THREE.Euler(turn[0], turn[1], turn[2], "ZYX"));
  return rotation.setPosition(p[0], p[1], p[2]);
}
