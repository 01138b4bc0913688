// The one websocket: frames come in, actions go out. It connects again by itself when the server comes back.
export const FLOATS = 32; // of a vehicle's frame, as ironbird/app/frames.py has it; its id stands before it

const hearers = { poses: [], plots: [], status: [], up: [], down: [] };
export const on = (kind, hear) => hearers[kind].push(hear);
const tell = (kind, what) => hearers[kind].forEach((hear) => hear(what));

let socket = null;
let number = 0;
let wait = 300;
const waiting = new Map(); // actions that are not answered yet

export function connect() {
  socket = new WebSocket(`ws://${location.host}/live`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => { wait = 300; tell("up"); };
  socket.onclose = (event) => {
    for (const answer of waiting.values()) answer({ ok: false, error: "the connection was lost" });
    waiting.clear();
    tell("down", event.code === 1011 ? event.reason : "");
    setTimeout(connect, wait);
    wait = Math.min(wait * 1.5, 3000);
  };
  socket.onmessage = (event) => (typeof event.data === "string" ? text(event.data) : frame(event.data));
}

function text(data) {
  const said = JSON.parse(data);
  if (said.flights) return tell("status", said);
  const answer = waiting.get(said.seq);
  waiting.delete(said.seq);
  if (answer) answer(said);
}

function frame(data) {
  const head = new DataView(data);
  const kind = head.getUint8(0), count = head.getUint8(1), rows = head.getUint16(2, true);
  const numbers = new Float32Array(data, 8);
  if (kind === 1) {
    const found = [];
    for (let i = 0; i < count; i++) found.push(pose(numbers, i * (1 + FLOATS)));
    tell("poses", found);
  } else if (kind === 2) {
    const series = [];
    for (let i = 0; i <= count; i++) series.push(numbers.slice(i * rows, (i + 1) * rows));
    tell("plots", { id: head.getUint32(4, true), time: series[0], values: series.slice(1) });
  }
}

function pose(numbers, at) {
  return { id: numbers[at], ...unpack(numbers, at + 1) };
}

export function unpack(numbers, at) {
  return {
    time: numbers[at],
    p: numbers.subarray(at + 1, at + 4),
    R: numbers.subarray(at + 4, at + 13), // column by column
    wind: numbers.subarray(at + 13, at + 16),
    joints: numbers.subarray(at + 16, at + FLOATS), // in the order of the shape's signals
  };
}

export function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

// An action of ironbird/app/actions.py; resolves to its answer.
export function act(name, args = {}) {
  return new Promise((resolve) => {
    if (!socket || socket.readyState !== WebSocket.OPEN) return resolve({ ok: false, error: "not connected" });
    waiting.set(++number, resolve);
    send({ do: name, seq: number, ...args });
  });
}
