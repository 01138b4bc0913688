/* Ironbird's kernel as WebAssembly: flies a model, alone or by a prepared flight; the same bytes as `ironbird fly`.
 *
 * No dependency, no network, no clock but for the limit of time: for Node.js 18 and up, browsers and web workers. Every run
 * has an instance of the module for itself, so that its memory is free when the run is. */

const NEVER = 9223372036854775807n; // IB_NEVER
const PIECE_TICKS = 2000; // between two looks at the limit of time and at the place of the vehicle; pieces end at multiples
const LIMIT_S = 60; // of computing, if the caller says nothing
const LONGEST_S = 3600; // of one run
const MOST_SEED = 2n ** 64n - 1n;
const CHANGES = ["seed", "wind", "faults", "also", "until_s"]; // of a prepared flight
const EFFECTS = { replace: 0, scale: 1, offset: 2 };
const SHAPES = { step: 0, ramp: 1, intermittent: 2 };
const POINTERS = new Set(["x", "xd", "held", "param", "input", "seed", "stop_tick", "stop_reason", "stop_row", "events",
  "event_first", "event_fired", "log_index", "log", "watch_rows", "watch_first", "watch_list", "watch"]);

/** What cannot be done, and why, in words. */
export class KernelError extends Error {}

function refuse(words) { throw new KernelError(words); }

/** The name among `names` that is nearest to a wrong one, for messages. */
function unknown(what, name, names) {
  const distance = (a, b) => {
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; ++i) {
      const next = [i];
      for (let j = 1; j <= b.length; ++j) {
        next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
      }
      row = next;
    }
    return row[b.length];
  };
  const given = String(name).slice(0, 80);
  let best = "", least = Infinity;
  for (const known of names) {
    const d = distance(given, known);
    if (d < least) [best, least] = [known, d];
  }
  refuse(`there is no ${what} '${given}'` + (best ? `; did you mean '${best}'?` : ""));
}

function real(value, what) {
  const number = typeof value === "number" ? value : NaN;
  if (!Number.isFinite(number)) refuse(`${what} = ${String(value).slice(0, 40)} is not a finite number`);
  return number;
}

/** A time in s as a number of steps, rounded as Python does: halves to even. */
export function ticksOf(time_s, step_s, what) {
  const number = real(time_s, what) / step_s, floor = Math.floor(number), rest = number - floor;
  if (!(Math.abs(number) <= 2 ** 53)) refuse(`${what} = ${time_s} s is too long`);
  return rest < 0.5 ? floor : rest > 0.5 ? floor + 1 : floor % 2 === 0 ? floor : floor + 1;
}

