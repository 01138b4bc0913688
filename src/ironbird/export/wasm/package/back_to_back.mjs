/* Back to back: the module against Ironbird's kernel. Prints one line; the exit code is 0 if they agree.
 *
 *   node test/back_to_back.mjs
 *
 * A whole vehicle flies the prepared flight: the SHA-256 of its log must be that of the kernel's. Any other part gets the
 * recorded inputs and parameter changes of a flight; every bit of every output of every step enters a running sum, as in
 * back_to_back.c of the C package. */
import { readFile } from "node:fs/promises";
import { load } from "../index.js";

const LOW = 0xffffffffffffffffn;
const FACTOR = 0x100000001b3n, SPREAD = 0x9e3779b97f4a7c15n, NOT_A_NUMBER = 0x7ff8000000000000n;

function whole(model, flight) {
  const { log, sha256, seconds } = model.fly(flight, {}, { log: null });
  const all = log.sha256();
  const rows = `${log.rows} rows of ${log.columns} outputs`, speed = (flight.end_s / seconds).toFixed(0);
  if (sha256 === flight.sha256 && all === flight.sha256_of_outputs) {
    return [`${rows}: the kernel's bytes, sha256 ${sha256}, ${speed} times real time`, 0];
  }
  return [`differs from the kernel: sha256 ${sha256} for ${flight.sha256}; of all outputs ${all} for ${flight.sha256_of_outputs}`, 1];
}

function part(model, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const integer = () => Number(view.getBigInt64((at += 8) - 8, true)), number = () => view.getFloat64((at += 8) - 8, true);
  const [magic, version, ticks, , outputs, changes, rows] = Array.from({ length: 8 }, integer);
  const seed = view.getBigUint64((at += 8) - 8, true);
  if (magic !== 0x3144524249 || version !== 1 || outputs !== model.info.sizes.log) return ["vectors.bin does not fit", 2];
  const table = (count) => Array.from({ length: count }, () => [integer(), integer(), number()]);
  const inputs = table(integer()), params = table(changes), kept = new Map();
  for (let i = 0; i < rows; ++i) {
    const tick = integer();
    kept.set(tick, view.getBigUint64((at += 8) - 8, true));
    at += 8 * outputs;
  }
  const run = model.start({ seed }), places = Array.from({ length: outputs }, (_, i) => ((2n * BigInt(i) + 1n) * SPREAD) & LOW);
  let total = 0n, input = 0, param = 0, equal = 0;
  for (let tick = 0; tick < ticks; ++tick) {
    for (; inputs[input]?.[0] === tick; ++input) run.setInputRow(inputs[input][1], inputs[input][2]);
    for (; params[param]?.[0] === tick; ++param) run.setRow(params[param][1], params[param][2]);
    const log = run.run((tick + 1) * model.info.step_s, { log_s: model.info.step_s });
    const bits = new BigUint64Array(log.data.buffer);
    let sum = 0n;
    for (let i = 0; i < outputs; ++i) {
      const word = Number.isNaN(log.data[i]) ? NOT_A_NUMBER : bits[i];
      sum += (word ^ (word >> 32n)) * places[i];
    }
    total = (total * FACTOR + sum) & LOW;
    if (!kept.has(tick)) continue;
    if (kept.get(tick) !== total) return [`differs from the kernel at or before step ${tick}`, 1];
    ++equal;
  }
  const line = `${ticks} steps, ${equal} rows of ${outputs} outputs: bit-equal, sum ${total.toString(16).padStart(16, "0")}`;
  return equal === rows ? [line, 0] : [`${line}, but ${rows} rows were recorded`, 1];
}

const model = await load(), read = (name) => readFile(new URL(name, import.meta.url));
const flight = await read("../flight.json").then((bytes) => JSON.parse(bytes), () => null);
const [line, code] = flight === null ? part(model, await read("vectors.bin")) : whole(model, flight);
console.log(line);
process.exitCode = code;
