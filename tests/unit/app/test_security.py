"""The door of the app: foreign hosts and origins, wrong tokens, guests, giant requests; all refused, kept, logged."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from ironbird.app.security import GUEST, LONGEST_BODY, PILOT, ROLE, Door, Guard, Message, Receive, Scope, Send

HOST = (b"host", b"127.0.0.1:8350")
ORIGIN = (b"origin", b"http://127.0.0.1:8350")
COOKIE = (b"cookie", b"other=1; ironbird_8350=right")
GUEST_COOKIE = (b"cookie", b"ironbird_8350=looks")
BEARER = (b"authorization", b"Bearer right")


def make_door() -> Door:
    return Door(8350, token="right", guest_token="looks")


class Inner:
    """The application behind the guard: reads the whole body, and notes who came."""

    def __init__(self) -> None:
        self.roles: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.roles.append(scope[ROLE])
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})


def ask(
    *headers: tuple[bytes, bytes], kind: str = "http", path: str = "/", query: bytes = b"", method: str = "GET",
    body: list[bytes] | None = None, door: Door | None = None, **more: Any,
) -> tuple[int, list[Message], Inner, Door]:  # fmt: skip
    """Status, all that was sent, who was let in, the door."""
    inner, door = Inner(), door or make_door()
    parts = list(body or [b""])
    sent: list[Message] = []

    async def receive() -> Message:
        if kind == "websocket":
            return {"type": "websocket.connect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": kind, "path": path, "raw_path": path.encode(), "query_string": query, "headers": list(headers),
        "client": ("127.0.0.1", 5), **({"method": method} if kind == "http" else {}), **more,
    }  # fmt: skip
    asyncio.run(Guard(inner, door)(scope, receive, send))
    first = sent[0]
    return first.get("status", 0 if first["type"] == "websocket.accept" else 403), sent, inner, door


def test_with_host_and_token_one_gets_in_as_pilot_and_as_guest() -> None:
    assert ask(HOST, COOKIE)[2].roles == [PILOT]
    assert ask(HOST, BEARER)[2].roles == [PILOT]
    assert ask(HOST, GUEST_COOKIE)[2].roles == [GUEST]
    assert ask(HOST, ORIGIN, COOKIE, kind="websocket")[2].roles == [PILOT]
    assert ask((b"host", b"LOCALHOST:8350"), COOKIE)[0] == 200


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ([(b"host", b"evil.example:8350"), ORIGIN, COOKIE], "host evil.example:8350 is not this page's"),
        ([(b"host", b"127.0.0.1"), ORIGIN, COOKIE], "host 127.0.0.1 is not"),
        ([ORIGIN, COOKIE], "host (none)"),
        ([HOST, HOST, ORIGIN, COOKIE], "host 127.0.0.1:8350, 127.0.0.1:8350"),
        ([HOST, (b"origin", b"http://evil.example"), COOKIE], "origin http://evil.example is foreign"),
        ([HOST, (b"origin", b"http://127.0.0.1:9999"), COOKIE], "is foreign"),
        ([HOST, (b"origin", b"null"), COOKIE], "origin null is foreign"),
        ([HOST, ORIGIN, (b"origin", b"http://evil.example"), COOKIE], "is foreign"),
        ([HOST, ORIGIN], "no token, or a wrong one"),
        ([HOST, ORIGIN, (b"cookie", b"ironbird_8350=wrong")], "a wrong one"),
        ([HOST, ORIGIN, (b"cookie", b"ironbird_8350=")], "a wrong one"),
        ([HOST, ORIGIN, (b"cookie", b"\xff\xfe;;;===")], "a wrong one"),
        ([HOST, ORIGIN, (b"authorization", b"Bearer \xff"), COOKIE], "a wrong one"),
        ([HOST, ORIGIN, (b"authorization", b"Bearer rig"), COOKIE], "a wrong one"),
    ],
)
def test_whoever_is_foreign_is_refused_and_named(
    headers: list[tuple[bytes, bytes]], why: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "ironbird.app"):
        status, _, inner, door = ask(*headers, kind=kind)
    assert status in (401, 403, 421) and inner.roles == []
    assert why in door.refusals[0] and why in caplog.text
    assert "right" not in caplog.text  # no token in the log


def test_a_websocket_needs_an_origin_or_a_bearer() -> None:
    assert ask(HOST, COOKIE, kind="websocket")[0] == 403
    assert ask(HOST, BEARER, kind="websocket")[0] == 0


def test_the_token_in_the_address_becomes_a_cookie_that_scripts_cannot_read() -> None:
    status, sent, inner, _ = ask(HOST, query=b"token=right")
    headers = dict(sent[0]["headers"])
    assert status == 303 and headers[b"location"] == b"/" and inner.roles == []
    assert headers[b"set-cookie"] == b"ironbird_8350=right; HttpOnly; SameSite=Strict; Path=/"
    assert ask(HOST, query=b"token=wrong")[0] == 401
    assert ask((b"host", b"evil.example"), query=b"token=right")[0] == 421


def test_guests_look_and_do_nothing() -> None:
    assert ask(HOST, ORIGIN, GUEST_COOKIE, method="GET", path="/status")[0] == 200
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        status, _, inner, door = ask(HOST, ORIGIN, GUEST_COOKIE, method=method, path="/do")
        assert status == 403 and inner.roles == [] and "a guest may look" in door.refusals[0]


def test_giant_requests_are_refused_by_what_they_say_and_by_what_they_are() -> None:
    said = ask(HOST, COOKIE, (b"content-length", b"999999999999999"), method="POST")
    assert said[0] == 413 and said[2].roles == []
    assert ask(HOST, COOKIE, (b"content-length", b"-5"), method="POST")[0] == 413
    pieces = [b"x" * 2**20] * (LONGEST_BODY // 2**20 + 2)
    assert ask(HOST, COOKIE, method="POST", body=pieces)[0] == 413
    assert ask(HOST, COOKIE, path="/" + "a" * 5000)[0] == 414
    assert ask(HOST, COOKIE, method="POST", body=[b"x" * 1000])[0] == 200


def test_a_giant_request_in_pieces_is_413_also_where_the_application_makes_an_error_of_it() -> None:
    """As frameworks do: the error of the body becomes a page of status 500, and is raised again."""
    door, sent = make_door(), []

    async def framework(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            while (await receive()).get("more_body"):
                pass
        except Exception:
            await send({"type": "http.response.start", "status": 500, "headers": []})
            await send({"type": "http.response.body", "body": b"Internal Server Error"})
            raise

    async def receive() -> Message:
        return {"type": "http.request", "body": b"x" * 2**20, "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "path": "/do", "raw_path": b"/do", "query_string": b"", "headers": [HOST, BEARER],
        "client": ("127.0.0.1", 5), "method": "POST",
    }  # fmt: skip
    asyncio.run(Guard(framework, door)(scope, receive, send))
    assert [message.get("status") for message in sent] == [413, None] and b"more than" in sent[1]["body"]
    assert "more than" in door.refusals[0]


def test_answers_carry_headers_that_keep_other_pages_out() -> None:
    headers = dict(ask(HOST, COOKIE)[1][0]["headers"])
    assert headers[b"x-frame-options"] == b"DENY" and headers[b"x-content-type-options"] == b"nosniff"
    assert b"connect-src 'self'" in headers[b"content-security-policy"]


def test_a_flood_of_refusals_is_counted_and_neither_fills_the_memory_nor_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    door = make_door()
    with caplog.at_level(logging.WARNING, "ironbird.app"):
        for _ in range(500):
            ask(HOST, door=door, path="/\x1b[2J<script>" + "x" * 300)
    assert door.refused == 500 and len(door.refusals) == 200
    assert len(caplog.records) < 100
    assert "\x1b" not in caplog.text and len(door.refusals[0]) < 400
