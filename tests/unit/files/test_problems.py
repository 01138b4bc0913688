"""Files that cannot be read, or should not be: each says why, and none holds up the reader."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ironbird.boards.board import load_board
from ironbird.boards.firmware.device import load_mcu_board
from ironbird.errors import IronbirdError, LinkError, MissionError, VehicleError
from ironbird.files import problems
from ironbird.files.problems import DEEPEST, Problem, Source, read_source
from ironbird.files.toml_text import KeyPath, Place, locate
from ironbird.flight.mission import load_mission
from ironbird.systems.commanded.sticks.layout import load_layout
from ironbird.transport.router.route_file import read_route
from ironbird.vehicles.load import load_spec, load_vehicle


def message_of(path: Path) -> str:
    found = read_source(path)
    assert isinstance(found, Problem)
    return found.message


def written(folder: Path, content: bytes) -> Path:
    path = folder / "some.toml"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'a = "\xe9"\n', "byte 0xe9 is not UTF-8 text"),
        (b"\x7fELF\x02\x01\x01\0", "not valid TOML"),
        (b"a = " + b"[" * 5000, "nested too deeply; the most is 32"),
        (b"a = " + b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "nested too deeply; the most is 32"),
        (b"a = " + b"9" * 5000, "not valid TOML"),
        (b"a = " + b"x" * 5000, "not valid TOML"),
    ],
)
def test_what_is_no_toml_says_so(tmp_path: Path, content: bytes, says: str) -> None:
    said = message_of(written(tmp_path, content))

    assert says in said and len(said) < 300


def test_nesting_up_to_the_limit_and_a_mark_of_byte_order_are_read(tmp_path: Path) -> None:
    nested = read_source(written(tmp_path, b"a = " + b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1)))
    marked = read_source(written(tmp_path, b"\xef\xbb\xbfa = 1\n"))

    assert isinstance(nested, Source)
    assert isinstance(marked, Source) and marked.data == {"a": 1} and marked.places[("a",)] == (1, 1)


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    pipe, endless = tmp_path / "pipe.toml", tmp_path / "endless.toml"
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")

    assert "no regular file" in message_of(pipe)  # would wait for ever for a writer
    assert "no regular file" in message_of(endless)  # would fill the memory
    assert "directory" in message_of(tmp_path)
    assert "no file has such a name" in message_of(tmp_path / "a\0b.toml")


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems.read_bytes, "__defaults__", (1024,))

    assert "larger than" in message_of(written(tmp_path, b"#" * 1025))
    assert isinstance(read_source(written(tmp_path, b"#" * 1024)), Source)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "x" * 5000 + ".toml"])
def test_a_name_that_no_file_can_have_is_no_vehicle(name: str) -> None:
    with pytest.raises(IronbirdError, match=r"unknown vehicle|does not exist"):
        load_spec(name)


def test_a_vehicle_of_absurd_numbers_is_refused_in_words(tmp_path: Path) -> None:
    head = 'schema = 1\nid = "mine"\ntitle = "m"\nbase = "vtol_tailsitter"\n'
    absurd = written(tmp_path, f"{head}[body]\nmass_kg = 1e308\n".encode())
    with pytest.raises(VehicleError, match="it cannot take off"):
        load_vehicle(absurd)
    for value in ("inf", "nan", "9" * 400):
        with pytest.raises(VehicleError, match=r"write a finite number|9… does not fit here; write a number"):
            load_spec(written(tmp_path, f"{head}[body]\nmass_kg = {value}\n".encode()))


def test_a_mission_beyond_the_earth_is_refused(tmp_path: Path) -> None:
    text = 'schema = 1\n[[item]]\nkind = "waypoint"\nnorth_m = 1e308\n'

    with pytest.raises(MissionError, match=r"north_m: 1e.308 is outside its bounds; write a number of at most 1e.08"):
        load_mission(written(tmp_path, text.encode()))


@pytest.mark.parametrize("text", ["a = " + "9" * 5000, "a = " + "[" * 5000, "a = {"])
def test_every_reader_of_toml_refuses_what_the_library_stumbles_over(tmp_path: Path, text: str) -> None:
    file = tmp_path / "some.toml"
    file.write_text(text)

    for read in (load_board, load_layout, lambda path: load_mcu_board(str(path)), read_route):
        with pytest.raises(LinkError, match=r"some\.toml"):
            read(file)


def test_places_are_looked_for_when_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "some.toml"
    file.write_text("a = 1\nb = 2\n")
    asked: list[str] = []

    def noted(text: str) -> dict[KeyPath, Place]:
        asked.append(text)
        return locate(text)

    monkeypatch.setattr(problems, "locate", noted)

    source = read_source(file)
    assert isinstance(source, Source) and not asked
    assert source.problem(("b",), "", "").line == 2 and source.places[("a",)] == (1, 1) and len(asked) == 1
