"""Live tuning: whatever comes over the socket, the flight goes on, and only its user may speak."""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ironbird as ib
from ironbird.errors import RunError
from ironbird.flight import live as live_module
from ironbird.flight.flight import fly
from ironbird.flight.live import LONGEST, MOST_PEERS, SOCKET, LiveControl, tune
from ironbird.flight.order import make_order
from ironbird.runtime.log import Log
from ironbird.runtime.tuning import Tuning

HOSTILE = [
    b'{"set":{"wind/steady.velocity_N":' + b"1" * 4000 + b"}}",  # an integer beyond a double
    b'{"set":{"body.mass":' + b"1" * 5000 + b"}}",  # beyond what Python reads
    b"[" * 50000,
    b'{"set":' * 8000,
    b"",
    b"\n",
    b"\xff\xfe\x00\x01",
    b'{"set":{"\xff":1}}',
    b'{"set":{"body.mass":NaN}}',
    b'{"set":{"body.mass":Infinity}}',
    b'{"set":{"body.mass":1e999}}',
    b'{"set":{"body.mass":-1e308}}',
    b'{"set":{"body.mass":true}}',
    b'{"set":{"body.mass":null}}',
    b'{"set":{"body.mass":"1.7"}}',
    b'{"set":{"body.mass":{"a":1}}}',
    b'{"set":{"body.mass":[]}}',
    b'{"set":{"body.mass":[[1.7]]}}',
    b'{"set":{"body.mass[0',
    b'{"set":{"body.mass[99999999999999999999]":1}}',
    b'{"set":{"body.mass[x]":1}}',
    b'{"set":{"":1}}',
    b'{"set":{}}',
    b'{"set":7}',
    b"[]",
    b"null",
    b"12",
    b'{"get":1}',
    b'{"set":{"' + b"a" * 60000 + b'":1}}',
    b'{"set":{"\\ud800":1}}',
    b'{"set":{' + b",".join(b'"a%d":1' % i for i in range(5000)) + b"}}",
    b"x" * (LONGEST + 5000),
    b'{"set":{"body.mass":1.7}}'.ljust(LONGEST) + b"1",  # what fits would be good, and there is more
    b'{"set":{"body.mas":1.7}}',
    b'{"set":{"navigator.count":2}}',
    b'{"set":{"body.mass":1.7,"navigator.count":2}}',  # all or nothing
]


