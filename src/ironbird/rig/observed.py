"""A rig that notes which sensors a Python function reads: a fault of one that is never read changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ironbird.rig.rig import Receiver, Rig, Sensor

RAW = ("state", "stepper")  # of a rig: by these every signal can be read without a sensor
SENSORS = ("accels", "gyros", "magnetometers", "barometers", "airspeeds", "rangefinders", "flows")


class ObservedSensor:
    """A sensor that notes that it was read."""

    def __init__(self, sensor: Sensor, reads: set[str]) -> None:
        self._sensor, self._reads = sensor, reads

    def __getattr__(self, name: str) -> Any:
        self._reads.add(self._sensor.path)
        return getattr(self._sensor, name)


class ObservedReceiver:
    """A satellite receiver that notes what was read of it."""

    def __init__(self, receiver: Receiver, reads: set[str]) -> None:
        self._receiver, self._reads = receiver, reads
        self.position_N = ObservedSensor(receiver.position_N, reads)
        self.velocity_N = ObservedSensor(receiver.velocity_N, reads)

    @property
    def details(self) -> Mapping[str, np.ndarray]:
        """Views of the chip's other outputs."""
        self._reads.update(self._receiver.paths)
        return self._receiver.details


class ObservedRig(Rig):
    """The same rig, with the same attributes; `reads` has the paths of signals that were read through it.

    It is None as soon as the run itself (`state`, `stepper`) was taken: then everything may be read.
    """

    def __init__(self, rig: Rig) -> None:
        reads = set[str]()
        own: dict[str, Any] = {name: [ObservedSensor(one, reads) for one in getattr(rig, name)] for name in SENSORS}
        own["receivers"] = [ObservedReceiver(one, reads) for one in rig.receivers]

        def held(path: str) -> np.ndarray:
            reads.add(path)
            return rig.held(path)

        own["held"] = held
        for name, value in {"_rig": rig, "_own": own, "reads": reads}.items():
            object.__setattr__(self, name, value)

    def __getattribute__(self, name: str) -> Any:
        if name == "reads" or name.startswith("__"):
            return object.__getattribute__(self, name)
        if name in RAW:
            object.__setattr__(self, "reads", None)
        own = object.__getattribute__(self, "_own")
        return own[name] if name in own else getattr(object.__getattribute__(self, "_rig"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_rig"), name, value)
