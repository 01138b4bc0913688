"""The verb `route`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.dialect import ATTITUDE, HIL_ACTUATOR_CONTROLS, HIL_CONTROLS, HIL_GPS, HIL_SENSOR
from ironbird.transport.router.cables import STAMP

RUNNER = CliRunner()


def log(folder: Path) -> Path:
    packer, data = Packer(), b""
    for number in range(40):
        packer.add(ATTITUDE, number, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
        data += STAMP.pack(1_000_000 + 1000 * number) + bytes(packer.take())
    path = folder / "flight.tlog"
    path.write_bytes(data)
    return path


def test_the_monitor_shows_number_rate_and_values_of_each_message(tmp_path: Path) -> None:
    links = ["--link", f"log=file:{log(tmp_path)}", "--link", "line=pty"]
    fault = ["--fault", "route.drop@1:instance=line,severity=0.5"]
    done = RUNNER.invoke(app, ["connect", "route", *links, *fault, "--json"])
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    heard = figures["connections"]["log"]["received"]["ATTITUDE"]
    assert heard["count"] == 40 and heard["last"]["roll"] == 0.5 and heard["last"]["time_boot_ms"] == 39
    assert 5 < figures["connections"]["line"]["sent"]["ATTITUDE"]["count"] < 35
    assert "acted from" in figures["faults"][0] and "of 40 packets" in figures["faults"][0]
    text = RUNNER.invoke(app, ["connect", "route", *links, "--values"]).output
    assert "40 received" in text and "roll 0.5 rad, pitch 0.0 rad" in text


def test_messages_of_hardware_in_the_loop_are_shown_by_their_fields(tmp_path: Path) -> None:
    packer, data = Packer(), b""
    for message, fields in (
        (HIL_SENSOR, (2000, 0.5, 0.25, -9.75, *[0.0] * 10, 0, 0)),
        (HIL_GPS, (3000, 473977420, 85455940, 488000, *[100] * 7, 3, 10, 0, 0)),
        (HIL_CONTROLS, (4000, 0.5, -0.5, 0.0, 0.75, *[0.0] * 4, 0, 0)),
        (HIL_ACTUATOR_CONTROLS, (5000, 0, *[0.5] * 16, 129)),
    ):
        packer.add(message, *fields)
        data += STAMP.pack(1_000_000) + bytes(packer.take())
    path = tmp_path / "hil.tlog"
    path.write_bytes(data)
    done = RUNNER.invoke(app, ["route", "--link", f"log=file:{path}", "--link", "line=pty", "--json"])
    assert done.exit_code == 0, done.output
    received = json.loads(done.stdout)["connections"]["log"]["received"]
    shown = {name: heard["last"] for name, heard in received.items()}

    assert shown["HIL_SENSOR"]["zacc"] == -9.75
    assert shown["HIL_GPS"]["lat"] == 473977420 and shown["HIL_GPS"]["fix_type"] == 3
    assert shown["HIL_CONTROLS"]["throttle"] == 0.75
    assert shown["HIL_ACTUATOR_CONTROLS"]["controls"] == " ".join(["0.5"] * 16)


def test_wrong_orders_end_with_a_sentence(tmp_path: Path) -> None:
    pair = ["--link", "a=pty", "--link", "b=pty"]
    for words, reason in (
        ([], "give a route file, or connections"),
        ([*pair, "--fault", "route.drop@1:instance=c"], "connection 'c'"),
        ([*pair, "--fault", "gnss.denied@1"], "gnss.denied@1"),
        (["--link", f"a=file:{tmp_path / 'none.tlog'}"], "cannot be read"),
        (["--link", f"a=file:{__file__}"], "no telemetry log"),
        ([*pair, "--save", __file__], "is there already"),
    ):
        done = RUNNER.invoke(app, ["connect", "route", *words, "--until", "0.2"])
        assert done.exit_code == 2 and reason in done.output, done.output
