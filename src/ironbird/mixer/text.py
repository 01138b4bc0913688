"""A mixer file in words: one table per mixer, or plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ironbird.vehicles.mixer import HelicopterMixer, Mixer, MixerFile, MultirotorMixer, SumMixer

CONTROLS = ("roll", "pitch", "yaw", "thrust")


def mixer_rows(file: MixerFile) -> list[tuple[str, dict[str, str]]]:
    """Title and table rows (label, text) of each mixer of a file."""
    tables, first = [], 1
    for mixer in file.mixers:
        rows = {f"output {first + i}": text for i, text in enumerate(mixer.texts())}
        if isinstance(mixer, MultirotorMixer):
            rows["seen from above"] = mixer.geometry.drawing()
            rows["scales"] = f"roll {mixer.roll:g}, pitch {mixer.pitch:g}, yaw {mixer.yaw:g}; idle {mixer.idle:g}"
            rows["vehicles like this"] = ", ".join(mixer.geometry.vehicles()) or "none in the catalogue"
        tables.append((f"line {mixer.line}: {_title(mixer)}", rows))
        first += mixer.count
    return tables


def _title(mixer: Mixer) -> str:
    if isinstance(mixer, MultirotorMixer):
        return f"multirotor {mixer.geometry.key}, {mixer.geometry.title}"
    if isinstance(mixer, HelicopterMixer):
        return f"helicopter, swash plate with {len(mixer.servos)} servos"
    if isinstance(mixer, SumMixer):
        return f"sum of {len(mixer.inputs)} control" + ("s" if len(mixer.inputs) != 1 else "")
    return "empty"


def mixer_data(file: MixerFile) -> dict[str, Any]:
    """The mixers of a file as plain data for JSON: line, first output, number of outputs, fields of their kind."""
    mixers, first = [], 1
    for mixer in file.mixers:
        data: dict[str, Any] = {"line": mixer.line, "first_output": first, "outputs": mixer.count}
        if isinstance(mixer, MultirotorMixer):
            geometry = mixer.geometry
            data |= {
                "kind": "multirotor",
                "geometry": geometry.key,
                "title": geometry.title,
                "idle": mixer.idle,
                "controls": list(CONTROLS),
                "matrix": mixer.matrix.round(6).tolist(),
                "rotors": [asdict(rotor) for rotor in geometry.rotors],
                "vehicles": geometry.vehicles(),
            }
        elif isinstance(mixer, HelicopterMixer):
            data |= {
                "kind": "helicopter",
                "throttle_curve": list(mixer.throttle),
                "pitch_curve": list(mixer.pitch),
                "servos": [asdict(servo) for servo in mixer.servos],
            }
        elif isinstance(mixer, SumMixer):
            inputs = [asdict(i) for i in mixer.inputs]
            data |= {"kind": "sum", "inputs": inputs, "output": asdict(mixer.output), "travel_s": mixer.travel_s}
        else:
            data["kind"] = "null"
        mixers.append(data)
        first += mixer.count
    return {"outputs": file.count, "mixers": mixers, "warnings": list(file.warnings)}
