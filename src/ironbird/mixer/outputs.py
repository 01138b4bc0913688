"""The outputs of a board whose mixer files drive a vehicle: main and auxiliary files together, armed or not.

As PX4 1.13 and before [PX4Mixer]: the board's IO processor mixes the main file, the flight processor the AUX file,
from the same controls. Disarmed, each output has its disarmed value, and in a failsafe its failsafe value; an `O:`
line with a travel time limits how fast its output moves from one end to the other. Not modelled: PWM rates and
rounding to whole microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ironbird.errors import MixerError
from ironbird.vehicles.mixer import Controls, MixerFile, SumMixer

MAIN, AUX = "MAIN", "AUX"
RANGE = 2.0  # from -1 to 1: the travel that a travel time refers to


@dataclass
class MixedOutputs:
    """Outputs from -1 to 1 by name (`MAIN1`, `AUX2`); values that are not given are -1 for motors and 0 for others."""

    main: MixerFile
    aux: MixerFile | None = None
    disarmed: Mapping[str, float] = field(default_factory=dict)
    failsafe: Mapping[str, float] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._travel = dict(zip(self.names, _travels(self.main), strict=False))
        if self.aux is not None:
            aux = [name for name in self.names if name.startswith(AUX)]
            self._travel |= dict(zip(aux, _travels(self.aux), strict=True))
        for what, values in (("disarmed", self.disarmed), ("failsafe", self.failsafe)):
            for name, value in values.items():
                if name not in self.names:
                    raise MixerError(f"{what} value of {name}: the files drive {', '.join(self.names)}")
                if not -1.0 <= value <= 1.0:
                    raise MixerError(f"{what} value of {name} = {value:g} is outside -1 .. 1")

    @property
    def names(self) -> list[str]:
        """All outputs, those of the main file first."""
        aux = self.aux.count if self.aux is not None else 0
        return [f"{MAIN}{i + 1}" for i in range(self.main.count)] + [f"{AUX}{i + 1}" for i in range(aux)]

    def step(self, controls: Controls, *, armed: bool, failsafe: bool = False, dt_s: float) -> dict[str, float]:
        """Outputs (-1 to 1) by name after a step of `dt_s` seconds, for controls, arming and failsafe state."""
        files = [self.main] if self.aux is None else [self.main, self.aux]
        mixed = dict(zip(self.names, (v for file in files for v in file.apply(controls)), strict=True))
        outputs = {}
        for name, value in mixed.items():
            if failsafe:
                value = self.failsafe.get(name, self._rest(name))
            elif not armed:
                value = self.disarmed.get(name, self._rest(name))
            travel_s, before = self._travel[name], self._last.get(name)
            if travel_s > 0 and before is not None:
                most = RANGE * dt_s / travel_s
                value = min(max(value, before - most), before + most)
            outputs[name] = value
        self._last = outputs
        return dict(outputs)

    def _rest(self, name: str) -> float:
        """Value of an output at rest: -1 for a motor (stopped), 0 for a servo (centred)."""
        return -1.0 if self._motors.get(name) else 0.0

    @property
    def _motors(self) -> dict[str, bool]:
        kinds: list[bool] = []
        for file in (self.main, self.aux):
            for mixer in file.mixers if file is not None else ():
                throttle = isinstance(mixer, SumMixer) and any((i.group, i.index) == (0, 3) for i in mixer.inputs)
                kinds += [throttle or type(mixer).__name__ == "MultirotorMixer"] * mixer.count
        return dict(zip(self.names, kinds, strict=True))


def _travels(file: MixerFile) -> Sequence[float]:
    return [mixer.travel_s if isinstance(mixer, SumMixer) else 0.0 for mixer in file.mixers for _ in range(mixer.count)]
