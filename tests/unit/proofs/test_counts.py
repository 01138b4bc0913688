"""Instructions by part: nothing is lost, and lines belong to the block whose result needs them."""

from __future__ import annotations

import re
import shutil

import pytest
from parts import Counter, Lag

from ironbird import Diagram, compile_model, start
from ironbird.compiler import native
from ironbird.compiler.compiled import LANES
from ironbird.flight.order import make_order
from ironbird.flight.prepare import model_of
from ironbird.proofs import counts

SAMPLES = """static void ib_model_samples_0(ib_s t, int64_t tick) {
  const ib_f v1 = x[0] * x[1];
  const ib_f v2 = v1 + v1;
  held[0] = v2; /* imu/1/chip.accel[0] */
  const ib_f v3 = v1 - v2;
  ib_f n0a, n0b; ib_normal2(seed, UINT64_C(0x1), (uint64_t)tick, 0, &n0a, &n0b); /* baro/1/chip.noise */
  held[1] = v3; /* vote/imu.value[0] */
  const ib_i v4 = ib_lt(v3, x[2]);
  ib_f v5 = IB_C(0.0);
  if (ib_any(v4)) {
    const ib_f v6 = v3 * v3;
    v5 = ib_select(v4, v6, v5);
  }
  xd[0] = v5; /* estimator.q[0] */
}
"""


def test_a_line_belongs_to_the_block_whose_result_needs_it_first() -> None:
    parts = counts.parts_of_lines(SAMPLES)

    assert [parts[line] for line in (2, 3, 4)] == [counts.SENSORS] * 3
    assert parts[5] == parts[7] == counts.TAPS
    assert parts[6] == counts.NOISE
    assert [parts[line] for line in (8, 9, 10, 14)] == [counts.PREDICT] * 4
    assert parts[11] == parts[12] == counts.FUSE


def test_every_result_of_the_full_loop_is_counted_with_its_block() -> None:
    text = model_of(make_order("quad_f450", control="reference")).source.text
    parts = counts.parts_of_lines(text)
    lines = text.splitlines()
    samples = [
        (number, found[1])
        for number, line in enumerate(lines, start=1)
        if number in parts and (found := re.fullmatch(r"\s*(?:xd|held)\[\d+\] = .*; /\* (\S+)\.[^.]* \*/", line))
    ]
    expected = {"vote/imu": counts.TAPS, "imu/2/chip": counts.SENSORS, "control": counts.CONTROL}

    assert len(samples) > 500
    assert all(parts[number] == expected[block] for number, block in samples if block in expected)
    assert {block for _, block in samples} >= {*expected, "estimator", "wind/turbulence"}
    assert set(parts.values()) >= set(counts.PARTS) - {counts.LOOP}
    assert all(parts[n] == counts.NOISE for n, line in enumerate(lines, start=1) if counts.DRAW.search(line))


def test_parts_sum_up_to_what_was_counted() -> None:
    if not shutil.which("valgrind"):
        pytest.skip(counts.NO_VALGRIND)
    diagram = Diagram("counted")
    lag, seen = diagram.add("lag", Lag()), diagram.add("monitor/seen", Counter(sample_s=0.01))
    diagram.export(lag.u)
    diagram.connect(lag.y, seen.u)
    state = start(compile_model(diagram), lanes=LANES)
    loop = {name: (native.HEADERS / name).read_text() for name in ("ib_loop.h", "ib_integrate.h")}

    short, long = (counts.count(state, until_s, ["lag.y"]) for until_s in (0.2, 0.4))
    few, many = (counts.by_part(counted, text, loop) for counted, text in (short, long))

    assert sum(few.values()) == short[0].total and sum(many.values()) == long[0].total
    assert few[counts.PLANT] > 200 * 4  # four stages in each step
    for part in (counts.PLANT, counts.MONITORS, counts.LOGGED):
        assert many[part] == pytest.approx(2 * few[part], rel=0.05)
