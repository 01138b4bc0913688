"""The recorded stream of commands: what changed, when, exact."""

from __future__ import annotations

import numpy as np

from ironbird.systems.commanded.stream import Recorder, parse_stream


def test_a_recorder_notes_what_changed_and_its_text_reads_back_to_the_same_bits() -> None:
    inputs = np.array([1.0, 0.1, 0.2, 0.3])
    recorder = Recorder({"command": slice(0, 1), "velocity": slice(1, 4)}, inputs)
    recorder.note(0)
    recorder.note(4)  # nothing changed
    inputs[2] = 1.0 / 3.0
    recorder.note(8)
    inputs[0] = 13.0
    recorder.note(8)  # the same tick again
    recorder.stream.remark(8, "go # on")

    found = parse_stream(recorder.stream.text(), {"command": 1, "velocity": 3})
    assert found.entries == [
        (0, {"command": [1.0], "velocity": [0.1, 0.2, 0.3]}),
        (8, {"velocity": [0.1, 1.0 / 3.0, 0.3], "command": [13.0]}),
    ]
    assert found.remarks == {8: ["go on"]}
