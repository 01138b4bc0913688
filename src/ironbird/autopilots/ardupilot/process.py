"""An ArduPilot process that Ironbird starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ironbird.errors import LinkError
from ironbird.host.process import AutopilotProcess, free_udp_port, is_program, places
from ironbird.vehicles.spec import Home

VARIABLE = "IRONBIRD_ARDUPILOT"  # a folder with the programs, or one of them
SPEEDUP = 1000  # as fast as the exchange goes
PHYSICS_PORT, TCP_PORT = 9002, 5760  # UDP of its simulator link; TCP where its clients connect to
PORT_STEP = 10  # between the ports of its instances
VIRTUAL_GROUND_PORT, VIRTUAL_RC_PORT = 14650, 5501  # in virtual time, where ports are the run's own


def find_program(name: str, where: str | Path | None = None) -> Path:
    """Path of the program of a vehicle class: from the argument, the variable IRONBIRD_ARDUPILOT, or the PATH."""
    looked = []
    for source, place in places(where, VARIABLE, name):
        path = place / name if place.is_dir() else place
        if path.name == name and is_program(path):
            return path.resolve()
        looked.append(f"{source} {place}")
    target = name.removeprefix("ardu").removeprefix("copter-")  # arducopter-heli is built by 'heli'
    tried = f" (tried: {', '.join([*looked, 'PATH'])})" if looked else ""
    raise LinkError(
        f"no program '{name}'{tried}: set {VARIABLE} to the folder with ArduPilot's SITL programs, "
        f"which its `./waf configure --board sitl && ./waf {target}` puts into build/sitl/bin"
    )


class ArduPilotProcess(AutopilotProcess):
    """One ArduPilot process, with its log (.BIN).

    `ground_port` is the UDP port that its first MAVLink link sends to: a ground station binds it (`ironbird.ground`). 0
    takes a free port. `extra` are more arguments, such as `--start-time`.
    """

    prefix = "ironbird-ardupilot-"
    recorded = True
    slack_s = 0.004  # its clock advances with the replies; its threads read it every 10 us

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        ground_port: int = 0,
        keep: Path | None = None,
        params: str = "",
        extra: Sequence[str] = (),
        virtual: bool = False,
        thread_seed: int = 0,
    ) -> None:
        super().__init__(where, keep=keep, virtual=virtual, thread_seed=thread_seed)
        self.ground_port = VIRTUAL_GROUND_PORT if virtual else ground_port or free_udp_port()
        self.params = params  # text of a .parm file that comes on top
        self.extra = tuple(extra)
        self.program: Path | None = None

    @property
    def name(self) -> str:
        """File name of the ArduPilot executable, for messages."""
        return self.program.name if self.program else "ArduPilot"

    def start(
        self,
        firmware: str,
        params: str,
        *,
        home: Home,
        physics_port: int,
        rate_hz: int,
        second_port: int | None = None,
        sensors: Sequence[str] = (),
    ) -> None:
        """Start ArduPilot with the physics at `physics_port`; `second_port` gets a separate MAVLink link.

        `sensors` are arguments for the serial ports of its sensors.
        """
        self.program = find_program(firmware, self.where)
        folder = self._make_folder()
        files = ["vehicle.parm"]
        (folder / "vehicle.parm").write_text(params)
        if self.params:
            files.append("more.parm")
            (folder / "more.parm").write_text(self.params)
        command = [
            str(self.program), "--model", "JSON:127.0.0.1", "--sim-port-out", str(physics_port),
            "--home", f"{home.latitude_deg:.7f},{home.longitude_deg:.7f},{home.height_m:.3f},0", "--wipe",
            "--serial0", f"udpclient:127.0.0.1:{self.ground_port}",
            "--serial1", f"udpclient:127.0.0.1:{second_port}" if second_port else "none:", "--serial2", "none:",
            "--rc-in-port", str(VIRTUAL_RC_PORT if self.run else free_udp_port()),
            "--defaults", ",".join(files), "--speedup", str(SPEEDUP),
            "--rate", str(rate_hz), *sensors, *self.extra,
        ]  # fmt: skip
        self._launch(command, cwd=folder)

    def _to_keep(self, folder: Path) -> Sequence[Path]:
        return *sorted(folder.glob("logs/*.BIN")), folder / self.console_name, folder / "vehicle.parm"
