// The 3D scene of all pages: vehicles drawn from their own files, in their world, at any time of a flight. WebGL 2, no library.
//
// Axes are Ironbird's: the world is north, east, down; bodies are forward, right, down; metres, radians, seconds.
//   const view = new Scene.View(element);          // fills the element; throws if the browser has no WebGL 2
//   view.setWorld(data)                            // of ironbird/report/scenery.py; null: flat ground
//   view.add("flight", { shape, role: "truth" })   // of ironbird/vehicles/shape.py; role "twin" or "estimate": a ghost
//   view.setTrack("flight", { time, place, attitude, joints, wind, thrust }) // typed arrays; 3, 4 (w x y z), joints, 3, rotors a row
//   view.pose("flight", { time, p, q | R, joints, wind, thrust })  // one row, newly computed: in place of a track
//   view.setPath("set-point", { points, ink, dash, width }); view.setMark("1", { at, ink, text })
//   view.setBroken("flight", new Set(["rotor/2"])); view.setHit("pine_12_trunk"); view.setCamera("chase"); view.seek(12.5); view.remove("flight")
const Scene = (() => {
  "use strict";

  // ---------------------------------------------------------------- vectors and matrices (column by column)
  const add = (a, b, k = 1) => [a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]];
  const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const size = (a) => Math.hypot(a[0], a[1], a[2]);
  const unit = (a) => { const n = size(a) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };
  const mix = (a, b, k) => a + (b - a) * k;
  const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
  const finite = (a) => a.every(Number.isFinite);

  function times(a, b) {
    const c = new Array(16);
    for (let j = 0; j < 4; j++) for (let i = 0; i < 4; i++)
      c[4 * j + i] = a[i] * b[4 * j] + a[4 + i] * b[4 * j + 1] + a[8 + i] * b[4 * j + 2] + a[12 + i] * b[4 * j + 3];
    return c;
  }

  const apply = (m, p) => [0, 1, 2].map((i) => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i]);
  const turnOnly = (m, p) => [0, 1, 2].map((i) => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2]);

  function fromQuaternion([w, x, y, z], p) {
    return [
      1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
      2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
      2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0,
      p[0], p[1], p[2], 1,
    ];
  }

  function about(place, axis, angle) { // a turn about an axis through a place
    const h = angle / 2, s = Math.sin(h), m = fromQuaternion([Math.cos(h), s * axis[0], s * axis[1], s * axis[2]], [0, 0, 0]);
    const moved = turnOnly(m, place);
    for (let k = 0; k < 3; k++) m[12 + k] = place[k] - moved[k];
    return m;
  }

  function lookAt(eye, target, up) {
    const z = unit(sub(eye, target)), x = unit(cross(up, z)), y = cross(z, x);
    return [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1];
  }

  function perspective(angle, aspect, near, far) {
    const f = 1 / Math.tan(angle / 2);
    return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0];
  }

  function boxView(half, near, far) {
    return [1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, -2 / (far - near), 0, 0, 0, -(far + near) / (far - near), 1];
  }

  function colour(text) { // "#rrggbb" as linear light
    const n = parseInt(text.slice(1), 16);
    return [n >> 16, (n >> 8) & 255, n & 255].map((v) => (v / 255) ** 2.2);
  }

  // ---------------------------------------------------------------- looks
  const LOOKS = { // matt materials of vehicles: colour and gloss
    body: ["#c9cfd5", 0.15], wing: ["#d3d8dc", 0.12], trim: ["#8d9aa7", 0.1], accent: ["#f2711c", 0.2], dark: ["#2a3037", 0.12],
    metal: ["#97a1ab", 0.35], glass: ["#22384c", 0.9], blade: ["#1e2329", 0.15], battery: ["#39424d", 0.15], tyre: ["#1b1f24", 0.05],
    lamp: ["#fff3cf", 0.6], rear: ["#b3261e", 0.4], ring: ["#3a424b", 0.2],
  };
  const LIGHT = {
    zenith: "#5f9fdf", horizon: "#e3ecf3", ground: "#8d9a78", line: "#55634a", sun: [1.0, 0.94, 0.84], power: 1.75, sky: [0.42, 0.52, 0.66], bounce: [0.2, 0.21, 0.17],
    water: "#2f6f8f", haze: 0.00042, high: 46,
  };
  const DARK = {
    zenith: "#0a1120", horizon: "#3b4a5e", ground: "#262f33", line: "#7f929b", sun: [0.78, 0.86, 1.0], power: 1.25, sky: [0.2, 0.26, 0.36], bounce: [0.07, 0.08, 0.09],
    water: "#123246", haze: 0.0005, high: 38,
  };
  const RED = [0.62, 0.016, 0.01];
  const INKS = { // one meaning each, everywhere
    flight: ["#1769c2", "#6cb0ee"], "set-point": ["#d1600f", "#ff9a52"], twin: ["#66727f", "#aab5c1"], estimate: ["#8a4fb0", "#c493ea"],
    future: ["#7b8794", "#75838f"], bad: ["#d02a1e", "#ff6b5e"], good: ["#1d7f4b", "#5ec98d"], fault: ["#c25a00", "#ffab61"], wind: ["#0f8fc4", "#55c7f2"],
    plain: ["#1b2430", "#e6eaf0"], muted: ["#4d5865", "#a9b4c0"], forbidden: ["#d02a1e", "#ff6b5e"],
  };

  // ---------------------------------------------------------------- solids
  class Mesh { // position, normal, colour and gloss of triangles
    constructor() { this.data = []; this.radius = 0; }

    corner(p, n, c) { this.data.push(p[0], p[1], p[2], n[0], n[1], n[2], c[0], c[1], c[2], c[3]); this.radius = Math.max(this.radius, size(p)); }

    facet(a, b, c, look) { const n = unit(cross(sub(b, a), sub(c, a))); for (const p of [a, b, c]) this.corner(p, n, look); }

    net(rows, look, closed = true) { // a grid of points with smooth normals
      const n = rows.length, m = rows[0].length, last = closed ? m : m - 1;
      const normals = rows.map((row) => row.map(() => [0, 0, 0]));
      const cells = [];
      for (let i = 0; i < n - 1; i++) for (let j = 0; j < last; j++) {
        const k = (j + 1) % m, face = cross(sub(rows[i + 1][k], rows[i][j]), sub(rows[i][k], rows[i + 1][j]));
        cells.push([i, j, k]);
        for (const [a, b] of [[i, j], [i, k], [i + 1, j], [i + 1, k]]) normals[a][b] = add(normals[a][b], face);
      }
      const put = (i, j) => this.corner(rows[i][j], unit(normals[i][j]), look);
      for (const [i, j, k] of cells) { put(i, j); put(i + 1, j); put(i + 1, k); put(i, j); put(i + 1, k); put(i, k); }
    }

    cap(ring, look) {
      const middle = ring.reduce((s, p) => add(s, p, 1 / ring.length), [0, 0, 0]);
      ring.forEach((p, i) => this.facet(middle, p, ring[(i + 1) % ring.length], look));
    }

    rod(begin, end, radii, look, count = 14) {
      const along = unit(sub(end, begin)), side = unit(cross(along, Math.abs(along[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0])), other = cross(along, side);
      const ring = (p, r) => Array.from({ length: count }, (_, k) => {
        const t = 2 * Math.PI * k / count;
        return add(add(p, side, r * Math.cos(t)), other, r * Math.sin(t));
      });
      const rings = [ring(begin, radii[0]), ring(end, radii[1])];
      this.net(rings, look);
      for (const one of rings) this.cap(one, look);
    }

    box(at, [x, y, z], look) {
      const p = (i, j, k) => [at[0] + i * x / 2, at[1] + j * y / 2, at[2] + k * z / 2];
      const quad = (a, b, c, d) => { this.facet(a, b, c, look); this.facet(a, c, d, look); };
      for (const s of [-1, 1]) {
        quad(p(s, -1, -1), p(s, 1, -1), p(s, 1, 1), p(s, -1, 1));
        quad(p(-1, s, -1), p(1, s, -1), p(1, s, 1), p(-1, s, 1));
        quad(p(-1, -1, s), p(1, -1, s), p(1, 1, s), p(-1, 1, s));
      }
    }

    ball(at, radii, look) {
      const rows = [];
      for (let i = 0; i <= 10; i++) {
        const lift = Math.PI * (i / 10 - 0.5), row = [];
        for (let j = 0; j < 18; j++) {
          const t = 2 * Math.PI * j / 18;
          row.push([at[0] + radii[0] * Math.cos(lift) * Math.cos(t), at[1] + radii[1] * Math.cos(lift) * Math.sin(t), at[2] + radii[2] * Math.sin(lift)]);
        }
        rows.push(row);
      }
      this.net(rows, look);
    }

    hull(stations, square, look) {
      const power = 2 / square, bent = (v) => Math.sign(v) * Math.abs(v) ** power;
      const rings = stations.map(([x, w, h, y, z]) => Array.from({ length: 28 }, (_, k) => {
        const t = 2 * Math.PI * k / 28;
        return [x, y + w * bent(Math.cos(t)), z + h * bent(Math.sin(t))];
      }));
      this.net(rings, look);
      this.cap(rings[0], look); this.cap(rings[rings.length - 1], look);
    }

    wing(root, tip, chords, thick, look) {
      const profile = [[0, 0], [0.03, 0.3], [0.15, 0.52], [0.35, 0.55], [0.65, 0.33], [1, 0.02], [0.65, -0.22], [0.35, -0.4], [0.15, -0.4], [0.03, -0.25]];
      const span = sub(tip, root), up = unit(cross([1, 0, 0], span)), rows = [];
      const lift = up[2] > 0 ? up.map((v) => -v) : up;
      for (const [at, chord] of [[root, chords[0]], [tip, chords[1]]])
        rows.push(profile.map(([x, h]) => add(add(at, [-1, 0, 0], x * chord), lift, h * thick * chord)));
      this.net(rows, look);
      for (const row of rows) this.cap(row, look);
    }

    blades(at, axis, radius, count, chord, look) {
      const side = unit(cross(axis, Math.abs(axis[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0])), other = cross(axis, side);
      for (let k = 0; k < count; k++) {
        const t = 2 * Math.PI * k / count, out = add(side.map((v) => v * Math.cos(t)), other, Math.sin(t)), across = cross(axis, out);
        const rows = [0.06, 0.25, 0.6, 0.9, 1].map((r, i) => {
          const c = chord * [0.5, 1, 0.85, 0.6, 0.3][i], pitch = [0.7, 0.55, 0.32, 0.22, 0.2][i];
          const over = add(across.map((v) => v * Math.cos(pitch)), axis, Math.sin(pitch)), middle = add(at, out, r * radius);
          const thin = cross(over, out);
          return [add(middle, over, -c / 2), add(middle, thin, 0.06 * c), add(middle, over, c / 2), add(middle, thin, -0.06 * c)];
        });
        this.net(rows, look);
      }
      this.rod(add(at, axis, -0.05 * radius), add(at, axis, 0.05 * radius), [0.07 * radius, 0.05 * radius], look, 10);
    }
  }

  let software = null;
  function isSoftware() { // whether the processor draws, without a graphics card: then fewer triangles and points
    if (software !== null) return software;
    const gl = document.createElement("canvas").getContext("webgl2"), info = gl && gl.getExtension("WEBGL_debug_renderer_info");
    software = !!info && /swiftshader|llvmpipe|software|basic render/i.test(gl.getParameter(info.UNMASKED_RENDERER_WEBGL));
    if (gl && gl.getExtension("WEBGL_lose_context")) gl.getExtension("WEBGL_lose_context").loseContext();
    return software;
  }

  function ballOfTriangles() { // twenty faces, each divided twice
    const t = (1 + Math.sqrt(5)) / 2;
    let p = [[-1, t, 0], [1, t, 0], [-1, -t, 0], [1, -t, 0], [0, -1, t], [0, 1, t], [0, -1, -t], [0, 1, -t], [t, 0, -1], [t, 0, 1], [-t, 0, -1], [-t, 0, 1]].map(unit);
    const faces = [0, 11, 5, 0, 5, 1, 0, 1, 7, 0, 7, 10, 0, 10, 11, 1, 5, 9, 5, 11, 4, 11, 10, 2, 10, 7, 6, 7, 1, 8, 3, 9, 4, 3, 4, 2, 3, 2, 6, 3, 6, 8, 3, 8, 9, 4, 9, 5, 2, 4, 11, 6, 2, 10, 8, 6, 7, 9, 8, 1];
    let found = [];
    for (let i = 0; i < 60; i += 3) found.push([p[faces[i]], p[faces[i + 1]], p[faces[i + 2]]]);
    for (let k = isSoftware() ? 1 : 0; k < 2; k++) found = found.flatMap(([a, b, c]) => {
      const [d, e, f] = [unit(add(a, b)), unit(add(b, c)), unit(add(c, a))];
      return [[a, d, f], [d, b, e], [f, e, c], [d, e, f]];
    });
    return found;
  }

  const WHITE = [1, 1, 1, 0.05];
  const SOLIDS = { // of unit size, for obstacles: half sizes as in their files
    box: () => { const m = new Mesh(); m.box([0, 0, 0], [1, 1, 1], WHITE); return m; },
    cylinder: () => { const m = new Mesh(); m.rod([0, 0, -0.5], [0, 0, 0.5], [1, 1], WHITE, 14); return m; },
    sphere: () => { const m = new Mesh(); for (const f of ballOfTriangles()) f.forEach((p) => m.corner(p, p, WHITE)); return m; },
  };

  // ---------------------------------------------------------------- shaders
  const AIR = `
uniform vec3 uEye, uSun, uSunLight, uSky, uBounce, uZenith, uHorizon; uniform float uHaze, uWaterZ, uVisible;
vec3 skyOf(vec3 d) {
  float h = max(-d.z, 0.0);
  vec3 c = mix(uHorizon, uZenith, 1.0 - exp(-3.6 * h));
  float s = max(dot(d, uSun), 0.0);
  return c + uSunLight * (0.10 * pow(s, 6.0) + 0.18 * pow(s, 48.0));
}
vec3 hazed(vec3 c, vec3 p) {
  vec3 v = p - uEye; float far = length(v), k = 1.0 - exp(-uHaze * far);
  vec3 air = mix(uHorizon, skyOf(v / max(far, 1e-3)), 0.35);
  if (uVisible > 0.0) k = max(k, smoothstep(0.25 * uVisible, uVisible, far));
  if (uEye.z > uWaterZ) { k = 1.0 - exp(-0.045 * far); air = vec3(0.012, 0.10, 0.14) * mix(1.5, 0.6, clamp((uEye.z - uWaterZ) / 40.0, 0.0, 1.0)); }
  return mix(c, air, k);
}
float hash(vec3 p) { p = fract(p * 0.1031); p += dot(p, p.zyx + 31.32); return fract((p.x + p.y) * p.z); }
vec4 shown(vec3 c, float a) { c = c / (1.0 + 0.14 * c * c); return vec4(pow(clamp(c, 0.0, 1.0), vec3(0.4545)), a); }
`;
  const HEAD = "#version 300 es\nprecision highp float; precision highp int; precision highp sampler2DShadow;\n";
  const SOLID_VERTEX = HEAD + `
layout(location=0) in vec3 aPos; layout(location=1) in vec3 aNormal; layout(location=2) in vec4 aLook;
layout(location=3) in vec4 aRow0; layout(location=4) in vec4 aRow1; layout(location=5) in vec4 aRow2; layout(location=6) in vec4 aTint;
uniform mat4 uView; uniform float uLift;
out vec3 vPos, vNormal, vLocal, vScale; out vec4 vLook; flat out float vStyle;
void main() {
  vec4 p = vec4(aPos, 1.0);
  vStyle = aTint.w;
  if (aTint.w > 0.5 && aTint.w < 1.5) { vec3 q = aPos * 9.0 + aRow0.w; p.xyz *= 0.93 + 0.07 * sin(q.x + 2.0 * sin(q.y)) * cos(q.z); }
  vPos = vec3(dot(aRow0, p), dot(aRow1, p), dot(aRow2, p));
  vec3 s = vec3(length(vec3(aRow0.x, aRow1.x, aRow2.x)), length(vec3(aRow0.y, aRow1.y, aRow2.y)), length(vec3(aRow0.z, aRow1.z, aRow2.z)));
  vec3 n = aNormal / (s * s);
  vNormal = vec3(dot(aRow0.xyz, n), dot(aRow1.xyz, n), dot(aRow2.xyz, n));
  vLocal = aPos; vScale = s;
  vLook = vec4(aLook.rgb * aTint.rgb, aLook.a);
  gl_Position = uView * vec4(vPos, 1.0);
  gl_Position.z -= uLift * gl_Position.w;
}`;
  const SHADE = AIR + `
in vec3 vPos, vNormal, vLocal, vScale; in vec4 vLook; flat in float vStyle;
uniform sampler2DShadow uNear, uFar; uniform mat4 uNearView, uFarView; uniform float uSoft, uFarOn, uBias, uFine;
uniform vec4 uPaint; uniform vec3 uLine; uniform float uGrid;
out vec4 oColour;
float lit(vec3 p, float facing) {
  vec3 q = (uNearView * vec4(p, 1.0)).xyz * 0.5 + 0.5;
  float light = 1.0;
  if (all(greaterThan(q.xy, vec2(0.01))) && all(lessThan(q.xy, vec2(0.99))) && q.z < 1.0) {
    float z = q.z - uBias, s = 0.0;
    for (int i = 0; i < 9; i++) s += texture(uNear, vec3(q.xy + uSoft * vec2(float(i % 3) - 1.0, float(i / 3) - 1.0), z));
    light = s / 9.0;
  }
  if (uFarOn > 0.5) {
    q = (uFarView * vec4(p, 1.0)).xyz * 0.5 + 0.5;
    vec2 edge = abs(q.xy - 0.5);
    if (max(edge.x, edge.y) < 0.49) light = min(light, mix(texture(uFar, vec3(q.xy, q.z - 0.0011)), 1.0, smoothstep(0.4, 0.49, max(edge.x, edge.y))));
  }
  return light;
}
`;
  const SOLID_FRAGMENT = HEAD + SHADE + `
float grain(vec3 p) { vec3 i = floor(p), f = fract(p); f = f * f * (3.0 - 2.0 * f);
  #define G(x, y, z) hash(i + vec3(x, y, z))
  return mix(mix(mix(G(0, 0, 0), G(1, 0, 0), f.x), mix(G(0, 1, 0), G(1, 1, 0), f.x), f.y), mix(mix(G(0, 0, 1), G(1, 0, 1), f.x), mix(G(0, 1, 1), G(1, 1, 1), f.x), f.y), f.z); }
void main() {
  vec3 n = normalize(vNormal), v = normalize(uEye - vPos), c = vLook.rgb;
  if (vStyle > 0.5 && vStyle < 1.5) n = normalize(mix(n, normalize(cross(dFdx(vPos), dFdy(vPos))) * sign(dot(cross(dFdx(vPos), dFdy(vPos)), v)), 0.55));
  if (dot(n, v) < 0.0) n = -n;
  if (vStyle > 0.5 && vStyle < 1.5) { // leaves
    float leaf = grain(vPos * 3.1), near = exp(-0.03 * length(uEye - vPos)), fine = near > 0.15 && uFine > 0.5 ? grain(vPos * 9.7) * near : 0.3 * near;
    c *= 0.55 + 0.5 * leaf + 0.35 * fine; n = normalize(n + 0.45 * (vec3(leaf, fine + 0.3, 1.0 - leaf) - 0.5));
  }
  if (vStyle > 1.5 && vStyle < 2.5 && abs(n.z) < 0.4) { // walls of buildings: storeys and windows
    float along = abs(vLocal.x) > 0.499 ? vLocal.y * vScale.y : vLocal.x * vScale.x, up = (vLocal.z + 0.5) * vScale.z;
    vec2 g = vec2(along / 2.6, up / 3.1), f = abs(fract(g) - 0.5), w = max(fwidth(g), vec2(1e-4));
    float pane = smoothstep(0.30 + w.x, 0.30 - w.x, f.x) * smoothstep(0.27 + w.y, 0.27 - w.y, f.y);
    pane = mix(pane, 0.3, smoothstep(0.25, 0.8, max(w.x, w.y)));
    c = mix(c, mix(vec3(0.05, 0.08, 0.11), skyOf(reflect(-v, n)) * 0.4, 0.55), 0.72 * pane);
  }
  float face = dot(n, uSun), light = clamp(face, 0.0, 1.0) * (face > 0.0 ? lit(vPos + 0.004 * n, face) : 0.0);
  vec3 sum = c * (uSunLight * light + mix(uBounce, uSky, 0.5 - 0.5 * n.z));
  vec3 h = normalize(v + uSun);
  sum += vLook.a * (pow(max(dot(n, h), 0.0), 60.0) * light * uSunLight * 0.6 + 0.35 * vLook.a * pow(1.0 - max(dot(n, v), 0.0), 3.0) * skyOf(reflect(-v, n)));
  sum = mix(sum, uPaint.rgb * (0.4 + 0.9 * dot(sum, vec3(0.33))), uPaint.a);
  oColour = shown(hazed(sum, vPos), 1.0);
}`;
  const GHOST_FRAGMENT = HEAD + AIR + `
in vec3 vPos, vNormal, vLocal, vScale; in vec4 vLook; flat in float vStyle; uniform vec4 uPaint; out vec4 oColour;
void main() {
  vec3 n = normalize(vNormal), v = normalize(uEye - vPos);
  float rim = pow(1.0 - abs(dot(n, v)), 1.5);
  oColour = shown(uPaint.rgb * (0.7 + 0.5 * max(-n.z, 0.0)), uPaint.a * (0.45 + 0.55 * rim));
}`;
  const GROUND_FRAGMENT = HEAD + SHADE + `
float noise(vec2 p) { vec2 i = floor(p), f = fract(p); f = f * f * (3.0 - 2.0 * f);
  #define H(a) hash(vec3(a, 0.5))
  return mix(mix(H(i), H(i + vec2(1, 0)), f.x), mix(H(i + vec2(0, 1)), H(i + vec2(1, 1)), f.x), f.y); }
float lines(vec2 p, float step, float far, float reach) {
  vec2 g = p / step, w = max(fwidth(g), vec2(1e-6)), f = abs(fract(g - 0.5) - 0.5) / w;
  float k = clamp(1.15 - min(f.x, f.y), 0.0, 1.0) * (1.0 - smoothstep(0.15, 0.45, max(w.x, w.y)));
  return k * (1.0 - smoothstep(0.25 * reach, reach, far));
}
void main() {
  vec3 n = normalize(vNormal), v = uEye - vPos; float far = length(v); v /= far;
  if (n.z > 0.0) n = -n;
  float steep = 1.0 + n.z;
  vec3 c = vLook.rgb;
  float wide = noise(vPos.xy * 0.035) + 0.5 * noise(vPos.xy * 0.21) * exp(-far * 0.006);
  c *= 0.90 + 0.16 * wide;
  c = mix(c, vec3(0.30, 0.28, 0.25) * (0.6 + 0.4 * wide), smoothstep(0.1, 0.34, steep));
  float light = max(dot(n, uSun), 0.0) * lit(vPos, 1.0);
  vec3 sum = c * (uSunLight * light + mix(uBounce, uSky, 0.5 - 0.5 * n.z));
  float grid = max(0.34 * lines(vPos.xy, 1.0, far, 30.0), max(0.42 * lines(vPos.xy, 10.0, far, 300.0), 0.42 * lines(vPos.xy, 100.0, far, 3000.0)));
  sum = mix(sum, uLine * (0.5 + 0.5 * light), grid * uGrid);
  oColour = shown(hazed(sum, vPos), 1.0);
}`;
  const WATER_FRAGMENT = HEAD + SHADE + `
uniform float uTime;
void main() {
  vec3 v = uEye - vPos; float far = length(v); v /= far;
  vec2 p = vPos.xy; float t = uTime;
  vec2 slope = vec2(0.0); float calm = 1.0 / (1.0 + far * 0.012);
  for (int i = 0; i < 4; i++) { float k = 0.35 * pow(1.9, float(i)), a = float(i) * 1.9 + 0.4; vec2 d = vec2(cos(a), sin(a));
    slope += d * cos(dot(d, p) * k + t * sqrt(9.8 * k) * 0.6) * 0.075 * calm / (1.0 + 0.25 * float(i)); }
  vec3 n = normalize(vec3(-slope, -1.0)); bool below = v.z > 0.0; if (below) n = -n;
  float mirror = 0.03 + 0.97 * pow(1.0 - max(dot(n, v), 0.0), 5.0), light = lit(vPos, 1.0);
  vec3 r = reflect(-v, n); r.z = -abs(r.z);
  vec3 c = mix(vLook.rgb * (0.55 * uSky + 0.5 * uSunLight * light), skyOf(r), below ? 0.15 : mirror);
  c += uSunLight * light * 0.9 * pow(max(dot(r, uSun), 0.0), 160.0);
  float grid = max(0.16 * smoothstep(0.0, 1.0, 1.0 - far / 3000.0), 0.0);
  vec2 g = p / 10.0, w = max(fwidth(g), vec2(1e-6)), f = abs(fract(g - 0.5) - 0.5) / w;
  c = mix(c, uLine, uGrid * 0.2 * clamp(1.15 - min(f.x, f.y), 0.0, 1.0) * (1.0 - smoothstep(0.15, 0.45, max(w.x, w.y))) * (1.0 - smoothstep(80.0, 300.0, far)));
  oColour = shown(hazed(c, vPos), below ? 0.6 : mix(0.8, 1.0, smoothstep(2.0, 60.0, far)));
}`;
  const DEPTH_FRAGMENT = HEAD + "void main() {}";
  const SKY_VERTEX = HEAD + `
uniform mat4 uBack; out vec3 vAway;
void main() { vec2 p = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0); vec4 q = uBack * vec4(p, 1.0, 1.0); vAway = q.xyz / q.w; gl_Position = vec4(p, 0.99999, 1.0); }`;
  const SKY_FRAGMENT = HEAD + AIR + `
in vec3 vAway; out vec4 oColour;
void main() {
  vec3 d = normalize(vAway - uEye), c = skyOf(d);
  c += uSunLight * 2.2 * smoothstep(0.99955, 0.99985, dot(d, uSun));
  if (uEye.z > uWaterZ) c = mix(vec3(0.012, 0.10, 0.14), vec3(0.08, 0.32, 0.4), smoothstep(-0.2, 1.0, -d.z));
  else if (uVisible > 0.0) c = mix(uHorizon, c, 0.25);
  oColour = shown(c, 1.0);
}`;
  const LINE_VERTEX = HEAD + `
layout(location=0) in vec3 aFrom; layout(location=1) in vec3 aTo; layout(location=2) in vec2 aAlong;
uniform mat4 uView; uniform vec2 uScreen; uniform float uWidth; out float vAlong, vSide; out vec3 vPos;
void main() {
  vec4 a = uView * vec4(aFrom, 1.0), b = uView * vec4(aTo, 1.0);
  float near = 0.02; if (a.w < near && b.w < near) { gl_Position = vec4(2, 2, 2, 1); return; }
  if (a.w < near) a = mix(b, a, (b.w - near) / (b.w - a.w)); if (b.w < near) b = mix(a, b, (a.w - near) / (a.w - b.w));
  bool end = gl_VertexID > 1; float side = (gl_VertexID & 1) == 1 ? 1.0 : -1.0;
  vec2 d = (b.xy / b.w - a.xy / a.w) * uScreen; float n = length(d); d = n > 1e-4 ? d / n : vec2(1, 0);
  vec4 p = end ? b : a;
  p.xy += (vec2(-d.y, d.x) * side + d * (end ? 0.5 : -0.5)) * (uWidth + 1.0) / uScreen * p.w;
  vAlong = end ? aAlong.y : aAlong.x; vSide = side * (uWidth + 1.0); vPos = end ? aTo : aFrom; gl_Position = p; gl_Position.z -= 2e-5 * p.w;
}`;
  const LINE_FRAGMENT = HEAD + `
in float vAlong, vSide; in vec3 vPos; uniform vec4 uInk; uniform vec2 uDash; uniform float uWidth; out vec4 oColour;
void main() {
  if (uDash.x > 0.0 && fract(vAlong / uDash.x) > uDash.y) discard;
  oColour = vec4(uInk.rgb, uInk.a * clamp(uWidth + 0.8 - abs(vSide), 0.0, 1.0));
}`;
  const DISC_VERTEX = HEAD + `
uniform mat4 uView, uModel; uniform float uRadius; uniform vec3 uAt, uSide, uOther; out vec2 vDisc;
void main() { vec2 p = vec2((gl_VertexID & 1) == 1 ? 1.0 : -1.0, gl_VertexID > 1 ? 1.0 : -1.0) * 1.03; vDisc = p;
  gl_Position = uView * uModel * vec4(uAt + uRadius * (p.x * uSide + p.y * uOther), 1.0); }`;
  const DISC_FRAGMENT = HEAD + `
in vec2 vDisc; uniform vec4 uInk; uniform float uAngle, uBlades; out vec4 oColour;
void main() {
  float r = length(vDisc), w = fwidth(r); if (r > 1.0 + w) discard;
  float wave = 0.5 + 0.5 * cos(uBlades * (atan(vDisc.y, vDisc.x) - uAngle)), rim = smoothstep(0.9, 0.985, r);
  float a = uInk.a * (0.35 + 0.55 * pow(wave, 3.0) + 0.7 * rim) * smoothstep(0.05, 0.2, r) * (1.0 - smoothstep(1.0 - w, 1.0 + w, r));
  oColour = vec4(uInk.rgb, min(a, 0.9));
}`;

  // ---------------------------------------------------------------- vehicles
  const BLADES_SEEN = 30; // rad/s: below, single blades are seen

  class Body {
    constructor(gl, shape, role) {
      this.shape = shape; this.role = role; this.joints = shape.joints || []; this.broken = new Set();
      this.groups = []; this.discs = []; this.angles = this.joints.map(() => 0);
      const byKey = new Map();
      for (const part of shape.parts || []) {
        const moving = part.kind === "propeller", key = `${part.joint}|${part.place}|${moving}`;
        if (!byKey.has(key)) { byKey.set(key, { joint: part.joint, place: part.place, mesh: new Mesh(), blades: moving }); this.groups.push(byKey.get(key)); }
        const mesh = byKey.get(key).mesh, [paint, gloss] = LOOKS[part.look] || LOOKS.body, look = [...colour(paint), gloss];
        if (part.kind === "rod") mesh.rod(part.begin, part.end, part.radii, look, 18);
        else if (part.kind === "box") mesh.box(part.at, part.size, look);
        else if (part.kind === "ball") mesh.ball(part.at, part.size, look);
        else if (part.kind === "hull") mesh.hull(part.stations, part.square, look);
        else if (part.kind === "wing") mesh.wing(part.root, part.tip, part.chords, part.thick, look);
        else if (moving) {
          mesh.blades(part.at, part.axis, part.radius, part.blades, part.chord, look);
          const side = unit(cross(part.axis, Math.abs(part.axis[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0]));
          this.discs.push({ ...part, side, other: cross(part.axis, side) });
        }
      }
      this.radius = Math.max(0.15, ...this.groups.map((g) => g.mesh.radius));
      for (const group of this.groups) group.drawn = upload(gl, group.mesh);
      this.pose = null; this.track = null;
    }

    speed(joint) { return joint < 0 ? 0 : this.joints[joint].gain * ((this.pose && this.pose.joints && this.pose.joints[this.joints[joint].signal]) || 0); }

    matrix(joint, base) { // of a part that hangs on a joint
      const chain = [];
      for (let at = joint; at >= 0; at = this.joints[at].parent) chain.unshift(at);
      return chain.reduce((m, k) => times(m, about(this.joints[k].at, this.joints[k].axis, this.angles[k])), base);
    }

    turnJoints(dt) { // live: the spinning ones go on by their speed
      this.joints.forEach((joint, k) => {
        if (joint.kind === "turn") this.angles[k] = joint.bias + this.speed(k);
        else { const w = this.speed(k); this.angles[k] = (this.angles[k] + clamp(w, -90, 90) * dt) % (2 * Math.PI); }
      });
    }

    setTrack(track) {
      this.track = track;
      this.spun = this.joints.map((joint) => { // angle at every row
        if (joint.kind !== "spin" || joint.signal < 0 || !track.joints) return null;
        const wide = this.shape.signals.length, found = new Float32Array(track.time.length);
        for (let i = 1; i < found.length; i++) {
          const w = joint.gain * track.joints[(i - 1) * wide + joint.signal] || 0;
          found[i] = found[i - 1] + clamp(w, -90, 90) * Math.max(track.time[i] - track.time[i - 1], 0);
        }
        return found;
      });
    }

    row(time) { // the last one not after a time
      const all = this.track.time;
      let low = 0, high = all.length - 1;
      while (low < high) { const middle = (low + high + 1) >> 1; if (all[middle] <= time) low = middle; else high = middle - 1; }
      return low;
    }

    seek(time) {
      const t = this.track, i = this.row(time), j = Math.min(i + 1, t.time.length - 1), gap = t.time[j] - t.time[i];
      const k = gap > 0 ? clamp((time - t.time[i]) / gap, 0, 1) : 0;
      const between = (values, n) => Array.from({ length: n }, (_, c) => mix(values[n * i + c], values[n * j + c], k));
      let q = [1, 0, 0, 0];
      if (t.attitude) {
        const a = Array.from(t.attitude.subarray(4 * i, 4 * i + 4)), b = Array.from(t.attitude.subarray(4 * j, 4 * j + 4));
        const sign = a.reduce((s, v, c) => s + v * b[c], 0) < 0 ? -1 : 1, sum = a.map((v, c) => mix(v, sign * b[c], k)), n = Math.hypot(...sum) || 1;
        q = sum.map((v) => v / n);
      }
      const p = between(t.place, 3), before = Math.max(i - 1, 0), after = Math.min(before + 2, t.time.length - 1), dt = t.time[after] - t.time[before];
      const v = dt > 0 ? [0, 1, 2].map((c) => (t.place[3 * after + c] - t.place[3 * before + c]) / dt) : [0, 0, 0];
      const wide = this.shape.signals ? this.shape.signals.length : 0;
      this.pose = { time, p, q, v, m: fromQuaternion(q, p), row: i, joints: t.joints ? between(t.joints, wide) : null,
        wind: t.wind ? between(t.wind, 3) : null, thrust: t.thrust ? between(t.thrust, t.thrust.length / t.time.length) : null };
      this.joints.forEach((joint, n) => {
        if (joint.kind === "turn") this.angles[n] = joint.bias + this.speed(n);
        else if (this.spun[n]) this.angles[n] = mix(this.spun[n][i], this.spun[n][j], k);
      });
    }
  }

  function upload(gl, mesh) {
    const array = gl.createVertexArray(), buffer = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(mesh.data), gl.STATIC_DRAW);
    [[0, 3, 0], [1, 3, 12], [2, 4, 24]].forEach(([at, n, offset]) => { gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, n, gl.FLOAT, false, 40, offset); });
    gl.bindVertexArray(null);
    return { array, buffers: [buffer], count: mesh.data.length / 10, instances: 0, radius: mesh.radius };
  }

  const ROW_FLOATS = 16; // of an instance: three rows of its matrix, colour and style

  function instanced(gl, mesh, rows) {
    const drawn = upload(gl, mesh), buffer = gl.createBuffer();
    gl.bindVertexArray(drawn.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(rows), gl.STATIC_DRAW);
    for (let k = 0; k < 4; k++) {
      gl.enableVertexAttribArray(3 + k);
      gl.vertexAttribPointer(3 + k, 4, gl.FLOAT, false, 4 * ROW_FLOATS, 16 * k);
      gl.vertexAttribDivisor(3 + k, 1);
    }
    gl.bindVertexArray(null);
    drawn.buffers.push(buffer); drawn.instances = rows.length / ROW_FLOATS;
    return drawn;
  }

  function discard(gl, drawn) { gl.deleteVertexArray(drawn.array); drawn.buffers.forEach((b) => gl.deleteBuffer(b)); }

  // ---------------------------------------------------------------- the world
  const FAR = 6000; // m: as far as the ground reaches
  const NO_WATER = 1e9;

  function unpackHeights(ground) {
    const text = atob(ground.heights.bdata), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return Float32Array.from(new Int16Array(bytes.buffer), (v) => v * ground.heights.scale + ground.heights.offset);
  }

  class World {
    constructor(gl, data, look) {
      this.gl = gl; this.data = data; this.drawn = []; this.solids = [];
      const ground = (data && data.ground) || { height: 0, slope: [0, 0], colour: null };
      this.flat = !ground.heights;
      this.ground = ground;
      this.colour = ground.colour ? colour(ground.colour) : null;
      this.visible = (data && data.visibility) || 0;
      if (!this.flat) this.heights = unpackHeights(ground);
      this.land = upload(gl, this.makeGround());
      this.water = data && data.water ? upload(gl, plane(-data.water.height, [0, 0])) : null;
      this.waterZ = data && data.water ? -data.water.height : NO_WATER;
      this.waterColour = data && data.water ? colour(data.water.colour) : null;
      this.things = (data && data.things) || [];
      for (const thing of this.things) this.solids.push(solidOf(thing));
      for (const kind of Object.keys(SOLIDS)) {
        const rows = this.things.filter((t) => t.kind === kind).flatMap((t) => instanceRow(t));
        if (rows.length) this.drawn.push(instanced(gl, SOLIDS[kind](), rows));
      }
      for (const thing of this.things) if (thing.kind === "mesh") this.drawn.push(instanced(gl, meshOf(thing), instanceRow({ ...thing, size: [1, 1, 1] })));
      this.movers = ((data && data.movers) || []).map((mover) => {
        const mesh = mover.shape.kind === "mesh" ? meshOf(mover.shape) : SOLIDS[mover.shape.kind]();
        return { ...mover, drawn: upload(gl, mesh), local: matrixOf(mover.shape), paint: colour(mover.shape.colour) };
      });
      this.pads = ((data && data.pads) || []).map((pad) => ({ ...pad, drawn: upload(gl, padMesh(pad)) }));
      this.time = 0;
    }

    makeGround() {
      const g = this.ground, white = [1, 1, 1, 0];
      if (this.flat) return plane(-g.height, g.slope);
      const mesh = new Mesh(), north = [g.north[0] - FAR, ...g.north, g.north[g.north.length - 1] + FAR], east = [g.east[0] - FAR, ...g.east, g.east[g.east.length - 1] + FAR];
      const rows = north.map((n, i) => east.map((e, j) => [n, e, -this.heights[clamp(i - 1, 0, g.north.length - 1) * g.east.length + clamp(j - 1, 0, g.east.length - 1)]]));
      mesh.net(rows, white, false);
      return mesh;
    }

    height(n, e) { // of the ground
      const g = this.ground;
      if (this.flat) return g.height + g.slope[0] * n + g.slope[1] * e;
      const find = (all, v) => { let k = 0; while (k < all.length - 2 && all[k + 1] < v) k++; return [k, clamp((v - all[k]) / (all[k + 1] - all[k]), 0, 1)]; };
      const [i, a] = find(g.north, n), [j, b] = find(g.east, e), w = g.east.length, h = (k, l) => this.heights[k * w + l];
      return mix(mix(h(i, j), h(i, j + 1), b), mix(h(i + 1, j), h(i + 1, j + 1), b), a);
    }

    free(from, to) { // share of the way from one place to another that no obstacle blocks
      let share = 1;
      const way = sub(to, from);
      for (const solid of this.solids) share = Math.min(share, solid.meets(from, way));
      const steps = 12, low = clamp(0.5 * (-this.height(from[0], from[1]) - from[2]), 0, 0.15);
      for (let k = 1; k <= steps; k++) {
        const p = add(from, way, k / steps);
        if (k / steps < share && p[2] > -this.height(p[0], p[1]) - low) { share = Math.max((k - 1) / steps, 0.02); break; }
      }
      return share;
    }

    release() {
      const { gl } = this;
      for (const one of [this.land, this.water, ...this.drawn, ...this.movers.map((m) => m.drawn), ...this.pads.map((p) => p.drawn)]) if (one) discard(gl, one);
    }
  }

  function plane(z, slope) {
    const mesh = new Mesh(), at = (n, e) => [n, e, z - slope[0] * n - slope[1] * e], edge = [-FAR, -600, -60, 60, 600, FAR];
    mesh.net(edge.map((n) => edge.map((e) => at(n, e))), [1, 1, 1, 0], false);
    return mesh;
  }

  function matrixOf(thing) {
    const R = thing.R, p = thing.p, s = thing.kind === "mesh" ? [1, 1, 1] : thing.size;
    return [R[0] * s[0], R[1] * s[0], R[2] * s[0], 0, R[3] * s[1], R[4] * s[1], R[5] * s[1], 0, R[6] * s[2], R[7] * s[2], R[8] * s[2], 0, p[0], p[1], p[2], 1];
  }

  const rowsOf = (m) => [m[0], m[4], m[8], m[12], m[1], m[5], m[9], m[13], m[2], m[6], m[10], m[14]];

  function styleOf(thing) { // how a surface is painted; names are of the world's file
    if (thing.kind === "sphere" && /crown|tree|bush|leaf/.test(thing.name)) return 1;
    if (thing.kind === "box" && /building|house|tower|block|office|hotel/.test(thing.name) && thing.size[2] > 5) return 2;
    return 0;
  }

  function instanceRow(thing) {
    let seed = 0;
    for (const letter of thing.name) seed = (seed * 31 + letter.charCodeAt(0)) % 9973;
    const style = styleOf(thing), shade = style === 1 ? 0.82 + 0.36 * (seed / 9973) : 1, c = colour(thing.colour);
    return [...rowsOf(matrixOf(thing)), c[0] * (style === 1 ? shade * (0.9 + 0.3 * ((seed * 7) % 100) / 100) : 1), c[1] * shade, c[2] * shade, style];
  }

  function meshOf(thing) {
    const mesh = new Mesh(), v = thing.vertices, at = (k) => [v[3 * k], v[3 * k + 1], v[3 * k + 2]];
    for (let i = 0; i < thing.triangles.length; i += 3) mesh.facet(at(thing.triangles[i]), at(thing.triangles[i + 1]), at(thing.triangles[i + 2]), WHITE);
    return mesh;
  }

  function padMesh(pad) {
    const mesh = new Mesh(), c = [...colour(pad.colour), 0.05], ring = (r) => Array.from({ length: 40 }, (_, k) => [r * Math.cos(k * Math.PI / 20), r * Math.sin(k * Math.PI / 20), 0]);
    mesh.cap(ring(0.84 * pad.radius), c);
    mesh.net([ring(0.84 * pad.radius), ring(pad.radius)], [0.95, 0.95, 0.95, 0]);
    return mesh;
  }

  function solidOf(thing) { // for cameras: where a ray enters, as a share of its length
    const R = thing.R, p = thing.p, half = thing.kind === "box" ? thing.size.map((v) => v / 2) : thing.kind === "cylinder" ? [thing.size[0], thing.size[1], thing.size[2] / 2] : thing.size;
    let low = half.map((v) => -v), high = half;
    if (thing.kind === "mesh") {
      low = [1e9, 1e9, 1e9]; high = [-1e9, -1e9, -1e9];
      thing.vertices.forEach((v, i) => { low[i % 3] = Math.min(low[i % 3], v); high[i % 3] = Math.max(high[i % 3], v); });
    }
    const within = (d) => [0, 3, 6].map((k) => R[k] * d[0] + R[k + 1] * d[1] + R[k + 2] * d[2]);
    return {
      meets(from, way) {
        const a = within(sub(from, p)), b = within(way);
        let begin = 0, end = 1;
        if (thing.kind === "sphere") {
          const r = half[0] * 1.03, B = dot(a, b), A = dot(b, b) || 1e-9, C = dot(a, a) - r * r, D = B * B - A * C;
          if (C < 0 || D < 0) return 1;
          const t = (-B - Math.sqrt(D)) / A;
          return t > 0 && t < 1 ? t : 1;
        }
        for (let k = 0; k < 3; k++) {
          if (Math.abs(b[k]) < 1e-9) { if (a[k] < low[k] || a[k] > high[k]) return 1; continue; }
          const [s, t] = [(low[k] - a[k]) / b[k], (high[k] - a[k]) / b[k]].sort((x, y) => x - y);
          begin = Math.max(begin, s); end = Math.min(end, t);
        }
        return begin < end && begin > 1e-6 ? begin : 1;
      },
    };
  }

  function moverAt(mover, time) { // as Mover.pose_at of ironbird/world/model.py
    const { times: all, places, turns } = mover, first = all[0], last = all[all.length - 1];
    let at = time;
    if (mover.repeat && at > first) at = first + ((at - first) % (last - first));
    at = clamp(at, first, last);
    let i = 0;
    while (i < all.length - 2 && all[i + 1] < at) i++;
    const j = Math.min(i + 1, all.length - 1), span = all[j] - all[i], k = span > 0 ? (at - all[i]) / span : 0;
    const p = [0, 1, 2].map((c) => mix(places[i][c], places[j][c], k)), turn = [0, 1, 2].map((c) => mix(turns[i][c], turns[j][c], k));
    if (mover.sway) {
      const [period, heave, roll, pitch] = mover.sway, angle = 2 * Math.PI * time / period;
      p[2] -= heave * Math.sin(angle); turn[0] += roll * Math.cos(angle); turn[1] += pitch * Math.cos(angle);
    }
    const [x, y, z] = turn.map((v) => v / 2), [cx, cy, cz, sx, sy, sz] = [Math.cos(x), Math.cos(y), Math.cos(z), Math.sin(x), Math.sin(y), Math.sin(z)];
    return fromQuaternion([cx * cy * cz + sx * sy * sz, sx * cy * cz - cx * sy * sz, cx * sy * cz + sx * cy * sz, cx * cy * sz - sx * sy * cz], p);
  }

  // ---------------------------------------------------------------- the view
  const CAMERAS = ["chase", "orbit", "board", "ground", "top", "whole"];
  const PROGRAMS = {
    solid: [SOLID_VERTEX, SOLID_FRAGMENT], ghost: [SOLID_VERTEX, GHOST_FRAGMENT], ground: [SOLID_VERTEX, GROUND_FRAGMENT], water: [SOLID_VERTEX, WATER_FRAGMENT],
    depth: [SOLID_VERTEX, DEPTH_FRAGMENT], sky: [SKY_VERTEX, SKY_FRAGMENT], line: [LINE_VERTEX, LINE_FRAGMENT], disc: [DISC_VERTEX, DISC_FRAGMENT],
  };

  class View {
    constructor(place, options = {}) {
      this.place = place;
      this.canvas = document.createElement("canvas");
      this.over = document.createElement("canvas"); // labels and instruments
      for (const one of [this.canvas, this.over]) { Object.assign(one.style, { position: "absolute", inset: "0", width: "100%", height: "100%", display: "block" }); place.append(one); }
      this.over.style.touchAction = "pan-y"; this.over.style.cursor = "grab";
      const gl = this.gl = this.canvas.getContext("webgl2", { antialias: !isSoftware(), alpha: false, preserveDrawingBuffer: true, powerPreference: "high-performance" });
      if (!gl) throw new Error("this browser has no WebGL 2");
      this.programs = Object.fromEntries(Object.entries(PROGRAMS).map(([name, [v, f]]) => [name, program(gl, v, f)]));
      this.empty = gl.createVertexArray();
      this.near = shadowMap(gl, isSoftware() ? 256 : 512); this.far = shadowMap(gl, isSoftware() ? 512 : 1024); this.farAt = null;
      this.bodies = new Map(); this.paths = new Map(); this.marks = new Map();
      this.options = { instruments: true, horizon: true, arrows: false, labels: true, dark: null, ...options };
      this.time = 0; this.mode = "chase"; this.focus = null; this.turn = [-2.35, 0.32]; this.zoom = 1; this.eye = null; this.hit = ""; this.scale = 1; this.moving = isSoftware() ? 0.5 : 0; this.pending = false;
      this.world = new World(gl, null);
      this.onframe = () => {};
      this.pointer();
      new ResizeObserver(() => this.ask()).observe(place);
    }

    // ------------------------------------------------------------ what is shown
    setWorld(data) { this.world.release(); this.world = new World(this.gl, data); this.farAt = null; this.eye = null; this.ask(); }

    add(name, { shape, role = "truth", ink = "" }) {
      this.remove(name);
      const body = new Body(this.gl, shape, role);
      body.ink = ink;
      this.bodies.set(name, body);
      if (this.focus === null || !this.bodies.has(this.focus)) this.focus = name;
      this.ask();
      return body;
    }

    remove(name) {
      const body = this.bodies.get(name);
      if (!body) return;
      body.groups.forEach((g) => discard(this.gl, g.drawn));
      this.bodies.delete(name);
    }

    setTrack(name, track) { this.bodies.get(name).setTrack(track); this.seek(this.time); }

    pose(name, { time = 0, p, q, R, joints = null, wind = null, thrust = null, v = null }) { // newly computed, by a running model
      const body = this.bodies.get(name);
      if (!body) return;
      const m = R ? [R[0], R[1], R[2], 0, R[3], R[4], R[5], 0, R[6], R[7], R[8], 0, p[0], p[1], p[2], 1] : fromQuaternion(q, p), old = body.pose, dt = old ? time - old.time : 0;
      const moved = dt > 1e-4 ? [0, 1, 2].map((k) => mix(old.v[k], (p[k] - old.p[k]) / dt, 0.3)) : old ? old.v : [0, 0, 0];
      body.pose = { time, p: Array.from(p), v: v || moved, m, joints, wind, thrust, row: 0 };
      body.turnJoints(clamp(dt, 0, 0.1));
      if (name === this.focus) this.time = time;
      this.ask();
    }

    setPath(name, path) { // points: north, east, down; null takes it away
      const old = this.paths.get(name);
      if (old) discard(this.gl, old.drawn);
      this.paths.delete(name);
      if (path && path.points.length >= 6) this.paths.set(name, { width: 1.2, dash: [0, 1], alpha: 1, ...path, drawn: ribbon(this.gl, path.points, path.times) });
      this.ask();
    }

    setMark(name, mark) { if (mark) this.marks.set(name, mark); else this.marks.delete(name); this.ask(); }

    setBroken(name, places) { const body = this.bodies.get(name); if (body) { body.broken = places; this.ask(); } }

    setHit(name) { this.hit = name; this.ask(); }

    setLook(azimuth, lift, away) { // orbit around the followed body, from a direction in the world
      this.setCamera("orbit");
      this.turn = [azimuth, lift];
      const body = this.bodies.get(this.focus);
      if (body) this.zoom = clamp(3.5 * body.radius / away, 0.05, 12);
    }

    setCamera(mode) { this.mode = mode; this.eye = null; this.zoom = 1; this.turn = mode === "orbit" ? [-2.35, 0.36] : [0, mode === "chase" ? 0.26 : 0.4]; this.ask(); }

    seek(time) {
      this.time = time;
      for (const body of this.bodies.values()) if (body.track) body.seek(time);
      this.ask();
    }

    ask(sharp = false) { // one drawing for any number of changes
      this.sharp = sharp;
      if (this.pending) return;
      this.pending = true;
      requestAnimationFrame((now) => { this.pending = false; this.draw(now); });
    }

    pointer() {
      const { over } = this;
      let last = null, apart = 0;
      const held = new Map();
      over.addEventListener("pointerdown", (event) => { held.set(event.pointerId, [event.clientX, event.clientY]); last = [event.clientX, event.clientY]; apart = 0; over.setPointerCapture(event.pointerId); over.style.cursor = "grabbing"; });
      over.addEventListener("pointermove", (event) => {
        if (!held.has(event.pointerId)) return;
        held.set(event.pointerId, [event.clientX, event.clientY]);
        if (held.size === 2) {
          const [a, b] = [...held.values()], wide = Math.hypot(a[0] - b[0], a[1] - b[1]);
          if (apart) this.nearer(wide / apart);
          apart = wide;
        } else if (last) this.turned((event.clientX - last[0]) * 0.007, (event.clientY - last[1]) * 0.006);
        last = [event.clientX, event.clientY];
      });
      for (const name of ["pointerup", "pointercancel"]) over.addEventListener(name, (event) => { held.delete(event.pointerId); last = null; apart = 0; over.style.cursor = "grab"; });
      over.addEventListener("wheel", (event) => {
        if (!this.options.wheel && !event.ctrlKey && !event.shiftKey && !this.place.contains(document.activeElement)) return; // the page scrolls
        event.preventDefault();
        this.nearer(Math.exp(-(event.deltaY || event.deltaX) * 0.001));
      }, { passive: false });
    }

    nearer(factor) { this.zoom = clamp(this.zoom * factor, 0.05, 12); this.ask(); }

    turned(across, up) { this.turn = [this.turn[0] + across, clamp(this.turn[1] + up, -0.35, 1.5)]; this.ask(); }

    // ------------------------------------------------------------ cameras
    bounds() { // of all paths
      const low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9];
      const put = (p) => { if (finite(p)) for (let k = 0; k < 3; k++) { low[k] = Math.min(low[k], p[k]); high[k] = Math.max(high[k], p[k]); } };
      for (const body of this.bodies.values()) {
        if (body.track) for (let i = 0; i < body.track.time.length; i += 5) put(Array.from(body.track.place.subarray(3 * i, 3 * i + 3)));
        else if (body.pose) put(body.pose.p);
      }
      for (const path of this.paths.values()) for (let i = 0; i + 2 < path.points.length; i += 3) put(Array.from(path.points.slice(i, i + 3)));
      return low[0] > high[0] ? [[-1, -1, -1], [1, 1, 0]] : [low, high];
    }

    place3(dt) { // eye, target, up, angle of view
      const body = this.bodies.get(this.focus), pose = body && body.pose, up = [0, 0, -1];
      const wide = body ? body.radius : 1, angle = 0.76, narrow = Math.max(1, 1.35 * this.height / Math.max(this.width, 1));
      if (this.mode === "whole" || !pose || !finite(pose.p)) {
        const [low, high] = this.bounds(), middle = low.map((v, k) => (v + high[k]) / 2), reach = Math.max(size(sub(high, low)) / 2, 2 * wide, 1);
        const far = 2.2 * narrow * reach / this.zoom, [a, e] = [this.turn[0] - 2.4, Math.max(this.turn[1], 0.03)];
        return this.settled(add(middle, [Math.cos(a) * Math.cos(e), Math.sin(a) * Math.cos(e), -Math.sin(e)], far), middle, up, angle, 60, dt, false);
      }
      const p = pose.p, away = 3.5 * narrow * wide / this.zoom;
      if (this.mode === "board") {
        const front = apply(pose.m, [0.55 * wide, 0, -0.12 * wide]), ahead = turnOnly(about([0, 0, 0], turnOnly(pose.m, [0, 0, 1]), this.turn[0]), turnOnly(pose.m, [1, 0, 0.08 - 0.5 * (this.turn[1] - 0.4)]));
        return { eye: front, target: add(front, ahead, 10), up: turnOnly(pose.m, [0, 0, -1]), angle: 1.25 };
      }
      if (this.mode === "ground") {
        const [low, high] = this.bounds(), spread = clamp(0.25 * size(sub(high, low)), 6 * wide, 40), a = this.turn[0] + 3.9, home = this.home || [0, 0, 0];
        const n = home[0] + spread * Math.cos(a), e = home[1] + spread * Math.sin(a), eye = [n, e, -this.world.height(n, e) - 1.7];
        return { eye, target: p, up, angle: clamp(8 * wide / Math.max(size(sub(p, eye)), 1) / this.zoom, 0.09, 1.0) };
      }
      if (this.mode === "top") {
        const [low, high] = this.bounds(), tall = clamp(0.5 * size(sub(high, low)), 12 * wide, 400) / this.zoom;
        return { eye: add(p, [0, 0, -tall]), target: p, up: [Math.cos(this.turn[0]), Math.sin(this.turn[0]), 0], angle };
      }
      let a = this.turn[0];
      if (this.mode === "chase") {
        const nose = turnOnly(pose.m, [1, 0, 0]), v = pose.v, quick = Math.hypot(v[0], v[1]);
        const want = Math.abs(nose[2]) > 0.8 ? (quick > 1 ? Math.atan2(v[1], v[0]) : this.heading || 0) : Math.atan2(nose[1], nose[0]);
        const old = this.heading === undefined || !this.eye ? want : this.heading;
        const gap = Math.atan2(Math.sin(want - old), Math.cos(want - old));
        this.heading = old + gap * (1 - Math.exp(-3 * dt));
        a += this.heading + Math.PI + 0.55;
      }
      const e = this.turn[1], eye = add(p, [Math.cos(a) * Math.cos(e), Math.sin(a) * Math.cos(e), -Math.sin(e)], away);
      return this.settled(eye, p, up, angle, away, dt, true);
    }

    settled(want, target, up, angle, away, dt, damped) { // moved softly, never into an obstacle or the ground
      let eye = want;
      if (damped && this.eye && this.mode === "chase") {
        const offset = sub(want, target), old = sub(this.eye, this.seen);
        if (size(sub(old, offset)) < 2 * away) { const k = 1 - Math.exp(-6 * dt); eye = add(target, [0, 1, 2].map((c) => mix(old[c], offset[c], k))); }
      }
      this.eye = eye; this.seen = target;
      const share = this.world.free(target, eye);
      if (share < 1 && damped) eye = add(target, sub(eye, target), Math.max(0.92 * share, 0.03));
      if (!(this.world.waterZ < NO_WATER && target[2] > this.world.waterZ)) eye = [eye[0], eye[1], Math.min(eye[2], -this.world.height(eye[0], eye[1]) - 0.12)];
      return { eye, target, up, angle };
    }

    isDark() { return this.options.dark === null ? matchMedia("(prefers-color-scheme: dark)").matches : this.options.dark; }

    ink(name) { const pair = INKS[name] || INKS.plain; return pair[this.isDark() ? 1 : 0]; }

    // ------------------------------------------------------------ drawing
    draw(now = performance.now()) {
      const { gl } = this, ratio = Math.min(window.devicePixelRatio || 1, 2);
      this.width = this.place.clientWidth; this.height = this.place.clientHeight;
      if (!this.width || !this.height || gl.isContextLost()) return;
      const dt = this.lastDraw ? clamp((now - this.lastDraw) / 1000, 0, 0.2) : 0.2;
      this.lastDraw = now;
      this.keepPace(now);
      const w = Math.max(1, Math.round(this.width * ratio * this.scale)), h = Math.max(1, Math.round(this.height * ratio * this.scale));
      if (this.canvas.width !== w || this.canvas.height !== h) { this.canvas.width = w; this.canvas.height = h; }
      const look = this.look = this.isDark() ? DARK : LIGHT;
      const lift = look.high * Math.PI / 180, sun = this.sun = [Math.cos(lift) * Math.cos(2.3), Math.cos(lift) * Math.sin(2.3), -Math.sin(lift)];
      const { eye, target, up, angle } = this.place3(dt);
      if (!finite(eye) || !finite(target)) return;
      this.eyeNow = eye;
      const away = this.away = size(sub(eye, target)), near = clamp(0.02 * away, 0.02, 2);
      const view = this.view = times(perspective(angle, this.width / this.height, near, 9000), lookAt(eye, target, up));
      this.farView = this.farView || times(boxView(1, 0, 1), lookAt([0, 0, 0], [1, 0, 0], up));
      gl.enable(gl.DEPTH_TEST); gl.disable(gl.BLEND); gl.depthMask(true); gl.depthFunc(gl.LEQUAL);
      this.shadows(target, away);
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
      gl.viewport(0, 0, w, h);
      gl.clear(gl.DEPTH_BUFFER_BIT);
      this.drawBodies(); // near things first: what they hide is not computed
      this.drawThings();
      this.drawGround();
      this.drawSky(view);
      if (this.world.water) this.drawWater();
      this.drawPaths(w, h);
      this.drawDiscs();
      this.drawGhosts();
      this.overlay(ratio);
      this.onframe(this.time);
    }

    keepPace(now) { // in motion fewer points where there is no graphics card; all of them when it stands still
      clearTimeout(this.rest);
      const gap = now - (this.drawnAt || 0);
      this.drawnAt = now;
      if (this.sharp) { this.sharp = false; return; } // the next motion begins as coarse as the last
      if (this.moving) { this.scale = this.moving; this.moving = 0; }
      if (gap < 400) {
        this.gap = mix(this.gap || 30, gap, 0.2);
        if (this.gap > 45 && this.scale > 0.5) { this.scale = Math.max(0.5, this.scale * 0.85); this.gap = 30; }
        else if (this.gap < 20 && this.scale < 1) { this.scale = Math.min(1, this.scale * 1.1); this.gap = 30; }
      }
      if (this.scale < 1) this.rest = setTimeout(() => { this.moving = this.scale; this.scale = 1; this.ask(true); }, 350);
    }

    use(name) {
      const { gl } = this, p = this.programs[name];
      gl.useProgram(p.id);
      const L = this.look, w = this.world, linear = (text) => colour(text);
      const put3 = (key, v) => p.at(key) && gl.uniform3fv(p.at(key), v), put1 = (key, v) => p.at(key) && gl.uniform1f(p.at(key), v);
      const putM = (key, v) => p.at(key) && gl.uniformMatrix4fv(p.at(key), false, v);
      put3("uEye", this.eyeNow); put3("uSun", this.sun); put3("uSunLight", L.sun.map((v) => v * L.power)); put3("uSky", L.sky); put3("uBounce", L.bounce);
      put3("uZenith", linear(L.zenith)); put3("uHorizon", linear(L.horizon)); put1("uHaze", L.haze); put1("uWaterZ", w.waterZ); put1("uVisible", w.visible);
      put3("uLine", linear(L.line)); put1("uGrid", this.isDark() ? 0.6 : 1); put1("uLift", 0); put1("uTime", this.time);
      putM("uView", this.view); putM("uNearView", this.nearView); putM("uFarView", this.farView);
      put1("uSoft", this.soft || 0.001); put1("uBias", this.bias || 0.001); put1("uFine", isSoftware() ? 0 : 1); put1("uFarOn", this.farAt ? 1 : 0);
      if (p.at("uPaint")) gl.uniform4f(p.at("uPaint"), 0, 0, 0, 0);
      if (p.at("uNear")) {
        gl.activeTexture(gl.TEXTURE0); gl.bindTexture(gl.TEXTURE_2D, this.near.texture); gl.uniform1i(p.at("uNear"), 0);
        gl.activeTexture(gl.TEXTURE1); gl.bindTexture(gl.TEXTURE_2D, this.far.texture); gl.uniform1i(p.at("uFar"), 1);
      }
      return p;
    }

    put(drawn, matrix, tint = [1, 1, 1], style = 0) {
      const { gl } = this;
      gl.bindVertexArray(drawn.array);
      if (drawn.instances) return void gl.drawArraysInstanced(gl.TRIANGLES, 0, drawn.count, drawn.instances);
      gl.vertexAttrib4f(3, matrix[0], matrix[4], matrix[8], matrix[12]);
      gl.vertexAttrib4f(4, matrix[1], matrix[5], matrix[9], matrix[13]);
      gl.vertexAttrib4f(5, matrix[2], matrix[6], matrix[10], matrix[14]);
      gl.vertexAttrib4f(6, tint[0], tint[1], tint[2], style);
      gl.drawArrays(gl.TRIANGLES, 0, drawn.count);
    }

    solidBodies() { return [...this.bodies.values()].filter((b) => b.role === "truth" && b.pose && finite(b.pose.p)); }

    shadows(target, away) {
      const { gl } = this, bodies = this.solidBodies(), focus = this.bodies.get(this.focus), at = focus && focus.pose && finite(focus.pose.p) ? focus.pose.p : target;
      let half = focus ? 1.25 * focus.radius : 2;
      for (const b of bodies) { const far = size(sub(b.pose.p, at)); if (far < 25) half = Math.max(half, far + 1.25 * b.radius); }
      const above = Math.max(0, -at[2] - this.world.height(at[0], at[1]));
      const deep = 4.2 * half + 1.2 * above / -this.sun[2] + 2;
      this.nearView = times(boxView(half, 0, deep), lookAt(add(at, this.sun, 1.5 * half), at, [0, 0, -1]));
      this.bias = 0.012 * half / deep;
      this.soft = (1.1 + Math.min(26, 18 * above / (60 * half))) / 512;
      this.depthPass(this.near, this.nearView, () => this.eachPart(bodies, (group, m, body) => { if (!group.blades || Math.abs(body.speed(group.joint)) < 2 * BLADES_SEEN) this.put(group.drawn, m); }));
      if (!this.world.drawn.length && !this.world.movers.length && this.world.flat) { this.farAt = null; return; }
      const reach = clamp(1.2 * away, 60, 220), middle = add(target, sub(this.eyeNow, target), -0.5 * Math.min(1, reach / Math.max(away, 1)));
      if (this.farAt && size(sub(middle, this.farAt)) < 0.2 * reach && this.farReach === reach && !this.world.movers.length && this.farDark === this.isDark()) return;
      this.farAt = middle; this.farReach = reach; this.farDark = this.isDark();
      this.farView = times(boxView(reach, 1, 1400), lookAt(add(middle, this.sun, 500), middle, [0, 0, -1]));
      this.depthPass(this.far, this.farView, () => this.eachThing((drawn, m) => this.put(drawn, m)));
    }

    depthPass(map, view, draw) {
      const { gl } = this, p = this.programs.depth;
      gl.bindFramebuffer(gl.FRAMEBUFFER, map.frame);
      gl.viewport(0, 0, map.size, map.size);
      gl.clear(gl.DEPTH_BUFFER_BIT);
      gl.useProgram(p.id);
      gl.uniformMatrix4fv(p.at("uView"), false, view);
      gl.uniform1f(p.at("uLift"), 0);
      gl.enable(gl.POLYGON_OFFSET_FILL); gl.polygonOffset(1.5, 2);
      draw();
      gl.disable(gl.POLYGON_OFFSET_FILL);
    }

    eachPart(bodies, draw) {
      for (const body of bodies) for (const group of body.groups) draw(group, body.matrix(group.joint, body.pose.m), body);
    }

    eachThing(draw) {
      for (const drawn of this.world.drawn) draw(drawn, null);
      for (const mover of this.world.movers) draw(mover.drawn, times(moverAt(mover, this.time), mover.local), mover.paint);
    }

    drawSky(view) {
      const { gl } = this, p = this.use("sky");
      gl.uniformMatrix4fv(p.at("uBack"), false, inverse(view));
      gl.depthMask(false);
      gl.bindVertexArray(this.empty);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
      gl.depthMask(true);
    }

    drawGround() {
      const { gl } = this, p = this.use("ground"), own = this.world.colour, look = colour(this.look.ground);
      const base = own ? own.map((v, k) => v * (this.isDark() ? 0.3 : 0.9) + (this.isDark() ? 0.1 * look[k] : 0)) : look;
      if (this.world.water) gl.uniform1f(p.at("uGrid"), 0.6);
      // a flat ground is drawn around the camera: single precision stays fine
      const m = this.world.flat && !this.world.ground.slope[0] && !this.world.ground.slope[1]
        ? [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, Math.round(this.eyeNow[0] / 100) * 100, Math.round(this.eyeNow[1] / 100) * 100, 0, 1] : IDENTITY;
      this.put(this.world.land, m, base);
    }

    drawThings() {
      const { gl } = this, p = this.use("solid");
      this.eachThing((drawn, m, paint) => this.put(drawn, m, paint));
      if (this.world.pads.length) {
        gl.uniform1f(p.at("uLift"), 1e-5);
        for (const pad of this.world.pads) {
          const deck = pad.mover && this.world.movers.find((m) => m.name === pad.mover);
          const top = deck && deck.shape.kind === "box" ? 0.5 * deck.shape.size[2] : 0;
          const m = deck ? times(moverAt(deck, this.time), moved([pad.north, pad.east, -top - 0.03])) : moved([pad.north, pad.east, -pad.height - 0.03]);
          this.put(pad.drawn, m);
        }
        gl.uniform1f(p.at("uLift"), 0);
      }
      if (!this.hit) return;
      const thing = this.world.things.find((t) => t.name === this.hit), mover = this.world.movers.find((t) => t.name === this.hit);
      if (!thing && !mover) return;
      gl.uniform4f(p.at("uPaint"), ...RED, 0.97);
      gl.uniform1f(p.at("uLift"), 4e-5);
      if (mover) this.put(mover.drawn, times(moverAt(mover, this.time), mover.local));
      else {
        if (!this.hitDrawn || this.hitDrawn.name !== this.hit) this.hitDrawn = { name: this.hit, drawn: upload(gl, thing.kind === "mesh" ? meshOf(thing) : SOLIDS[thing.kind]()) };
        this.put(this.hitDrawn.drawn, matrixOf(thing), [1, 1, 1], styleOf(thing) === 1 ? 1 : 0);
      }
      gl.uniform1f(p.at("uLift"), 0);
      gl.uniform4f(p.at("uPaint"), 0, 0, 0, 0);
    }

    isBroken(body, group) { return body.broken.has("*") || (group.place && body.broken.has(group.place)); }

    drawBodies() {
      const { gl } = this, p = this.use("solid"), bodies = this.solidBodies(), seen = [];
      this.eachPart(bodies, (group, m, body) => {
        if (group.blades && Math.abs(body.speed(group.joint)) > 2 * BLADES_SEEN) return;
        const bad = this.isBroken(body, group);
        if (bad) seen.push([group, m]);
        gl.uniform4f(p.at("uPaint"), ...RED, bad ? 0.94 : 0);
        this.put(group.drawn, m);
      });
      gl.uniform4f(p.at("uPaint"), 0, 0, 0, 0);
      if (!seen.length) return;
      const q = this.use("ghost"); // a broken part is seen through what hides it
      gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA); gl.depthFunc(gl.GREATER); gl.depthMask(false);
      gl.uniform4f(q.at("uPaint"), 1, 0.05, 0.03, 0.6);
      for (const [group, m] of seen) this.put(group.drawn, m);
      gl.disable(gl.BLEND); gl.depthFunc(gl.LEQUAL); gl.depthMask(true);
    }

    drawWater() {
      const { gl } = this;
      this.use("water");
      gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
      const own = this.world.waterColour || colour(this.look.water), dim = this.isDark() ? 0.35 : 0.8;
      this.put(this.world.water, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, Math.round(this.eyeNow[0] / 100) * 100, Math.round(this.eyeNow[1] / 100) * 100, 0, 1], own.map((v) => v * dim));
      gl.disable(gl.BLEND);
    }

    drawPaths(w, h) {
      const { gl } = this, p = this.use("line");
      gl.uniform2f(p.at("uScreen"), w / 2, h / 2);
      gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA); gl.depthMask(false);
      const px = w / this.width, dash = 2 ** Math.round(Math.log2(Math.max(this.away, 0.1) / 16)); // as long on the screen, near and far
      for (const path of this.paths.values()) {
        const c = screen(path.colour || this.ink(path.ink));
        let from = 0, to = path.drawn.count;
        if (path.times && path.until) { // up to now
          let k = 0;
          while (k < path.times.length && path.times[k] <= this.time) k++;
          to = clamp(k - 1, 0, path.drawn.count);
          if (path.since) { let s = 0; while (s < path.times.length && path.times[s] < this.time - path.since) s++; from = Math.min(s, to); }
        }
        gl.uniform4f(p.at("uInk"), ...c, path.alpha);
        gl.uniform2f(p.at("uDash"), path.dash[1] < 1 ? path.dash[0] * dash : 0, path.dash[1]);
        gl.uniform1f(p.at("uWidth"), path.width * px / 2 + 0.3);
        this.strip(path.drawn, from, to);
      }
      if (this.options.arrows) this.drawArrows(p, px);
      gl.depthMask(true); gl.disable(gl.BLEND);
    }

    strip(drawn, from, to) {
      const { gl } = this;
      if (to <= from) return;
      gl.bindVertexArray(drawn.array);
      gl.bindBuffer(gl.ARRAY_BUFFER, drawn.buffers[0]);
      [[0, 3, 0], [1, 3, 12], [2, 2, 24]].forEach(([at, n, offset]) => gl.vertexAttribPointer(at, n, gl.FLOAT, false, 32, offset + 32 * from));
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, to - from);
    }

    drawArrows(p, px) { // thrust of each rotor and the wind, in scale
      const { gl } = this, body = this.bodies.get(this.focus);
      if (!body || !body.pose) return;
      this.arrowText = [];
      const draw = (begin, way, ink, wide) => {
        const long = size(way);
        if (!(long > 0.02 * body.radius) || !finite(begin)) return null;
        const end = add(begin, way), to = unit(way), side = unit(cross(to, sub(this.eyeNow, begin))), head = Math.min(0.3 * long, 0.12 * body.radius);
        const back = add(end, to, -head), drawn = ribbon(gl, [...begin, ...end, ...add(back, side, 0.5 * head), ...end, ...add(back, side, -0.5 * head)]);
        gl.uniform4f(p.at("uInk"), ...screen(this.ink(ink)), 0.95);
        gl.uniform2f(p.at("uDash"), 0, 1);
        gl.uniform1f(p.at("uWidth"), wide * px / 2 + 0.3);
        this.strip(drawn, 0, drawn.count);
        discard(gl, drawn);
        return end;
      };
      const pose = body.pose;
      if (pose.thrust) {
        const most = this.thrustScale || Math.max(...pose.thrust.map(Math.abs), 1e-3);
        body.discs.forEach((disc) => {
          const number = Number(disc.place.split("/")[1]), force = pose.thrust[number - 1];
          if (!Number.isFinite(force)) return;
          const m = body.matrix(body.joints[disc.joint].parent, pose.m);
          draw(apply(m, disc.at), turnOnly(m, disc.axis).map((v) => v * force / most * 0.9 * body.radius), body.broken.has(disc.place) ? "bad" : "good", 2.6);
        });
      }
      if (pose.wind && finite(pose.wind) && size(pose.wind) > 0.2) {
        const speed = size(pose.wind), way = pose.wind.map((v) => v * 0.22 * body.radius), begin = add(add(pose.p, [0, 0, -1.5 * body.radius]), way, -0.5);
        const end = draw(begin, way, "wind", 3);
        if (end) this.arrowText.push({ at: end, text: `wind ${speed.toFixed(1)} m/s`, ink: "wind" });
      }
    }

    drawDiscs() {
      const { gl } = this, p = this.use("disc");
      gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA); gl.depthMask(false);
      gl.bindVertexArray(this.empty);
      for (const body of this.bodies.values()) {
        if (!body.pose || !finite(body.pose.p) || (body.role !== "truth")) continue;
        for (const disc of body.discs) {
          const w = Math.abs(body.speed(disc.joint)), blur = clamp((w - 0.5 * BLADES_SEEN) / (1.5 * BLADES_SEEN), 0, 1), bad = body.broken.has(disc.place) || body.broken.has("*");
          if (blur <= 0 && !bad) continue;
          const c = bad ? [0.86, 0.12, 0.08] : this.isDark() ? [0.72, 0.78, 0.85] : [0.13, 0.16, 0.2];
          const m = body.matrix(body.joints[disc.joint].parent, body.pose.m);
          gl.uniformMatrix4fv(p.at("uModel"), false, m);
          gl.uniform1f(p.at("uRadius"), disc.radius);
          gl.uniform3fv(p.at("uAt"), disc.at); gl.uniform3fv(p.at("uSide"), disc.side); gl.uniform3fv(p.at("uOther"), disc.other);
          gl.uniform4f(p.at("uInk"), ...c, (bad ? 0.75 : 0.34) * Math.max(blur, bad ? 0.55 : 0));
          gl.uniform1f(p.at("uAngle"), body.angles[disc.joint]); gl.uniform1f(p.at("uBlades"), disc.blades);
          gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
        }
      }
      gl.depthMask(true); gl.disable(gl.BLEND);
    }

    drawGhosts() {
      const { gl } = this, focus = this.bodies.get(this.focus);
      for (const [name, body] of this.bodies) {
        if (body.role === "truth" || !body.pose || !finite(body.pose.p) || name === this.focus) continue;
        if (focus && focus.pose && size(sub(focus.pose.p, body.pose.p)) < 0.04 * focus.radius) continue; // in the same place
        gl.colorMask(false, false, false, false);
        const d = this.programs.depth;
        gl.useProgram(d.id);
        gl.uniformMatrix4fv(d.at("uView"), false, this.view); gl.uniform1f(d.at("uLift"), 0);
        this.eachPart([body], (group, m) => this.put(group.drawn, m));
        gl.colorMask(true, true, true, true);
        const p = this.use("ghost");
        gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
        gl.uniform4f(p.at("uPaint"), ...colour(this.ink(body.role === "estimate" ? "estimate" : "twin")), 0.62);
        this.eachPart([body], (group, m) => this.put(group.drawn, m));
        gl.disable(gl.BLEND);
      }
    }

    // ------------------------------------------------------------ labels and instruments
    project(p) { // to the screen; null behind the camera
      const v = this.view, w = v[3] * p[0] + v[7] * p[1] + v[11] * p[2] + v[15];
      if (w <= 0.01) return null;
      return [(0.5 + 0.5 * (v[0] * p[0] + v[4] * p[1] + v[8] * p[2] + v[12]) / w) * this.width, (0.5 - 0.5 * (v[1] * p[0] + v[5] * p[1] + v[9] * p[2] + v[13]) / w) * this.height];
    }

    overlay(ratio) {
      const c = this.c = this.over.getContext("2d"), w = this.width, h = this.height;
      this.over.width = Math.round(w * ratio); this.over.height = Math.round(h * ratio);
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.font = `12px ${getComputedStyle(document.body).fontFamily}`;
      c.textBaseline = "middle";
      this.taken = []; this.written = [];
      if (this.options.instruments) { this.compass(w - 34, 34); if (this.options.horizon) this.horizon(44, h - 44); this.scaleBar(w, h); }
      for (const [key, mark] of this.marks) if (finite(mark.at)) {
        const at = this.project(mark.at);
        if (!at || at[0] < -20 || at[1] < -20 || at[0] > w + 20 || at[1] > h + 20) continue;
        const r = mark.size || 4;
        c.beginPath();
        if (mark.shape === "cross") { c.moveTo(at[0] - r, at[1]); c.lineTo(at[0] + r, at[1]); c.moveTo(at[0], at[1] - r); c.lineTo(at[0], at[1] + r); }
        else c.arc(at[0], at[1], r, 0, 7);
        c.lineWidth = 3.4; c.strokeStyle = this.isDark() ? "rgba(0,0,0,0.55)" : "rgba(255,255,255,0.75)"; c.stroke();
        c.lineWidth = 1.7; c.strokeStyle = this.ink(mark.ink); c.stroke();
        if (mark.filled) { c.fillStyle = this.ink(mark.ink); c.fill(); }
        this.taken.push([at[0] - r, at[1] - r, at[0] + r, at[1] + r]);
        if (mark.text && this.options.labels) this.label(mark.text, at[0], at[1], mark.ink, r + 4);
      }
      for (const { at, text, ink } of (this.options.arrows && this.arrowText) || []) { const q = this.project(at); if (q) this.label(text, q[0], q[1], ink, 6); }
      if (this.hit) this.hitLabel();
      this.over.dataset.labels = JSON.stringify(this.written);
    }

    label(words, x, y, ink, gap) { // beside a place, where nothing else is written
      const { c } = this, text = words.length > 42 ? `${words.slice(0, 41)}…` : words, wide = c.measureText(text).width + 10, tall = 18;
      const spots = [[x + gap, y - tall / 2], [x - gap - wide, y - tall / 2], [x - wide / 2, y - gap - tall], [x - wide / 2, y + gap], [x + gap, y - gap - tall], [x + gap, y + gap], [x - gap - wide, y - gap - tall]];
      for (const [a, b] of spots) {
        const box = [a, b, a + wide, b + tall];
        if (a < 2 || b < 2 || box[2] > this.width - 2 || box[3] > this.height - 2) continue;
        if (this.taken.some((t) => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3])) continue;
        this.taken.push(box); this.written.push([text, ...box.map((v) => Math.round(v * 10) / 10)]);
        c.fillStyle = this.isDark() ? "rgba(14,20,28,0.78)" : "rgba(255,255,255,0.82)";
        c.beginPath(); c.roundRect(a, b, wide, tall, 4); c.fill();
        c.fillStyle = this.ink(ink); c.textAlign = "left"; c.fillText(text, a + 5, b + tall / 2 + 0.5);
        return;
      }
    }

    hitLabel() {
      const thing = this.world.things.find((t) => t.name === this.hit) || (this.world.movers.find((t) => t.name === this.hit) || {}).shape;
      const body = this.bodies.get(this.focus);
      if (!thing || !thing.p || !body || !body.pose) return;
      const at = this.project([body.pose.p[0], body.pose.p[1], body.pose.p[2] - 1.5 * body.radius]);
      if (at) this.label(`hit ${this.hit.replace(/_(crown|trunk)$/, "").replaceAll("_", " ")}`, clamp(at[0], 60, this.width - 60), clamp(at[1], 30, this.height - 40), "bad", 10);
    }

    compass(x, y) {
      const { c } = this, v = this.view, at = this.bodies.get(this.focus), p = (at && at.pose && finite(at.pose.p) && at.pose.p) || [0, 0, 0];
      const a = this.project(p), b = this.project(add(p, [0.2, 0, 0]));
      let turn = a && b ? Math.atan2(b[1] - a[1], b[0] - a[0]) : -Math.PI / 2;
      const forward = [-v[3], -v[7]]; // the way the camera looks, flat
      if (Math.hypot(v[3], v[7]) > 0.15) turn = -Math.PI / 2 - Math.atan2(v[7], v[3]);
      c.fillStyle = this.isDark() ? "rgba(14,20,28,0.6)" : "rgba(255,255,255,0.7)";
      c.beginPath(); c.arc(x, y, 20, 0, 7); c.fill();
      const d = [Math.cos(turn), Math.sin(turn)];
      for (const [sign, ink] of [[1, this.ink("bad")], [-1, this.ink("muted")]]) {
        c.fillStyle = ink; c.beginPath();
        c.moveTo(x + sign * 12 * d[0], y + sign * 12 * d[1]); c.lineTo(x - 4 * d[1], y + 4 * d[0]); c.lineTo(x + 4 * d[1], y - 4 * d[0]); c.fill();
      }
      c.fillStyle = this.ink("plain"); c.textAlign = "center"; c.font = `600 11px ${getComputedStyle(document.body).fontFamily}`;
      c.fillText("N", x + 15.5 * d[0], y + 15.5 * d[1]);
      c.font = `12px ${getComputedStyle(document.body).fontFamily}`;
      this.taken.push([x - 22, y - 22, x + 22, y + 22]);
    }

    horizon(x, y) { // attitude, speed, height
      const body = this.bodies.get(this.focus), { c } = this;
      if (!body || !body.pose || !finite(body.pose.p)) return;
      const m = body.pose.m, pitch = Math.asin(clamp(-m[2], -1, 1)), roll = Math.atan2(m[6], m[10]), r = 30;
      c.save();
      c.beginPath(); c.arc(x, y, r, 0, 7); c.clip();
      c.translate(x, y); c.rotate(-roll);
      const line = clamp(pitch * 60, -r, r);
      c.fillStyle = this.isDark() ? "#3c6a96" : "#7db4e4"; c.fillRect(-2 * r, -3 * r, 4 * r, 3 * r + line);
      c.fillStyle = this.isDark() ? "#4e4234" : "#a58a66"; c.fillRect(-2 * r, line, 4 * r, 3 * r);
      c.strokeStyle = "#ffffff"; c.lineWidth = 1.3; c.beginPath(); c.moveTo(-2 * r, line); c.lineTo(2 * r, line); c.stroke();
      c.restore();
      c.strokeStyle = "#ffd24d"; c.lineWidth = 2.2; c.beginPath(); c.moveTo(x - 15, y); c.lineTo(x - 5, y); c.moveTo(x + 5, y); c.lineTo(x + 15, y); c.moveTo(x, y - 1); c.lineTo(x, y + 1); c.stroke();
      c.strokeStyle = this.isDark() ? "rgba(14,20,28,0.8)" : "rgba(255,255,255,0.9)"; c.lineWidth = 2; c.beginPath(); c.arc(x, y, r, 0, 7); c.stroke();
      const v = body.pose.v, speed = size(v), lines = [`${speed.toFixed(1)} m/s`, `${(-body.pose.p[2]).toFixed(1)} m`];
      lines.forEach((text, k) => {
        const wide = 66, top = y - 20 + 21 * k;
        c.fillStyle = this.isDark() ? "rgba(14,20,28,0.6)" : "rgba(255,255,255,0.75)"; c.beginPath(); c.roundRect(x + r + 6, top, wide, 18, 4); c.fill();
        c.fillStyle = this.ink("plain"); c.textAlign = "right"; c.fillText(text, x + r + 6 + wide - 6, top + 9.5);
      });
      this.taken.push([x - r, y - r, x + r + 76, y + r]);
    }

    scaleBar(w, h) { // what a length at the vehicle is on the screen
      const body = this.bodies.get(this.focus), { c } = this;
      if (!body || !body.pose || !finite(body.pose.p)) return;
      const p = body.pose.p, right = unit(cross(sub(p, this.eyeNow), [0, 0, -1])), a = this.project(p), b = this.project(add(p, right));
      if (!a || !b) return;
      const px = Math.hypot(b[0] - a[0], b[1] - a[1]), raw = 90 / px, ten = 10 ** Math.floor(Math.log10(raw)), step = ten * [5, 2, 1].find((k) => k * ten <= raw * 1.0001), long = step * px;
      if (!(long > 8 && long < 200)) return;
      c.strokeStyle = this.ink("plain"); c.lineWidth = 1.5; c.beginPath();
      c.moveTo(w - 16 - long, h - 19); c.lineTo(w - 16 - long, h - 14); c.lineTo(w - 16, h - 14); c.lineTo(w - 16, h - 19); c.stroke();
      c.fillStyle = this.ink("plain"); c.textAlign = "right"; c.fillText(step < 0.1 ? `${+(step * 100).toPrecision(2)} cm` : `${+step.toPrecision(2)} m`, w - 16, h - 27);
      this.taken.push([w - 20 - long, h - 36, w - 10, h - 8]);
    }
  }

  const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
  const moved = (p) => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, p[0], p[1], p[2], 1];
  const screen = (text) => { const n = parseInt(text.slice(1), 16); return [(n >> 16) / 255, ((n >> 8) & 255) / 255, (n & 255) / 255]; };

  function inverse(m) {
    const a = Array.from({ length: 4 }, (_, i) => [...[0, 1, 2, 3].map((j) => m[4 * j + i]), ...[0, 1, 2, 3].map((j) => (i === j ? 1 : 0))]);
    for (let k = 0; k < 4; k++) {
      let best = k;
      for (let i = k + 1; i < 4; i++) if (Math.abs(a[i][k]) > Math.abs(a[best][k])) best = i;
      [a[k], a[best]] = [a[best], a[k]];
      const d = a[k][k] || 1e-12;
      a[k] = a[k].map((v) => v / d);
      for (let i = 0; i < 4; i++) if (i !== k) { const f = a[i][k]; a[i] = a[i].map((v, j) => v - f * a[k][j]); }
    }
    const out = new Array(16);
    for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) out[4 * j + i] = a[i][4 + j];
    return out;
  }

  function program(gl, vertex, fragment) {
    const id = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text); gl.compileShader(shader);
      gl.attachShader(id, shader);
    }
    gl.linkProgram(id);
    if (!gl.getProgramParameter(id, gl.LINK_STATUS)) {
      const log = gl.getAttachedShaders(id).map((s) => gl.getShaderInfoLog(s)).join("\n");
      throw new Error(`the scene's shaders do not work here: ${log || gl.getProgramInfoLog(id)}`);
    }
    const known = new Map();
    return { id, at: (name) => { if (!known.has(name)) known.set(name, gl.getUniformLocation(id, name)); return known.get(name); } };
  }

  function shadowMap(gl, wide) {
    const texture = gl.createTexture(), frame = gl.createFramebuffer();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.DEPTH_COMPONENT24, wide, wide, 0, gl.DEPTH_COMPONENT, gl.UNSIGNED_INT, null);
    for (const [key, value] of [["MIN_FILTER", gl.LINEAR], ["MAG_FILTER", gl.LINEAR], ["WRAP_S", gl.CLAMP_TO_EDGE], ["WRAP_T", gl.CLAMP_TO_EDGE], ["COMPARE_MODE", gl.COMPARE_REF_TO_TEXTURE], ["COMPARE_FUNC", gl.LEQUAL]])
      gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_${key}`], value);
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
    gl.drawBuffers([gl.NONE]);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return { texture, frame, size: wide };
  }

  function ribbon(gl, points) { // pieces between points that follow each other; NaN is a gap
    const rows = [];
    let along = 0;
    for (let i = 0; i + 5 < points.length; i += 3) {
      const a = [points[i], points[i + 1], points[i + 2]], b = [points[i + 3], points[i + 4], points[i + 5]];
      const long = finite(a) && finite(b) ? size(sub(b, a)) : NaN;
      rows.push(...(Number.isFinite(long) ? [...a, ...b, along, along + long] : [0, 0, 1e8, 0, 0, 1e8, 0, 0]));
      along += Number.isFinite(long) ? long : 0;
    }
    const array = gl.createVertexArray(), buffer = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(rows), gl.STATIC_DRAW);
    for (const at of [0, 1, 2]) { gl.enableVertexAttribArray(at); gl.vertexAttribDivisor(at, 1); }
    gl.bindVertexArray(null);
    return { array, buffers: [buffer], count: rows.length / 8 };
  }

  return { View, CAMERAS, INKS };
})();
