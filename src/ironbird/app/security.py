"""Access control of the page: Host, Origin, token, size; refusals are kept and logged.

A page on the loopback address can be reached by every page that a browser shows (a request with a foreign Origin, or a
foreign name that leads to 127.0.0.1) and by every user of the machine. The libraries below accept any Host and Origin,
so all of it is decided here, in front of them, for every request and every websocket alike.
"""

from __future__ import annotations

import contextlib
import hmac
import http.cookies
import logging
import secrets
import time
import urllib.parse
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from ironbird.errors import shortened

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PILOT, GUEST = "pilot", "guest"
ROLE = "ironbird.role"  # in the scope of a request
LONGEST_BODY = 4 * 2**20  # bytes of a request
LONGEST_MESSAGE = 2**18  # bytes of a websocket's message
LONGEST_TARGET = 4096  # bytes of path and query
MOST_KEPT = 200  # refusals
LOGGED_PER_S = 5  # refusals that are logged; all are counted
LEFT = "No response returned."  # starlette's error when the browser left before its answer
EVENTS = "/_nicegui_ws"  # the library's own channel, which also guests need
CONTENT = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self'; frame-ancestors 'none'; "
    "form-action 'self'; base-uri 'self'; object-src 'none'"
)
HEADERS = (
    (b"content-security-policy", CONTENT.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
logger = logging.getLogger("ironbird.app")


class Door:
    """Decides which requests may pass, and with which role."""

    def __init__(self, port: int, *, hosts: Iterable[str] = (), token: str = "", guest_token: str = "") -> None:
        self.port = port
        self.token = token or secrets.token_urlsafe(24)
        self.guest_token = guest_token or secrets.token_urlsafe(24)
        names = ("127.0.0.1", "localhost", "[::1]", *hosts)
        self.hosts = frozenset(f"{name}:{port}".encode() for name in names)
        self.origins = frozenset(b"http://" + host for host in self.hosts)
        self.cookie = f"ironbird_{port}"  # browsers share cookies between the ports of a host
        self.refusals: deque[str] = deque(maxlen=MOST_KEPT)
        self.refused = 0
        self._logged: deque[float] = deque(maxlen=LOGGED_PER_S)

    def url(self, role: str = PILOT) -> str:
        """The address to open, with the token of a role."""
        return f"http://127.0.0.1:{self.port}/?token={self.token if role == PILOT else self.guest_token}"

    def role_of(self, token: str) -> str:
        """The role that a token gives: pilot, guest, or empty if it is wrong."""
        sent = token.encode("utf-8", "replace")
        for role, right in ((PILOT, self.token), (GUEST, self.guest_token)):
            if hmac.compare_digest(sent, right.encode()):
                return role
        return ""

    def judge(self, scope: Scope) -> tuple[str, int, str]:
        """Role, status and reason: a role if the request may pass, else empty with the reason."""
        headers = list(scope.get("headers", ()))
        hosts = [value.lower() for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return "", 421, f"host {_shown(hosts)} is not this page's"
        origins = [value.lower() for name, value in headers if name == b"origin"]
        if origins and (len(origins) > 1 or origins[0] not in self.origins):
            return "", 403, f"origin {_shown(origins)} is foreign"
        target = scope.get("raw_path") or scope.get("path", "").encode()
        if len(target) + len(scope.get("query_string", b"")) > LONGEST_TARGET:
            return "", 414, f"an address of more than {LONGEST_TARGET} bytes"
        bearer = _bearer(headers)
        if bearer is None and not origins and scope["type"] == "websocket":
            return "", 403, "a websocket without an origin"
        role = self.role_of(bearer if bearer is not None else _cookie(headers, self.cookie))
        if not role:
            return "", 401, "no token, or a wrong one: open the address that 'ironbird app' printed"
        method = scope.get("method", "GET")
        if role == GUEST and method not in ("GET", "HEAD") and not scope.get("path", "").startswith(EVENTS):
            return "", 403, f"a guest may look, not {method}"
        return role, 200, ""

    def refuse(self, scope: Scope, why: str) -> None:
        """Record a refusal, and log it unless there were too many lately."""
        peer = (scope.get("client") or ("?",))[0]
        line = f"refused {scope['type']} {shortened(repr(scope.get('path', '')))} from {shortened(repr(peer))}: {why}"
        self.refused += 1
        self.refusals.append(f"{time.strftime('%H:%M:%S')} {line}")
        now = time.monotonic()
        if len(self._logged) < LOGGED_PER_S or now - self._logged[0] > 1.0:
            self._logged.append(now)
            logger.warning("%s", line)


def _shown(values: list[bytes]) -> str:
    return shortened(b", ".join(values).decode("latin-1").encode("unicode_escape").decode()) if values else "(none)"


def _bearer(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    for name, value in headers:
        if name == b"authorization" and value.lower().startswith(b"bearer "):
            return value[7:].decode("latin-1")
    return None


def _cookie(headers: Iterable[tuple[bytes, bytes]], key: str) -> str:
    for name, value in headers:
        if name == b"cookie":
            cookies: http.cookies.SimpleCookie = http.cookies.SimpleCookie()
            try:
                cookies.load(value.decode("latin-1"))
            except http.cookies.CookieError:
                continue
            if key in cookies:
                return cookies[key].value
    return ""


class TooLarge(Exception):
    """A request's body is longer than it may be."""


class Guard:
    """ASGI middleware that applies the access control to the whole application."""

    def __init__(self, app: App, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] == "http" and await self._let_in(scope, send):
            return
        role, status, why = self.door.judge(scope)
        if not role:
            self.door.refuse(scope, why)
            await _answer(scope, receive, send, status, why)
            return
        scope[ROLE] = role
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
        else:
            await self._serve(scope, receive, send)

    async def _let_in(self, scope: Scope, send: Send) -> bool:
        """Turn `/?token=…` into a cookie, so that no later address contains the token."""
        if scope.get("path") != "/" or scope.get("method") != "GET":
            return False
        try:
            query = urllib.parse.parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=20)
        except ValueError:  # too many fields
            return False
        if "token" not in query:
            return False
        role = self.door.role_of(query["token"][0])
        hosts = [value.lower() for name, value in scope["headers"] if name == b"host"]
        if not role or len(hosts) != 1 or hosts[0] not in self.door.hosts:
            return False
        cookie = f"{self.door.cookie}={query['token'][0]}; HttpOnly; SameSite=Strict; Path=/"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"cache-control", b"no-store"), *HEADERS]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
        return True

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        size, begun = 0, False

        async def measured() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > LONGEST_BODY:
                raise TooLarge
            return message

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if size > LONGEST_BODY and not begun:
                return  # drop the application's own error response; the refusal below is the answer
            if message["type"] == "http.response.start":
                begun = True
                own = {name for name, _ in message.get("headers", [])}
                message["headers"] = [*message.get("headers", []), *(h for h in HEADERS if h[0] not in own)]
            await send(message)

        why = f"a request of more than {LONGEST_BODY} bytes"
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not declared.isdigit() or int(declared[:12]) > LONGEST_BODY:
            self.door.refuse(scope, why)
            await _answer(scope, receive, send, 413, why)
            return
        with contextlib.suppress(TooLarge):
            try:
                await self.app(scope, measured, with_headers)
            except RuntimeError as error:
                if str(error) != LEFT:
                    raise
        if size > LONGEST_BODY:
            self.door.refuse(scope, why)
            if not begun:
                await _answer(scope, receive, send, 413, why)


async def _answer(scope: Scope, receive: Receive, send: Send, status: int, why: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": why[:100]})  # before accept: HTTP 403
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"refused: {why}\n".encode()})
