"""Autopilots' images on emulated boards, as far as it goes without an image: boards, wires, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from firmware_images import image

from ironbird.autopilots.ardupilot.params import board_params
from ironbird.boards.firmware.device import load_mcu_board
from ironbird.boards.firmware.machine import Machine
from ironbird.errors import LinkError
from ironbird.systems.autopilot_image.kind import (
    AUTOPILOT_IMAGE,
    VARIABLE,
    AutopilotImageOptions,
    SerialWire,
    find_image,
)
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.templates.multicopter import MulticopterSpec


def test_a_missing_image_is_asked_for_by_its_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(LinkError, match=VARIABLE):
        find_image()
    assert AUTOPILOT_IMAGE.programs(AutopilotImageOptions()) == ()
    file = tmp_path / "arducopter"
    file.write_bytes(b"\x7fELF")
    with pytest.raises(LinkError, match="named by a file alone"):
        find_image(str(file))  # an order alone may not name it
    monkeypatch.setenv(VARIABLE, str(file))
    assert find_image() == find_image(str(file)) == file


def test_vehicles_that_the_board_cannot_fly_are_refused() -> None:
    options = AutopilotImageOptions()
    fitted = AUTOPILOT_IMAGE.fitted(load_vehicle("quad_f450", control="external"), options)
    assert "mcu/supply" in fitted.diagram.blocks
    assert {"mcu/peripheral/spi1", "mcu/peripheral/i2c1", "mcu/peripheral/tim3"} <= set(fitted.diagram.blocks)
    with pytest.raises(LinkError, match="arduplane"):
        AUTOPILOT_IMAGE.fitted(load_vehicle("aerosonde", control="external"), options)
    with pytest.raises(LinkError, match=r"no table \[autopilot\]"):
        AUTOPILOT_IMAGE.fitted(
            load_vehicle("quad_f450", control="external"), AutopilotImageOptions(board="stm32f4_discovery")
        )


def test_parameters_for_a_board_are_none_of_the_simulator_program() -> None:
    spec = load_vehicle("quad_f450", control="external").spec
    assert isinstance(spec, MulticopterSpec)
    params = board_params(spec)
    assert not [name for name in params if name.startswith(("SIM_", "RNGFND"))]
    assert params["FRAME_CLASS"].value == 1 and params["SERVO1_FUNCTION"].value in (33, 34, 35, 36)


def test_telemetry_goes_both_ways_and_what_finds_no_room_is_counted() -> None:
    board = load_mcu_board("revo_mini")
    machine = Machine(board, image("nesting"))
    wire = SerialWire("telemetry", 1, 115200)
    assert list(wire.read()) == []
    wire.machine = machine
    machine.run(0.02)
    assert len(b"".join(data for _, data in wire.read())) > 100
    wire.send(memoryview(bytes(5000)))
    assert wire.lost == 5000 - 4096
    wire.close()
    machine.close()