def ask(path: Path, request: bytes) -> dict[str, object]:
    """One request over the socket, as a client of any kind would send it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(60.0)
        peer.connect(str(path))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            peer.sendall(request)
            peer.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while data := peer.recv(LONGEST):
                answer += data
    return dict(json.loads(answer)) if answer else {}


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveControl]:
    made = LiveControl(tmp_path / "flight")
    yield made
    made.close()


@pytest.fixture
def state(f450: ib.CompiledModel) -> ib.RunState:
    """A flight that has begun."""
    made = ib.start(f450, seed=1)
    ib.run(made, 0.1)
    return made


def polled(live: LiveControl, state: ib.RunState, client: threading.Thread) -> tuple[list[Tuning], float]:
    """Poll as a flight does until the client is done; also the longest time of one poll."""
    changed, longest = [], 0.0
    client.start()
    while client.is_alive():
        begin = time.perf_counter()
        changed += live.poll(state)
        longest = max(longest, time.perf_counter() - begin)
        time.sleep(0.002)
    return changed, longest


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_request_changes_nothing_and_is_answered(live: LiveControl, state: ib.RunState, number: int) -> None:
    before = state.params.copy()
    answers: list[dict[str, object]] = []
    client = threading.Thread(target=lambda: answers.append(ask(live.path, HOSTILE[number])))
    changed, _ = polled(live, state, client)

    assert changed == [] and np.array_equal(state.params, before)
    (answer,) = answers
    if len(HOSTILE[number]) <= LONGEST:  # who sends more may be cut off before the answer is read
        assert answer["ok"] is False and answer["error"]
        assert len(str(answer["error"])) < 600


@settings(max_examples=300)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        ).map(lambda data: json.dumps({"set": data}).encode()),
        st.dictionaries(
            st.sampled_from(["body.mass", "body.mass[0]", "wind/steady.velocity_N", "wind/steady.velocity_N[1]", "x"]),
            st.one_of(st.integers(), st.floats(), st.lists(st.floats() | st.integers(), max_size=4), st.booleans()),
            max_size=3,
        ).map(lambda data: json.dumps({"set": data}).encode()),
    )
)
@example(HOSTILE[0])
@example(HOSTILE[2])
def test_no_request_raises_and_refused_ones_change_nothing(f450: ib.CompiledModel, asked: bytes) -> None:
    state = ib.start(f450, seed=1)
    before = state.params.copy()
    changed: list[Tuning] = []
    answer = LiveControl._serve(LiveControl.__new__(LiveControl), state, asked, changed)

    json.dumps(answer, allow_nan=False)
    if answer["ok"]:
        assert changed and np.isfinite(state.params).all()
        assert all(math.isfinite(v) for t in changed for v in np.atleast_1d(t.value))
    else:
        assert answer["error"] and not changed and np.array_equal(state.params, before)


def test_a_good_request_is_taken_with_and_without_its_newline(live: LiveControl, state: ib.RunState) -> None:
    answers: list[dict[str, object]] = []

    def client() -> None:
        answers.append(ask(live.path, b'{"set":{"body.mass":1.7}}'))
        answers.append(ask(live.path, b'{"set":{"body.mass":1.8}}\n'))

    changed, _ = polled(live, state, threading.Thread(target=client))

    assert [t.value for t in changed] == [1.7, 1.8] and all(answer["ok"] for answer in answers)
    assert float(state.params[0, state.model.param_rows("body.mass"), 0][0]) == 1.8


def test_silent_clients_do_not_stop_a_flight_and_keep_nobody_out(
    live: LiveControl, state: ib.RunState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "TIMEOUT_S", 0.3)
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(3 * MOST_PEERS)]
    answers: list[dict[str, object]] = []

    def client() -> None:
        for number, peer in enumerate(silent):
            peer.connect(str(live.path))
            with contextlib.suppress(BrokenPipeError):
                peer.send(b'{"set":' if number % 2 else b"")  # half a line, or nothing at all
        time.sleep(0.5)
        answers.append(ask(live.path, b'{"set":{"body.mass":1.7}}'))

    changed, longest = polled(live, state, threading.Thread(target=client))
    said = []
    for peer in silent:
        peer.settimeout(60.0)
        with contextlib.suppress(ConnectionResetError):
            said.append(json.loads(peer.recv(LONGEST))["ok"])
        peer.close()

    assert [t.value for t in changed] == [1.7] and answers[0]["ok"]
    assert longest < 5.0  # it was the whole timeout for each of them: 7 s here
    assert said and not any(said)


def test_clients_that_hang_up_in_the_middle_leave_no_trace(live: LiveControl, state: ib.RunState) -> None:
    handles = len(os.listdir("/proc/self/fd"))

    def client() -> None:
        for number in range(100):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
                peer.connect(str(live.path))
                with contextlib.suppress(BrokenPipeError):  # the flight ended before
                    peer.send(b'{"set":{"body.mass":1.7}}\n'[: number % 20])

    changed, _ = polled(live, state, threading.Thread(target=client))
    deadline = time.monotonic() + 60.0
    while len(os.listdir("/proc/self/fd")) > handles and time.monotonic() < deadline:
        changed += live.poll(state)

    assert changed == []
    assert len(os.listdir("/proc/self/fd")) <= handles


@pytest.mark.clock
def test_a_real_flight_under_attack_flies_on_in_time_and_keeps_its_log(tmp_path: Path) -> None:
    order = make_order("quad_f450", control="truth", mission="hover", until_s=6.0)
    quiet = fly(order)
    live = LiveControl(tmp_path)
    over = threading.Event()
    asked: list[bytes] = []

    def attack() -> None:
        silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with silent, contextlib.suppress(OSError):  # the flight ends while we are at it
            silent.connect(str(live.path))
            while not over.is_set():
                for request in HOSTILE:
                    ask(live.path, request)
                    asked.append(request)

    client = threading.Thread(target=attack)
    client.start()
    begin = time.perf_counter()
    try:
        flight = fly(order, speed=3.0, live=live)
    finally:
        over.set()
        live.close()
        client.join(60.0)

    assert len(asked) > len(HOSTILE)  # all of them came at least once
    assert flight.verdict == "pass" and not flight.order.tunings
    assert isinstance(flight.log, Log) and flight.sha256 == quiet.sha256
    assert time.perf_counter() - begin < 100.0  # 2 s of simulation; one silent client alone cost 2 s each poll
    assert not live.path.exists()


# ---------------------------------------------------------------------- who may speak, and where


def test_the_socket_is_open_to_its_user_alone(live: LiveControl) -> None:
    assert stat.S_IMODE(live.path.lstat().st_mode) == 0o600


def test_an_ordinary_file_of_that_name_stays(tmp_path: Path) -> None:
    (tmp_path / SOCKET).write_text("mine")
    with pytest.raises(RunError, match="is no socket of a flight"):
        LiveControl(tmp_path)
    assert (tmp_path / SOCKET).read_text() == "mine"


def test_a_link_of_that_name_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / SOCKET).symlink_to(tmp_path / "mine")
    with pytest.raises(RunError, match="is no socket of a flight"):
        LiveControl(tmp_path)
    assert (tmp_path / SOCKET).is_symlink() and (tmp_path / "mine").read_text() == "mine"


def test_a_socket_that_a_dead_flight_left_is_removed(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(tmp_path / SOCKET))
    LiveControl(tmp_path).close()
    assert not (tmp_path / SOCKET).exists()


def test_the_socket_of_a_flight_that_flies_is_not_taken(live: LiveControl) -> None:
    with pytest.raises(RunError, match="another flight listens"):
        LiveControl(live.path.parent)
    assert live.path.exists()


def test_what_took_the_place_of_the_socket_is_not_removed_at_the_end(tmp_path: Path) -> None:
    live = LiveControl(tmp_path)
    live.path.unlink()
    live.path.write_text("mine")
    live.close()
    assert live.path.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_refused_even_if_the_mode_lets_him_in(state: ib.RunState, tmp_path: Path) -> None:
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    live = LiveControl(tmp_path)
    live.path.chmod(0o666)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
        os.seteuid(65534)
        try:
            stranger.connect(str(live.path))
        finally:
            os.seteuid(0)
        stranger.send(b'{"set":{"body.mass":1.7}}\n')
        changed = live.poll(state)
        stranger.settimeout(60.0)
        said = stranger.recv(LONGEST)
    live.close()

    assert changed == [] and b"another user" in said


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(RunError, match="belongs to another user"):
        LiveControl(tmp_path)


def test_tune_says_what_the_flight_refused_and_whether_one_is_there(live: LiveControl, state: ib.RunState) -> None:
    said: list[str] = []

    def client() -> None:
        for values in ({"body.mas": 1.0}, {"body.mass": [1.0] * 60000}):
            with pytest.raises(RunError) as refused:
                tune(live.path.parent, dict(values))
            said.append(str(refused.value))

    polled(live, state, threading.Thread(target=client))
    with pytest.raises(RunError, match="no flight listens"):
        tune(live.path.parent / "nobody", {"body.mass": 1.0})

    assert "body.mass" in said[0] and "at most" in said[1]


def test_sixteen_may_speak_at_once_and_the_next_is_told_so(live: LiveControl, state: ib.RunState) -> None:
    peers = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(17)]
    for peer in peers:
        peer.connect(str(live.path))
        live.poll(state)
    peers[16].settimeout(10.0)
    assert "16 others are connected; try again" in peers[16].recv(1000).decode()
    for peer in peers:
        peer.close()
