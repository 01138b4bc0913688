/* The model of this folder: `await load()` in Node.js, in a page that is served, or in a worker; see README.md. */
import { KernelError, Model } from "./kernel.js";

export * from "./kernel.js";

/** A file of this folder: its bytes. */
async function bytesOf(name) {
  const place = new URL(name, import.meta.url);
  if (place.protocol === "file:" && typeof process !== "undefined") {
    const { readFile } = await import("node:fs/promises");
    return readFile(place);
  }
  const answer = await fetch(place);
  if (!answer.ok) throw new KernelError(`${place} cannot be read: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}

async function jsonOf(name) { return JSON.parse(new TextDecoder().decode(await bytesOf(name))); }

/** The model, with the module checked against the hash in its description. */
export async function load() {
  const [module, info] = await Promise.all([bytesOf("module.wasm"), jsonOf("model.json")]);
  return Model.from(module, info);
}

/** The flight that was prepared with this model (part `whole`), for `model.fly`. */
export async function flight() { return jsonOf("flight.json"); }
