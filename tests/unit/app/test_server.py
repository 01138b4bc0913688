"""The websocket of the page: what goes wrong in the server is said, logged, and ends the connection."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from ironbird.app.live import Live
from ironbird.app.rig import Rig
from ironbird.app.security import PILOT
from ironbird.app.server import BROKE_OFF, _attend

pytest.importorskip("starlette", reason="the extra 'app' is not installed")


class Peer:
    """A browser that says nothing."""

    def __init__(self) -> None:
        self.closed: list[tuple[int, str]] = []
        self.leaves = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.leaves.wait()
        return {"type": "websocket.disconnect"}

    async def send_bytes(self, data: bytes) -> None:
        """Taken."""

    async def send_text(self, text: str) -> None:
        """Taken."""
        self.leaves.set()

    async def close(self, code: int, reason: str) -> None:
        self.closed.append((code, reason))


class Broken(Live):
    def status(self) -> str:
        raise KeyError("a status that cannot be made")


class Gone(Peer):
    """A browser that leaves while something is sent to it."""

    words = "Unexpected ASGI message 'websocket.send', after sending 'websocket.close' or response already completed."

    async def send_bytes(self, data: bytes) -> None:
        raise RuntimeError(self.words)


class GoneBefore(Gone):
    words = 'Cannot call "send" once a close message has been sent.'


def attended(live: Live, kind: type[Peer] = Peer) -> Peer:
    async def run() -> Peer:
        peer = kind()
        await asyncio.wait_for(_attend(peer, live.rig, live, PILOT), 60.0)  # type: ignore[arg-type]
        return peer

    return asyncio.run(run())


def test_an_error_while_something_is_sent_is_said_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Rig(tmp_path) as rig, caplog.at_level(logging.ERROR, "ironbird.app"):
        peer = attended(Broken(rig))
    ((code, reason),) = peer.closed
    assert code == BROKE_OFF and "a status that cannot be made" in reason
    assert "a status that cannot be made" in caplog.text


@pytest.mark.parametrize("kind", [Peer, Gone, GoneBefore])
def test_a_browser_that_leaves_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: type[Peer]) -> None:
    with Rig(tmp_path) as rig, caplog.at_level(logging.INFO, "ironbird.app"):
        assert attended(Live(rig), kind).closed == []
    assert caplog.records == []
