"""PX4 on the chips of a board, without its program: its start-up file."""

from __future__ import annotations

import pytest

from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.boards.board import load_board
from ironbird.errors import LinkError
from ironbird.systems.px4.on_chips import Px4OnChipsProcess
from ironbird.vehicles.load import load_vehicle


def test_parameters_of_the_user_come_last_and_those_of_simulators_are_refused() -> None:
    process = Px4OnChipsProcess(board=load_board("pilotpi"))
    airframe = airframe_of(load_vehicle("quad_f450"))
    assert "param set COM_RC_IN_MODE 4" in process._script(airframe, 0).splitlines()
    process.params = {"COM_RC_IN_MODE": 1, "MPC_XY_CRUISE": 3.5}
    lines = process._script(airframe, 0).splitlines()
    assert {"param set COM_RC_IN_MODE 1", "param set MPC_XY_CRUISE 3.5"} < set(lines)
    assert "param set COM_RC_IN_MODE 4" not in lines
    process.params = {"SIM_GZ_EN": 1}
    with pytest.raises(LinkError, match="SIM_GZ_EN is a parameter of PX4's build for simulators"):
        process._script(airframe, 0)