/** SHA-256 (FIPS 180-4) of parts of bytes, one after the other, as hexadecimal text. */
export function sha256(...parts) {
  const K = sha256.constants ??= (() => {
    const primes = [];
    for (let n = 2; primes.length < 64; ++n) if (primes.every((p) => n % p)) primes.push(n);
    const bits = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32) | 0;
    return { k: Int32Array.from(primes, (p) => bits(Math.cbrt(p))), h: primes.slice(0, 8).map((p) => bits(Math.sqrt(p))) };
  })();
  const h = Int32Array.from(K.h), w = new Int32Array(64);
  const block = (bytes, at) => {
    for (let i = 0; i < 16; ++i, at += 4) {
      w[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    }
    for (let i = 16; i < 64; ++i) {
      const x = w[i - 15], y = w[i - 2];
      w[i] = (w[i - 16] + w[i - 7] + (((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3))
        + (((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10))) | 0;
    }
    let [a, b, c, d, e, f, g, z] = h;
    for (let i = 0; i < 64; ++i) {
      const one = (z + (((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7)))
        + ((e & f) ^ (~e & g)) + K.k[i] + w[i]) | 0;
      const two = ((((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10)))
        + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      z = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
    }
    h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e; h[5] += f; h[6] += g; h[7] += z;
  };
  const rest = new Uint8Array(64);
  let kept = 0, length = 0;
  for (const part of parts) {
    const bytes = new Uint8Array(part.buffer ?? part, part.byteOffset ?? 0, part.byteLength);
    let at = 0;
    length += bytes.length;
    if (kept > 0) {
      at = Math.min(64 - kept, bytes.length);
      rest.set(bytes.subarray(0, at), kept);
      kept += at;
      if (kept === 64) { block(rest, 0); kept = 0; }
    }
    if (kept > 0) continue;
    for (; at + 64 <= bytes.length; at += 64) block(bytes, at);
    rest.set(bytes.subarray(at));
    kept = bytes.length - at;
  }
  rest[kept++] = 0x80;
  if (kept > 56) { rest.fill(0, kept); block(rest, 0); kept = 0; }
  rest.fill(0, kept);
  new DataView(rest.buffer).setBigUint64(56, BigInt(length) * 8n);
  block(rest, 0);
  return Array.from(h, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

/** A model: the module with the names and values of its description (model.json). */
export class Model {
  constructor(module, info) {
    this.module = module;
    this.info = info;
  }

  /** A model from the bytes of its module and its description; the bytes must be those that the description names. */
  static async from(bytes, info) {
    const digest = sha256(bytes);
    if (digest !== info.module_sha256) {
      refuse(`the module has the SHA-256 ${digest}, the description says ${info.module_sha256}: they are of two exports`);
    }
    return new Model(await WebAssembly.compile(bytes), info);
  }

  /** A run at time zero. `seed` is that of all noise; `params` are values by path. */
  start({ seed = 0, params = {} } = {}) {
    const run = new Run(this, seed);
    for (const [path, value] of Object.entries(params)) run.setParam(path, value);
    return run;
  }

  /** The state at time zero of a prepared flight (flight.json), with `changes` in place of what it says. */
  prepare(flight, changes = {}) {
    if (flight.model_sha256 !== this.info.model_sha256) {
      refuse(`the flight was prepared for model ${flight.model_sha256}, this is ${this.info.model_sha256}`);
    }
    const order = changed(flight, changes), run = new Run(this, order.seed);
    for (const [row, value] of flight.params) run.setRow(row, value);
    if (changes.wind !== undefined) {
      for (const [path, value] of Object.entries(windOf(flight, order.wind))) run.setParam(path, value);
    }
    for (const fault of [...order.faults, ...order.also]) run.inject(fault, flight.conditions);
    return run;
  }

  /** Fly a prepared flight to its end: with `changes` of seed, wind, faults or length, another one. */
  fly(flight, changes = {}, options = {}) {
    const run = this.prepare(flight, changes), until_s = changes.until_s ?? flight.end_s;
    const hashed = this.#hashed(flight, changes.also ?? []);
    const log = run.run(until_s, {
      log: Object.keys(this.info.signals).filter((path) => hashed.includes(path) || flight.log.includes(path)), log_s: flight.order.log_s, watch: flight.watched, cell: flight.cell, ...options,
    });
    const { stop } = run;
    return { run, log, stop, judgements: judge(flight, log, stop, run.time_s), sha256: log.sha256(hashed), seconds: run.seconds };
  }

  /** Signals that the hash of a flight covers: those of the order, and where further faults show, in the order of the model. */
  #hashed(flight, also) {
    const shown = also.map(({ id, instance }) => this.info.faults[id]?.witness.replace("{instance}", String(instance ?? 1)));
    return Object.keys(this.info.signals).filter((path) => flight.hashed.includes(path) || shown.includes(path));
  }
}

/** The parts of an order that a page may change, with the changes made. */
export function changed(flight, changes) {
  for (const key of Object.keys(changes)) {
    if (!CHANGES.includes(key)) unknown("change", key, CHANGES);
  }
  const faults = flight.order.faults.map((fault, i) => ({ ...fault, ...changes.faults?.[i] }));
  return {
    seed: changes.seed ?? BigInt(flight.order.seed),
    wind: { ...flight.order.wind, ...changes.wind },
    faults,
    also: changes.also ?? [],
    until_s: changes.until_s ?? flight.order.until_s,
  };
}

/** Parameters of the wind blocks. Directions are those for which the flight has sine and cosine: no library of a browser is
 * trusted with their last bit. */
function windOf(flight, wind) {
  const speed = real(wind.speed_mps, "speed_mps of the wind"), heading = real(wind.from_deg, "from_deg of the wind");
  const known = flight.directions.find(([degrees]) => degrees === heading);
  if (speed < 0 || speed > 60) refuse(`wind of ${speed} m/s: give 0 to 60 m/s`);
  if (known === undefined) {
    refuse(`wind from ${heading}°: the flight knows ${flight.directions.map(([degrees]) => degrees).join(", ")}°`);
  }
  const [, towards, cos, sin] = known, paths = flight.wind_params, values = {};
  values[paths.velocity] = [speed * cos, speed * sin, 0];
  values[paths.turbulence] = real(wind.turbulence_mps, "turbulence_mps of the wind");
  values[paths.direction] = towards;
  if (wind.gust_mps) values[paths.gust] = [wind.gust_mps * cos, wind.gust_mps * sin, 0];
  return values;
}

/** One run of a model. */
export class Run {
  #exports; #layout; #top; #view; #events = []; #places = {};

  constructor(model, seed = 0) {
    this.model = model;
    this.tick = 0;
    this.seconds = 0; // of computing
    const number = BigInt(seed), { info } = model, { sizes } = info;
    if (number < 0n || number > MOST_SEED) refuse(`seed ${String(seed).slice(0, 40)} is outside 0 .. 2^64 - 1`);
    const instance = new WebAssembly.Instance(model.module, {});
    this.#exports = instance.exports;
    this.#top = Number(this.#exports.__heap_base.value);
    this.#layout = this.#readLayout();
    for (const [place, name] of ["x", "xd", "held", "u", "p", "log"].entries()) {
      const rows = Number(this.#exports.ib_rows(BigInt(place)));
      if (rows !== sizes[name]) refuse(`the module has ${rows} rows of ${name}, the description ${sizes[name]}`);
    }
    const start = { x: info.initial.x, xd: info.initial.xd, held: null, param: info.values, input: info.inputs_held };
    const count = { x: sizes.x, xd: sizes.xd, held: sizes.held, param: sizes.p, input: sizes.u };
    for (const [name, values] of Object.entries(start)) {
      this.#places[name] = this.#take(8 * Math.max(1, count[name]));
      if (values !== null) this.#numbers(name, count[name]).set(values);
    }
    for (const name of ["seed", "stop_tick", "stop_reason", "stop_row"]) this.#places[name] = this.#take(8);
    this.#view.setBigUint64(this.#places.seed, number, true);
    this.#view.setBigInt64(this.#places.stop_tick, -1n, true);
    this.#places.args = this.#take(this.#layout["sizeof(ib_run_args)"]);
    this.#schedule();
  }

  /** Offsets of the kernel's structures, as the module itself gives them. */
  #readLayout() {
    const layout = {};
    this.#look();
    for (let i = 0n; ; ++i) {
      const at = this.#exports.ib_mirrored_name(i);
      if (at === 0) return layout;
      let name = "";
      for (let place = at; this.#view.getUint8(place); ++place) name += String.fromCharCode(this.#view.getUint8(place));
      layout[name] = Number(this.#exports.ib_mirrored_value(i));
    }
  }

  #look() {
    if (this.#view?.buffer !== this.#exports.memory.buffer) this.#view = new DataView(this.#exports.memory.buffer);
  }

  /** Room for some bytes in the memory of the module; what it holds is not zero if a log was there. */
  #take(bytes) {
    const at = Math.ceil(this.#top / 16) * 16, memory = this.#exports.memory;
    const missing = at + bytes - memory.buffer.byteLength;
    if (missing > 0) {
      try {
        memory.grow(Math.ceil(missing / 65536));
      } catch {
        refuse(`the run would take ${((at + bytes) / 1e6).toFixed(0)} MB, more than the module may have: make it shorter, `
          + "or log fewer signals or less often");
      }
    }
    this.#top = at + bytes;
    this.#look();
    return at;
  }

  #numbers(name, count) { return new Float64Array(this.#exports.memory.buffer, this.#places[name], count); }

  get time_s() { return this.tick * this.model.info.step_s; }

  /** Why and when it stopped before its end; null if it did not. */
  get stop() {
    const { info } = this.model, tick = this.#stopTick();
    if (tick < 0) return null;
    const reason = Number(this.#view.getBigInt64(this.#places.stop_reason, true));
    const row = Number(this.#view.getBigInt64(this.#places.stop_row, true));
    const words = reason >= 0 ? info.stops[reason] : `diverged: state ${info.states[row]} is not a number or beyond 1e12`;
    return { time_s: tick * info.step_s, reason: words, tick };
  }

  #stopTick() { return Number(this.#view.getBigInt64(this.#places.stop_tick, true)); }

  // ------------------------------------------------------------------ values

  /** Rows of a parameter, or of one entry of it (`body.mass`, `navigator.table[3]`). */
  #rows(path) {
    const [, name, index] = /^(.*?)(?:\[(\d{1,9})\])?$/.exec(path), known = this.model.info.params[name];
    if (known === undefined) unknown("parameter", path, Object.keys(this.model.info.params));
    if (index === undefined) return { ...known, rows: Array.from({ length: known.size }, (_, i) => known.row + i) };
    if (+index >= known.size) refuse(`${path}: index ${index} is outside 0..${known.size - 1}`);
    return { ...known, rows: [known.row + +index] };
  }

  /** Change the value of a parameter, in SI; after the start only of tunable ones. */
  setParam(path, value) {
    const known = this.#rows(path), { rows, size, unit } = known;
    const values = typeof value === "number" ? rows.map(() => value) : Array.from(value ?? []);
    if (values.length !== rows.length) refuse(`${path} has ${size} values, got ${values.length}`);
    for (const [i, one] of values.entries()) {
      real(one, path);
      if (one < (known.low ?? -Infinity) || one > (known.high ?? Infinity)) {
        refuse(`${path} = ${one} ${unit} is outside its range ${known.low ?? "-inf"} .. ${known.high ?? "inf"}`);
      }
      if (this.tick > 0 && !known.tunable) refuse(`parameter ${path} is not tunable: set it before the run starts`);
      this.setRow(rows[i], one);
    }
  }

  /** Set a parameter by its row, unchecked; states that it initialises follow at time zero. */
  setRow(row, value) {
    const { sizes, begins } = this.model.info;
    this.#numbers("param", sizes.p)[row] = value;
    if (this.tick > 0) return;
    for (const name of ["x", "xd"]) {
      for (const [state, from] of begins[name]) if (from === row) this.#numbers(name, sizes[name])[state] = value;
    }
  }

  /** The present value of a parameter: a number, or a list. */
  param(path) {
    const { rows } = this.#rows(path), all = this.#numbers("param", this.model.info.sizes.p);
    return rows.length === 1 ? all[rows[0]] : rows.map((row) => all[row]);
  }

  /** Set an external input, which is held until it is set again. */
  setInput(name, value) {
    const { inputs, sizes } = this.model.info, known = inputs[name];
    if (known === undefined) unknown("input", name, Object.keys(inputs));
    const values = typeof value === "number" ? [value] : Array.from(value ?? []);
    if (values.length !== known.size) refuse(`${name} has ${known.size} values, got ${values.length}`);
    for (const one of values) real(one, name);
    this.#numbers("input", sizes.u).set(values, known.row);
  }

  /** Set one row of the inputs, unchecked. */
  setInputRow(row, value) { this.#numbers("input", this.model.info.sizes.u)[row] = value; }

  // ------------------------------------------------------------------ faults and other events

  /** Schedule a fault of the catalogue: `{id, instance, severity, start_s, end_s, shape, rise_s, period_s, duty, when}`.
   * `conditions` are compiled triggers by their text. */
  inject(fault, conditions = {}) {
    const { faults } = this.model.info, known = faults[fault.id];
    if (known === undefined) unknown("fault of this vehicle", fault.id, Object.keys(faults));
    const part = String(fault.instance ?? (known.parts[""] === undefined ? 1 : "")), targets = known.parts[part];
    if (targets === undefined) unknown(`part of ${fault.id}`, part, Object.keys(known.parts));
    const severity = real(fault.severity ?? 1, `severity of ${fault.id}`);
    if (severity < 0 || severity > 1) refuse(`${fault.id}: severity ${severity} is outside 0 .. 1`);
    if (fault.when && conditions[fault.when] === undefined) {
      refuse(`${fault.id}: the condition '${fault.when}' is not among those that were compiled with the flight`);
    }
    const axis = fault.axis ?? known.axis;
    for (const { rows, effect, at_0, at_1 } of targets) {
      const chosen = axis === null || axis === undefined || rows.length === 1 ? rows : [rows[axis]];
      if (chosen[0] === undefined) refuse(`${fault.id}: axis ${axis} is outside 0..${rows.length - 1}`);
      this.addEvent({ ...fault, rows: chosen, effect, value: at_0 + severity * (at_1 - at_0),
        when: fault.when ? conditions[fault.when] : null });
    }
  }

  /** Schedule a change of a parameter (`param`, or `rows` of parameters): what faults are made of. */
  addEvent(event) {
    const { step_s } = this.model.info, named = event.param ?? event.id ?? "event";
    const { rows } = event.rows === undefined ? this.#rows(event.param) : event;
    const { effect = "replace", shape = "step", start_s = 0, end_s = Infinity, when = null } = event;
    if (!(effect in EFFECTS)) unknown("effect", effect, Object.keys(EFFECTS));
    if (!(shape in SHAPES)) unknown("shape", shape, Object.keys(SHAPES));
    const ticks = (name, value) => ticksOf(value, step_s, `${name} of ${named}`);
    const value = real(event.value, `value of ${named}`), start = ticks("start_s", start_s);
    const last = end_s ?? Infinity;
    if (start_s < 0 || !(last > start_s)) refuse(`${named}: window ${start_s} .. ${last} s; give 0 or more, and an end after the start`);
    if (shape === "ramp" && !(event.rise_s > 0)) refuse(`${named}: a ramp needs rise_s > 0`);
    const duty = event.duty ?? 0.5;
    if (shape === "intermittent" && !(event.period_s >= 2 * step_s && duty > 0 && duty < 1)) {
      refuse(`${named}: an intermittent shape needs period_s of two steps or more and 0 < duty < 1`);
    }
    const rise = shape === "ramp" ? ticks("rise_s", event.rise_s) : 1;
    const period = Math.max(2, shape === "intermittent" ? ticks("period_s", event.period_s) : 2);
    const on = Math.min(Math.max(1, ticksOf((shape === "intermittent" ? duty : 0.5) * period, 1, "duty")), Math.max(1, period - 1));
    for (const row of rows) {
      this.#events.push({
        param: row, effect: EFFECTS[effect], shape: SHAPES[shape], start, end: last === Infinity ? NEVER : BigInt(ticks("end_s", last)),
        rise: Math.max(1, rise), period, on, value, when, fired: -1n,
      });
    }
    this.#schedule();
  }

  /** Write the events and their conditions for the kernel. */
  #schedule() {
    this.#noteFired();
    const layout = this.#layout, size = layout["sizeof(ib_event)"], events = this.#events;
    const conditions = [...new Map(events.filter((e) => e.when).map((e) => [e.when.text, e.when])).values()];
    const at = this.#take(Math.max(1, events.length) * size);
    for (const [i, event] of events.entries()) {
      const numbers = { lane: 0, ...event, trigger: event.when ? conditions.findIndex((c) => c.text === event.when.text) : -1 };
      for (const field of ["lane", "param", "effect", "shape", "start", "end", "trigger", "rise", "period", "on"]) {
        this.#view.setBigInt64(at + i * size + layout[`ib_event.${field}`], BigInt(numbers[field]), true);
      }
      this.#view.setFloat64(at + i * size + layout["ib_event.value"], event.value, true);
    }
    this.#places.events = at;
    this.#places.event_first = this.#whole([0, events.length]);
    this.#places.event_fired = this.#whole([...events.map((e) => e.fired), -1]);
    this.#places.triggers = this.#programs(conditions);
    this.#places.fired = events.length;
  }

  #noteFired() {
    for (let i = 0; i < (this.#places.fired ?? 0); ++i) {
      this.#events[i].fired = this.#view.getBigInt64(this.#places.event_fired + 8 * i, true);
    }
  }

  /** Times in s at which the conditions of the events first held; null where one has not, 0 where there is none. */
  get fired_s() {
    this.#noteFired();
    const { step_s } = this.model.info;
    return this.#events.map((e) => (e.when ? (e.fired < 0n ? null : Number(e.fired) * step_s) : 0));
  }

  /** 64-bit integers in the memory of the module. */
  #whole(values) {
    const at = this.#take(8 * Math.max(1, values.length));
    for (const [i, value] of values.entries()) this.#view.setBigInt64(at + 8 * i, BigInt(value), true);
    return at;
  }

  #floats(values) {
    const at = this.#take(8 * Math.max(1, values.length));
    new Float64Array(this.#exports.memory.buffer, at, values.length).set(values);
    return at;
  }

  /** Programs in postfix form: places of code, constants, and where each begins. */
  #programs(programs) {
    const code = [], constants = [], first = [0], push = this.#layout.IB_OP_PUSH_CONSTANT;
    for (const program of programs) {
      for (const [op, argument] of program.code) code.push(op, op === push ? argument + constants.length : argument);
      constants.push(...program.constants);
      first.push(code.length / 2);
    }
    return { code: this.#whole([...code, 0, 0]), constants: this.#floats([...constants, 0]), first: this.#whole(first) };
  }

  // ------------------------------------------------------------------ running

  /** Advance by some steps, without a log. */
  advance(ticks = 1) {
    if (!(Number.isInteger(ticks) && ticks >= 0)) refuse(`${ticks} is no number of steps`);
    this.#call(ticks, null, 0);
    return this;
  }

  /** Run until a time, or until the vehicle has stopped; the log has a row every `log_s` seconds.
   *
   * `log` are paths of signals or blocks, or prefixes with `*` (all signals by default); `watch` are programs whose extremes
   * between rows are kept; `limit_s` is the longest time of computing; `progress` is called with the share that is done. */
  run(until_s, { log = null, log_s = 0.02, watch = [], limit_s = LIMIT_S, progress = null, cell = null } = {}) {
    const { info } = this.model, end = ticksOf(until_s, info.step_s, "until_s"), every = ticksOf(log_s, info.step_s, "log_s");
    if (until_s > LONGEST_S) refuse(`a flight of ${until_s} s is too long for a page: give ${LONGEST_S} s at most`);
    if (end < this.tick) refuse(`the run is at ${this.time_s} s already; it cannot go back to ${until_s} s`);
    if (every < 1 || Math.abs(every * info.step_s - log_s) > 1e-9) {
      refuse(`log_s = ${log_s} s is not a whole number of steps of ${info.step_s} s`);
    }
    const mark = this.#top, paths = this.find(log), index = paths.flatMap((path) => {
      const { row, size } = info.signals[path];
      return Array.from({ length: size }, (_, i) => row + i);
    });
    const between = (first, last) => Math.ceil(last / every) - Math.ceil(first / every);
    const begin = this.tick, rows = between(begin, end), plan = { every, rows, count: index.length };
    plan.index = this.#whole(index);
    plan.data = this.#take(8 * Math.max(1, rows * index.length));
    if (watch.length > 0) this.#watch(watch, plan);
    plan.top = this.#top;
    const started = performance.now();
    while (this.tick < end && this.#stopTick() < 0) {
      if (cell !== null) this.#stayNear(cell);
      const ticks = Math.min(PIECE_TICKS - (this.tick % PIECE_TICKS), end - this.tick);
      this.#call(ticks, plan, between(begin, this.tick));
      this.seconds = (performance.now() - started) / 1000;
      if (progress !== null) progress((this.tick - begin) / (end - begin));
      if (this.seconds > limit_s) {
        refuse(`${this.time_s.toFixed(1)} of ${until_s} s took ${this.seconds.toFixed(1)} s to compute, the limit is ${limit_s} s`);
      }
    }
    const stopped = this.#stopTick(), reached = between(begin, this.tick);
    const kept = stopped < 0 ? reached : Math.min(reached, Math.floor(stopped / every) + 1 - Math.ceil(begin / every));
    const found = new Log(info, paths, Math.ceil(begin / every), every, kept, {
      data: new Float64Array(this.#exports.memory.buffer, plan.data, kept * index.length).slice(),
      watched: watch.length > 0 ? new Float64Array(this.#exports.memory.buffer, plan.watch, rows * 2 * watch.length).slice() : null,
      programs: watch.length,
    });
    if (this.#top === plan.top) this.#top = mark; // the room of this log is free again
    return found;
  }

  /** Paths of signals that match patterns. */
  find(patterns) {
    const all = Object.keys(this.model.info.signals);
    if (patterns === null) return all;
    const found = new Set();
    for (const pattern of patterns) {
      const begin = pattern.endsWith("*") ? pattern.slice(0, -1) : `${pattern}.`;
      const hits = all.filter((path) => path === pattern || path.startsWith(begin));
      if (hits.length === 0) unknown("signal", pattern, all);
      for (const hit of hits) found.add(hit);
    }
    return [...found];
  }

  /** Where the kernel keeps the extremes of programs between two rows. */
  #watch(watch, plan) {
    const push = this.#layout.IB_OP_PUSH_SIGNAL, places = new Map();
    for (const { code } of watch) for (const [op, row] of code) if (op === push && !places.has(row)) places.set(row, places.size);
    if (places.size === 0) places.set(0, 0);
    if (places.size > this.#layout.IB_BATCH_VALUES) refuse(`${places.size} signals are watched; at most ${this.#layout.IB_BATCH_VALUES} are`);
    const moved = watch.map(({ code, constants }) => ({
      code: code.map(([op, at]) => [op, op === push ? places.get(at) : at]), constants,
    }));
    Object.assign(plan, {
      watched: this.#programs(moved), watch_signals: places.size, watch_rows: this.#whole([...places.keys()]),
      watch_count: watch.length, watch_first: this.#whole([0, watch.length]), watch_list: this.#whole(watch.map((_, i) => i)),
      watch: this.#take(8 * Math.max(1, plan.rows * 2 * watch.length)),
    });
    new Float64Array(this.#exports.memory.buffer, plan.watch, plan.rows * 2 * watch.length).fill(NaN);
  }

  /** Refuse to go on where `ironbird fly` would update the magnetic field, which this module cannot. */
  #stayNear(cell) {
    const x = this.#numbers("x", this.model.info.sizes.x);
    for (let i = 0; i < 3; ++i) {
      const place = x[cell.row + i];
      if (Number.isFinite(place) && Math.abs(place / cell.size_m[i]) > 0.5) {
        refuse(`at ${this.time_s} s the vehicle is ${Math.abs(place).toFixed(0)} m from home, beyond the ${cell.size_m[i] / 2} m `
          + "to which this module has the magnetic field: fly it with ironbird fly");
      }
    }
  }

  #call(ticks, plan, firstRow) {
    const layout = this.#layout, places = this.#places, at = places.args, view = this.#view;
    new Uint8Array(this.#exports.memory.buffer, at, layout["sizeof(ib_run_args)"]).fill(0);
    const put = (field, value) => {
      const place = at + layout[`ib_run_args.${field}`];
      if (POINTERS.has(field)) view.setUint32(place, value, true);
      else view.setBigInt64(place, BigInt(value), true);
    };
    const programs = (field, { code, constants, first }) => {
      const place = at + layout[`ib_run_args.${field}`];
      view.setUint32(place + layout["ib_programs.code"], code, true);
      view.setUint32(place + layout["ib_programs.constants"], constants, true);
      view.setUint32(place + layout["ib_programs.first"], first, true);
    };
    put("first_block", 0);
    put("last_block", 1);
    put("tick", this.tick);
    put("ticks", ticks);
    for (const name of ["x", "xd", "held", "param", "input", "seed", "stop_tick", "stop_reason", "stop_row", "events",
      "event_first", "event_fired"]) put(name, places[name]);
    programs("triggers", places.triggers);
    if (plan !== null) {
      put("log_every", plan.every);
      put("log_rows", plan.rows);
      put("log_first", firstRow);
      put("log_count", plan.count);
      put("log_index", plan.index);
      put("log", plan.data);
      if (plan.watch !== undefined) {
        programs("watched", plan.watched);
        for (const name of ["watch_signals", "watch_rows", "watch_count", "watch_first", "watch_list", "watch"]) put(name, plan[name]);
      }
    }
    this.#exports.ib_run(at);
    this.tick += ticks;
  }
}

/** Signals over time. */
export class Log {
  constructor(info, paths, first, every, rows, { data, watched, programs }) {
    this.paths = paths;
    this.rows = rows;
    this.data = data; // [row][column]
    this.time_s = Float64Array.from({ length: rows }, (_, i) => (first + i) * every * info.step_s);
    this.signals = {};
    this.columns = 0;
    for (const path of paths) {
      this.signals[path] = { ...info.signals[path], column: this.columns };
      this.columns += info.signals[path].size;
    }
    this.watched = watched; // [row][program][least, greatest]
    this.programs = programs;
  }

  /** A signal over time, or one entry of it: `body.p_NB_N[2]`; a vector comes row by row. */
  get(name) {
    const [, path, index] = /^(.*?)(?:\[(\d+)\])?$/.exec(name), known = this.signals[path];
    if (known === undefined) unknown("signal in this log", name, this.paths);
    const first = known.column + (index === undefined ? 0 : +index), size = index === undefined ? known.size : 1;
    if (index !== undefined && +index >= known.size) refuse(`${name}: index ${index} is outside 0..${known.size - 1}`);
    const values = new Float64Array(this.rows * size);
    for (let row = 0; row < this.rows; ++row) {
      for (let i = 0; i < size; ++i) values[row * size + i] = this.data[row * this.columns + first + i];
    }
    return values;
  }

  /** Least (0) or greatest (1) value of a watched program from each row to before the next. */
  extremes(program, which) {
    return Float64Array.from({ length: this.rows }, (_, row) => this.watched[(row * this.programs + program) * 2 + which]);
  }

  /** SHA-256 of the times, then of some signals (all by default) row by row: that of `ironbird fly`. */
  sha256(paths = this.paths) {
    const columns = paths.flatMap((path) => {
      const known = this.signals[path];
      if (known === undefined) unknown("signal in this log", path, this.paths);
      return Array.from({ length: known.size }, (_, i) => known.column + i);
    });
    const values = new Float64Array(this.rows * columns.length);
    let at = 0;
    for (let row = 0; row < this.rows; ++row) for (const column of columns) values[at++] = this.data[row * this.columns + column];
    return sha256(this.time_s, values);
  }
}

/** Whether the vehicle falls towards ground that is near in the last row (`falling` of flight/reached.py). */
function falls(known, log) {
  if (known === null || log.rows === 0) return false;
  const velocity = log.get(known.velocity), last = log.rows - 1;
  const above = known.ground === null ? log.get(`${known.position}[2]`).map((down) => -down) : log.get(known.ground);
  const sinks = velocity[3 * last + 2], begun = log.time_s.findIndex((time) => time >= known.stands_s);
  const still = Math.max(...velocity.subarray(0, 3).map(Math.abs)) < known.at_rest_mps;
  const stood = still && velocity[3 * (begun < 0 ? last : begun) + 2] < known.falls_mps;
  const lies = above[last] <= (stood ? above[0] + known.stands_m : known.ground_m);
  return !lies && sinks >= known.fall_mps && above[last] <= known.fall_s * sinks;
}

/** Margins of the requirements of a flight, as `ironbird fly` computes them: at least 0 is met. `margin` is null, and `status`
 * "not judged", where a requirement needs more than extremes of conditions over windows. */
export function judge(flight, log, stop, end_s) {
  const low = 0, high = 1, { rows, time_s } = log;
  const step_s = rows > 1 ? time_s[rows - 1] / (rows - 1) : 0;
  const steps = (seconds) => (rows === 1 ? +(seconds > 0) : ticksOf(Math.min(seconds / step_s, 2 * rows), 1, "window"));
  const least = (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.min(a, b));
  const most = (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.max(a, b));
  const joined = (op, left, right) => (op === "and" ? least(left, right) : most(op === "or" ? left : -left, right));

  const inside = (node, row, kind) => {
    if (node.watch !== undefined) return log.watched[(row * log.programs + node.watch) * 2 + kind];
    if (node.op === "not") return -inside(node.child, row, high - kind);
    return joined(node.op, inside(node.left, row, node.op === "implies" ? high - kind : kind), inside(node.right, row, kind));
  };
  const over = (node) => { // a window that begins now
    const always = node.op === "always", last = node.high_s === null ? Infinity : steps(node.high_s);
    if (last < rows) return null; // its last row counts with its own tick, which is not among the extremes
    const from = Math.max(steps(node.low_s), node.last_s === null ? 0 : rows - 1 - steps(node.last_s));
    let margin = always ? Infinity : -Infinity, at = null;
    for (let row = from; row < rows; ++row) {
      const value = inside(node.child, row, always ? low : high);
      if (Number.isNaN(value)) return { margin: -Infinity, at: time_s[row] };
      if (always ? value < margin : value > margin) [margin, at] = [value, time_s[row]];
    }
    return { margin, at };
  };
  const whole = (node) => {
    if (node.op === "no_crash") {
      const crashed = stop !== null && !flight.harmless.includes(stop.reason), at = stop?.time_s ?? end_s;
      return crashed || falls(flight.falls, log) ? { margin: -Infinity, at } : { margin: Infinity, at: null };
    }
    if (node.op === "always" || node.op === "eventually") return over(node);
    if (node.op === "not") {
      const child = whole(node.child);
      return child && { ...child, margin: -child.margin };
    }
    const left = whole(node.left), right = whole(node.right);
    if (left === null || right === null) return null;
    const margin = joined(node.op, left.margin, right.margin);
    return { margin, at: Math.abs(left.margin) === Math.abs(margin) ? left.at : right.at };
  };
  return flight.judged.map(({ name, formula, severity, unit, factor, root }) => {
    const found = root === null || rows === 0 ? null : whole(root);
    const margin = found === null ? null : found.margin + 0;
    const status = margin === null ? "not judged" : margin >= 0 ? "holds" : "broken";
    return { name, formula, severity, unit, factor, margin, time_s: found?.at ?? null, status };
  });
}

/** A number as TOML has it, always with a point or an exponent. */
function floatText(value) { return /[.e]/.test(String(value)) ? String(value) : `${value}.0`; }

/** The order of a flight with changes as TOML, for `ironbird repeat`: Python reads back the very numbers. */
export function orderText(flight, changes = {}) {
  const order = changed(flight, changes), left = new Set(Object.keys(changes).filter((key) => key === "until_s"));
  const text = flight.text.map((piece, i) => {
    if (i % 2 === 0) return piece;
    const value = piece.split(".").reduce((table, key) => table[key], order);
    left.delete(piece);
    return piece === "seed" ? String(value) : floatText(value);
  });
  if (left.size > 0) refuse("the order has no end of its own (until_s): make one that has, to save another");
  for (const fault of order.also) {
    text.push("\n[[order.faults]]\n");
    for (const [key, value] of Object.entries({ shape: "step", ...fault })) {
      const whole = key === "axis" || (key === "instance" && typeof value === "number");
      text.push(`${key} = ${typeof value === "string" ? JSON.stringify(value) : whole ? value : floatText(value)}\n`);
    }
  }
  return text.join("");
}
