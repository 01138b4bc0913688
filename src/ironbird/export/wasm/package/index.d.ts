/** A value of a parameter or input: a number, or as many as it has entries. SI units and radians. */
export type Value = number | ArrayLike<number>;

/** What a model holds: the content of model.json. Rows are places in the kernel's columns. */
export interface Info {
  ironbird: string;
  name: string;
  model_sha256: string;
  module_sha256: string;
  step_s: number;
  method: string;
  sizes: Record<"x" | "xd" | "held" | "u" | "p" | "log", number>;
  params: Record<string, Named & { low?: number; high?: number; tunable?: boolean }>;
  inputs: Record<string, Named>;
  signals: Record<string, Named>;
  values: number[];
  states: string[];
  /** Reasons for which a run may stop. */
  stops: string[];
  /** Faults that the model can have, with the parts that can have them. */
  faults: Record<string, { summary?: string; severity?: string; axis: number | null; parts: Record<string, object[]> }>;
}

export interface Named {
  row: number;
  size: number;
  unit: string;
  frame?: string;
  doc?: string;
}

/** A fault as in an order. */
export interface Fault {
  id: string;
  instance?: number | string;
  axis?: number;
  /** 0 to 1. */
  severity?: number;
  start_s?: number;
  end_s?: number;
  shape?: "step" | "ramp" | "intermittent";
  rise_s?: number;
  period_s?: number;
  duty?: number;
  /** A condition that was compiled with the flight: times count from the moment at which it first holds. */
  when?: string;
}

/** A condition or a margin as postfix code of the kernel. */
export interface Program {
  text: string;
  code: [number, number][];
  constants: number[];
}

/** A change of a parameter in a window of time. */
export interface ParamEvent {
  param: string;
  value: number;
  effect?: "replace" | "scale" | "offset";
  shape?: "step" | "ramp" | "intermittent";
  start_s?: number;
  end_s?: number;
  rise_s?: number;
  period_s?: number;
  duty?: number;
  when?: Program | null;
}

/** An order that Python prepared (flight.json). */
export interface Flight {
  model_sha256: string;
  order_sha256: string;
  sha256: string;
  end_s: number;
  order: Record<string, unknown>;
  [key: string]: unknown;
}

/** What may differ from the order of a flight. */
export interface Changes {
  seed?: number | bigint;
  wind?: { speed_mps?: number; from_deg?: number; turbulence_mps?: number };
  /** By the place of the fault in the order. */
  faults?: Record<number, Partial<Fault>>;
  /** Further faults of the catalogue, without conditions. */
  also?: Fault[];
  until_s?: number;
}

export interface RunOptions {
  /** Paths of signals or blocks, or prefixes with `*`; all signals by default. */
  log?: string[] | null;
  log_s?: number;
  watch?: Program[];
  /** Longest time of computing in s; 60 by default. */
  limit_s?: number;
  progress?: ((share: number) => void) | null;
}

export interface Stop {
  time_s: number;
  reason: string;
  tick: number;
}

/** A requirement on a flight. */
export interface Judgement {
  name: string;
  formula: string;
  severity: string;
  /** In SI; at least 0 is met. Null where only `ironbird repeat` judges. */
  margin: number | null;
  /** What to multiply the margin with for the unit. */
  factor: number;
  unit: string;
  time_s: number | null;
  status: "holds" | "broken" | "not judged";
}

/** What cannot be done, and why. */
export class KernelError extends Error {}

export class Model {
  readonly info: Info;
  /** A model from the bytes of module.wasm and the content of model.json. */
  static from(bytes: Uint8Array, info: Info): Promise<Model>;
  start(options?: { seed?: number | bigint; params?: Record<string, Value> }): Run;
  prepare(flight: Flight, changes?: Changes): Run;
  fly(flight: Flight, changes?: Changes, options?: RunOptions): {
    run: Run;
    log: Log;
    stop: Stop | null;
    judgements: Judgement[];
    sha256: string;
    seconds: number;
  };
}

export class Run {
  readonly tick: number;
  readonly time_s: number;
  /** Of computing the last `run`. */
  readonly seconds: number;
  /** Why and when it stopped early; null if it did not. */
  readonly stop: Stop | null;
  /** Times at which the conditions of its events first held. */
  readonly fired_s: (number | null)[];
  setParam(path: string, value: Value): void;
  param(path: string): number | number[];
  setInput(name: string, value: Value): void;
  inject(fault: Fault, conditions?: Record<string, Program>): void;
  addEvent(event: ParamEvent): void;
  advance(ticks?: number): this;
  run(until_s: number, options?: RunOptions): Log;
}

export class Log {
  readonly paths: string[];
  readonly rows: number;
  readonly time_s: Float64Array;
  readonly signals: Record<string, Named & { column: number }>;
  /** A signal over time, or one entry of it: `body.p_NB_N[2]`; a vector comes row by row. */
  get(name: string): Float64Array;
  /** SHA-256 of the times and of some signals; all by default. */
  sha256(paths?: string[]): string;
}

export function load(): Promise<Model>;
export function flight(): Promise<Flight>;
/** The order of a flight with changes as TOML, for `ironbird repeat`. */
export function orderText(flight: Flight, changes?: Changes): string;
export function judge(flight: Flight, log: Log, stop: Stop | null, end_s: number): Judgement[];
export function sha256(...parts: ArrayBufferView[]): string;
