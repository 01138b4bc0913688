"""Steps one co-simulation FMU in a separate process; `systems/fmu/kind.py` runs this file as a program.

It reads one line of JSON (library, version of FMI, token, value references) and answers `ready` or an error. Then, for
each exchange, it reads the length of the step and the inputs as doubles, and answers a status and the outputs. A hang,
crash or output of the FMU's code does not affect the simulation. Standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from typing import Any, BinaryIO

CO_SIMULATION = 1
_D, _U, _S, _V = ctypes.c_double, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p


class Unit:
    """An instance of a co-simulation FMU 2.0 or 3.0, called through ctypes."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.fmi = order["fmi"]
        self.prefix = f"fmi{self.fmi}"
        self.library = ctypes.CDLL(order["library"])
        self.inputs = (_U * len(order["inputs"]))(*order["inputs"])
        self.outputs = (_U * len(order["outputs"]))(*order["outputs"])
        token, place = order["token"].encode(), order["resources"].encode()
        if self.fmi == 2:
            self._instantiate2(token, place)
        else:
            self._instantiate3(token, place)
        if not self.unit:
            raise RuntimeError("it cannot be instantiated: it refuses its own token, or has no room")
        if self.fmi == 2:
            self._call("SetupExperiment", ctypes.c_int(0), _D(0), _D(0), ctypes.c_int(0), _D(0))
            self._call("EnterInitializationMode")
        else:
            self._call("EnterInitializationMode", ctypes.c_bool(False), _D(0), _D(0), ctypes.c_bool(False), _D(0))
        self.initialising = True  # until the first inputs are set: an FMU may compute its first outputs from them
        self.time_s = 0.0

    def _function(self, name: str) -> Any:
        return getattr(self.library, self.prefix + name)

    def _instantiate2(self, token: bytes, place: bytes) -> None:
        libc = ctypes.CDLL(None)
        logger = ctypes.CFUNCTYPE(None, _V, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
        allocate, free = ctypes.CFUNCTYPE(_V, _S, _S), ctypes.CFUNCTYPE(None, _V)
        libc.calloc.restype, libc.calloc.argtypes, libc.free.argtypes = _V, [_S, _S], [_V]

        class Callbacks(ctypes.Structure):
            """The structure fmi2CallbackFunctions of FMI 2.0."""

            _fields_ = [("logger", logger), ("allocate", allocate), ("free", free), ("finished", _V), ("who", _V)]

        self.kept: Any = Callbacks(logger(lambda *arguments: None), allocate(libc.calloc), free(libc.free), None, None)
        function = self._function("Instantiate")
        function.restype = _V
        zero = ctypes.c_int(0)
        kind = ctypes.c_int(CO_SIMULATION)
        self.unit = function(b"ironbird", kind, token, place, ctypes.byref(self.kept), zero, zero)

    def _instantiate3(self, token: bytes, place: bytes) -> None:
        log = ctypes.CFUNCTYPE(None, _V, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
        self.kept = log(lambda *arguments: None)
        function = self._function("InstantiateCoSimulation")
        function.restype = _V
        no = ctypes.c_bool(False)
        self.unit = function(b"ironbird", token, place, no, no, no, no, None, _S(0), None, self.kept, None)

    def _call(self, name: str, *arguments: Any) -> None:
        status = self._function(name)(_V(self.unit), *arguments)
        if status > 1:
            raise RuntimeError(f"{self.prefix}{name} answered status {status}")

    def exchange(self, length: float, values: tuple[float, ...]) -> list[float]:
        """Set the inputs, step by `length` seconds, and return the outputs."""
        inputs, outputs = (_D * len(values))(*values), (_D * len(self.outputs))()
        get, put, more = ("GetReal", "SetReal", False) if self.fmi == 2 else ("GetFloat64", "SetFloat64", True)
        if values:
            self._call(put, self.inputs, _S(len(values)), inputs, *([_S(len(values))] if more else []))
        if self.initialising:
            self._call("ExitInitializationMode")
            self.initialising = False
        if self.fmi == 2:
            self._call("DoStep", _D(self.time_s), _D(length), ctypes.c_int(1))
        else:
            flags = [ctypes.c_bool() for _ in range(3)]
            last = _D()
            self._call(
                "DoStep",
                _D(self.time_s),
                _D(length),
                ctypes.c_bool(True),
                *map(ctypes.byref, flags),
                ctypes.byref(last),
            )
            if flags[1].value:
                raise RuntimeError("it requested the end of the simulation (terminateSimulation)")
        self.time_s += length
        self._call(get, self.outputs, _S(len(outputs)), outputs, *([_S(len(outputs))] if more else []))
        return list(outputs)


def main(source: BinaryIO, answer: BinaryIO) -> None:
    """Read the order, instantiate the FMU, and serve exchanges until the input ends."""

    def say(data: dict[str, str]) -> None:
        answer.write(json.dumps(data).encode() + b"\n")
        answer.flush()

    try:
        order = json.loads(source.readline())
        unit = Unit(order)
    except (OSError, ValueError, AttributeError, RuntimeError, KeyError) as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return
    say({"said": "ready"})
    form = f"<{1 + len(order['inputs'])}d"
    size, room = struct.calcsize(form), len(order["outputs"])
    while len(data := source.read(size)) == size:
        length, *values = struct.unpack(form, data)
        try:
            outputs, text = unit.exchange(length, tuple(values)), b""
        except (RuntimeError, OSError) as error:
            outputs, text = [0.0] * room, str(error).encode()[:200]
        answer.write(struct.pack(f"<200s{room}d", text, *outputs))
        answer.flush()


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that an FMU prints must not mix with answers
    main(sys.stdin.buffer, out)
