"""Chips on an emulated board: a driver of ours reads by DMA what the vehicle feeds, as the register model says."""

from __future__ import annotations

import numpy as np
import pytest
from firmware_images import image

from ironbird.boards.chips.catalog import make_chip
from ironbird.boards.firmware.device import Board, load_mcu_board
from ironbird.boards.firmware.machine import Machine
from ironbird.boards.firmware.sensors import BoardSensors
from ironbird.rig.rig import make_rig

FRAME, CLOCK_HZ = 19, 16e6


def driver_board(chip: str) -> Board:
    table = load_mcu_board("revo_mini").model_dump(by_alias=True)
    table["chip"] = [dict(wire) for wire in table["chip"]]
    table["chip"][0]["chip"] = chip
    return Board.model_validate(table)


@pytest.mark.parametrize("chip", ["mpu6000", "icm20689"])
def test_a_driver_by_dma_reads_what_the_register_model_says(chip: str) -> None:
    board = driver_board(chip)
    rig = make_rig("quad_f450", until_s=1.0, seed=3)
    machine = Machine(board, image("driver"))
    sensors = BoardSensors(board, machine, rig)
    twin = make_chip(chip)
    for place in rig.actuators:
        rig.command(place, 0.3)
    inputs = np.ctypeslib.as_array(machine.chips["imu"].fields.inputs)
    twin.inputs[:] = inputs.tolist()
    stream, frames, begun = b"", 0, False
    for _ in range(120):
        assert rig.step(1)
        machine.run(rig.time_s)
        stream += machine.take(1)[0]
        if machine.word(machine.image.address("transfers")) >= 4 and not begun:  # the twin is set up as the chip was
            for register, value in ((0x6B, 1), (0x1A, 1), (0x19, 0), (0x6C, 0)):
                twin.transfer(twin.now, bytes([register, value]))
            begun = True
        while len(stream) >= FRAME:
            frame, stream = stream[:FRAME], stream[FRAME:]
            assert frame[0] == 0xA5
            at_ns = int(int.from_bytes(frame[1:5], "little") * 1e9 / CLOCK_HZ)
            answer = twin.transfer(at_ns, bytes([0x80 | 0x3B]) + bytes(14))
            if frames > 10:  # both have samples of one filter's past
                assert bytes(answer[1:]) == frame[5:], f"frame {frames}"
            frames += 1
        sensors.take()
        twin.advance(rig.state.tick * 1_000_000)
        twin.inputs[:] = inputs.tolist()
    assert frames > 100 and machine.word(machine.image.address("overruns")) == 0
    assert machine.word(machine.image.address("identity")) == int.from_bytes(b"H43", "little")
    assert machine.word(machine.image.address("identity") + 4) == 0  # nobody at that address
    assert machine.fault_text() == ""
    machine.close()
