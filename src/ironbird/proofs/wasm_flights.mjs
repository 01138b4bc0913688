/* Flies the flights of flights.json in the module beside it: a line of JSON for each, with hashes and margins. */
import { readFile } from "node:fs/promises";
import { load } from "./index.js";

/** A number as Python's float.hex() has it. */
function hex(value) {
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0), sign = bits >> 63n ? "-" : "", exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = (bits & 0xfffffffffffffn).toString(16).padStart(13, "0");
  if (exponent === 0 && BigInt("0x" + fraction) === 0n) return `${sign}0x0.0p+0`;
  const power = exponent === 0 ? -1022 : exponent - 1023;
  return `${sign}0x${exponent === 0 ? 0 : 1}.${fraction}p${power < 0 ? "" : "+"}${power}`;
}

const model = await load();
for (const flight of JSON.parse(await readFile(new URL("flights.json", import.meta.url), "utf8"))) {
  const { log, sha256, judgements, seconds } = model.fly(flight, {}, { log: null, limit_s: 600 });
  const margins = judgements.map(({ margin }) => (margin === null ? null : hex(margin)));
  console.log(JSON.stringify({ sha256, outputs: log.sha256(), margins, speed: log.time_s[log.rows - 1] / seconds }));
}
