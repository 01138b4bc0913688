"""The doctor finds what is there, names who holds a port, and says what to do."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ironbird.autopilots import doctor
from ironbird.autopilots.doctor import examine, holders
from ironbird.cli.main import app
from ironbird.files import extras

TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:11D0 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1
   1: 0100007F:11D1 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1
"""
UDP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
  12: 00000000:38CC 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4713 2
"""


def program(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF\0" + content)
    path.chmod(0o755)
    return path


def test_the_kernels_tables_are_read_with_their_processes(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(TCP)
    (tmp_path / "net" / "udp6").write_text(UDP)
    (tmp_path / "77" / "fd").mkdir(parents=True)
    (tmp_path / "77" / "cmdline").write_bytes(b"px4\0-d\0")
    (tmp_path / "77" / "fd" / "3").symlink_to("socket:[4711]")

    found = holders(tmp_path)

    assert found is not None
    assert str(found["tcp", 4560][0]) == "process 77 (px4 -d)"
    assert str(found["udp", 14540][0]) == "a process of another user"
    assert ("tcp", 4561) not in found  # a connection, nobody listens
    assert holders(tmp_path / "nowhere") is None
    busy = {f.name: f for f in examine(tmp_path)}["tcp 4560"]
    assert not busy.good and "process 77 (px4 -d)" in busy.text and "another instance" in busy.cure


def test_a_port_that_we_hold_is_found_with_our_own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
        mine.bind(("127.0.0.1", 0))
        port = mine.getsockname()[1]
        monkeypatch.setattr(doctor, "ports", lambda: [doctor.Port(port, "udp", "a test")])
        finding = {f.name: f for f in examine()}[f"udp {port}"]
    assert f"process {os.getpid()} " in finding.text and not finding.good


def test_a_ground_station_that_listens_is_no_fault_and_its_port_is_named_when_free(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "udp").write_text(UDP.replace(":38CC", ":38D6"))  # 14550
    found = {f.name: f for f in examine(tmp_path)}
    assert found["udp 14550"].good and "listens (ground station of PX4 and ArduPilot 0)" in found["udp 14550"].text
    free = found["free ports"].text.split(", ")
    assert {"tcp 5760", "udp 14540", "udp 13280", "udp 14560"} <= set(free) and "udp 14550" not in free


def test_a_port_with_several_uses_is_busy_unless_its_holder_serves_them_all(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "udp").write_text(UDP.replace(":38CC", ":38F4"))  # 14580
    (found,) = (f for f in examine(tmp_path) if f.name == "udp 14580")
    assert not found.good and "held by a process of another user" in found.text
    assert "PX4 0 itself; ground station of ArduPilot 3" in found.text


def test_programs_are_found_with_their_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "px4" / "bin" / "px4", b"x\0v1.6.10-rc1\0v1.17.0\0y")
    (tmp_path / "px4" / "etc" / "init.d-posix").mkdir(parents=True)
    (tmp_path / "px4" / "etc" / "init.d-posix" / "rcS").write_text("")
    program(tmp_path / "ap" / "arducopter", b"..ArduCopter V4.7.0\0..")
    monkeypatch.setenv("IRONBIRD_PX4", str(tmp_path / "px4"))
    monkeypatch.setenv("IRONBIRD_ARDUPILOT", str(tmp_path / "ap"))
    monkeypatch.setenv("PATH", "/nowhere")

    found = {f.name: f for f in examine()}

    assert found["PX4"].good and found["PX4"].text.endswith("version v1.17.0")
    assert found["ArduPilot copter"].text.endswith("version V4.7.0")
    assert not found["ArduPilot copter-heli"].good and "./waf heli" in found["ArduPilot copter-heli"].cure
    assert not found["ArduPilot plane"].good and "./waf plane" in found["ArduPilot plane"].cure
    assert not found["browser"].good and "chromium" in found["browser"].cure
    assert found["compiler"].good
    monkeypatch.delenv("IRONBIRD_PX4")
    missing = {f.name: f for f in examine()}["PX4"]
    assert not missing.good and "IRONBIRD_PX4" in missing.cure and "make px4_sitl_default" in missing.cure


def test_extras_are_listed_with_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = {"gymnasium", "pettingzoo", "mcap"}
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name in absent else object())

    found = {f.name.removeprefix("extra "): f for f in examine() if f.name.startswith("extra ")}

    assert set(found) == set(extras.PURPOSES) == set(extras.EXTRAS.values())
    assert {name for name, finding in found.items() if not finding.good} == {"gym", "logs"}
    assert found["gym"].text.startswith("not installed") and found["gym"].cure == "pip install 'ironbird[gym]'"
    assert found["logs"].text.startswith("without mcap;") and found["app"].text.startswith("installed;")


def test_the_command_ends_with_1_if_something_is_not_ok_and_strict_also_if_something_is_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("IRONBIRD_PX4", "IRONBIRD_ARDUPILOT"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(doctor, "holders", lambda proc: {})

    plain = CliRunner().invoke(app, ["doctor", "--json"])
    strict = CliRunner().invoke(app, ["doctor", "--strict"])
    monkeypatch.setattr(doctor, "holders", lambda proc: {("udp", 14580): [doctor.Holder(77, "other")]})
    held = CliRunner().invoke(app, ["doctor"])

    assert plain.exit_code == 0 and strict.exit_code == 1 and held.exit_code == 1
    assert {"name", "good", "state", "text", "cure"} == set(json.loads(plain.stdout)["findings"][0])
    assert "absent" in strict.stdout and "NOT OK" not in strict.stdout and "NOT OK" in held.stdout
