// Horizon and figures of the vehicle that is followed.
export function angles(R) { // roll, pitch, yaw of a matrix, column by column
  return [Math.atan2(R[5], R[8]), Math.asin(Math.max(-1, Math.min(1, -R[2]))), Math.atan2(R[1], R[0])];
}

export function drawHorizon(canvas, R) {
  const c = canvas.getContext("2d"), s = canvas.width, [roll, pitch] = angles(R);
  c.save();
  c.clearRect(0, 0, s, s);
  c.beginPath();
  c.arc(s / 2, s / 2, s / 2 - 1, 0, 2 * Math.PI);
  c.clip();
  c.translate(s / 2, s / 2);
  c.rotate(-roll);
  const down = (pitch * 180 / Math.PI) * s / 80;
  c.fillStyle = "#60a5fa";
  c.fillRect(-s, -2 * s + down, 2 * s, 2 * s);
  c.fillStyle = "#a16207";
  c.fillRect(-s, down, 2 * s, 2 * s);
  c.strokeStyle = c.fillStyle = "#fff";
  c.lineWidth = 1.5;
  c.font = "10px sans-serif";
  for (let mark = -60; mark <= 60; mark += 10) {
    const y = down - mark * s / 80, half = mark % 20 ? s / 14 : s / 7;
    c.beginPath();
    c.moveTo(-half, y);
    c.lineTo(half, y);
    c.stroke();
    if (mark && mark % 20 === 0) c.fillText(String(mark), half + 3, y + 3);
  }
  c.restore();
  c.strokeStyle = "#111827";
  c.lineWidth = 3;
  c.beginPath();
  c.moveTo(s * 0.25, s / 2);
  c.lineTo(s * 0.42, s / 2);
  c.moveTo(s * 0.58, s / 2);
  c.lineTo(s * 0.75, s / 2);
  c.stroke();
}

export function figures(pose, before) {
  const dt = pose.time - before.time;
  const speed = dt > 0 ? Math.hypot(...[0, 1, 2].map((i) => pose.p[i] - before.p[i])) / dt : before.speed || 0;
  const climb = dt > 0 ? -(pose.p[2] - before.p[2]) / dt : before.climb || 0;
  const yaw = (angles(pose.R)[2] * 180 / Math.PI + 360) % 360;
  return { height: -pose.p[2], speed, climb, yaw, wind: Math.hypot(...pose.wind) };
}
