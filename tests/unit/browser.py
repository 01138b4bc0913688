"""A browser for tests: Debian's Chromium without a window, driven by the DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

FLAGS = (
    "--headless=new --no-sandbox --disable-quic --no-first-run --disable-background-networking --mute-audio "
    "--disable-component-update --disable-sync --use-angle=swiftshader --enable-unsafe-swiftshader "
    "--disable-dev-shm-usage --remote-debugging-port=0"
)
PATIENCE_S = 120.0  # the machine may be busy
AGAIN_S = 15.0  # until something is clicked again


BROKEN_WORDS = """[...document.querySelectorAll('td, th, dd')].flatMap(cell => {
  const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    for (const word of node.data.matchAll(/[\\w.]+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top)));
      if (word[0].length < 30 && lines.size > 1) found.push(word[0]);
    }
  return found;
})"""  # words and numbers of tables that run over two lines; hashes may
CUT_CELLS = """[...document.querySelectorAll('table.stack td')].filter(
  td => td.getBoundingClientRect().right > innerWidth).map(td => td.innerText)"""


class Browser:
    """One Chromium with any number of tabs."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        self._targets: list[str] = []

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """A command of the protocol, and its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        self._socket.send(json.dumps(message))
        while True:
            said = json.loads(self._socket.recv(timeout=PATIENCE_S))
            if said.get("id") == number:
                if "error" in said:
                    raise AssertionError(f"{method}: {said['error']}")
                return dict(said["result"])
            if said.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Network.requestWillBeSent"):
                self.events.append(said)

    def close_tabs(self) -> None:
        """A page that nobody looks at any more draws no longer."""
        while self._targets:
            self.call("Target.closeTarget", targetId=self._targets.pop())

    def tab(self, width: int = 1280, height: int = 800) -> Tab:
        """A new tab with cookies of its own."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._targets.append(target)
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.resize(width, height)
        return tab


class Tab:
    """One page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A command to this page."""
        return self.browser.call(method, self.session, **params)

    def resize(self, width: int, height: int) -> None:
        """The size of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, url: str) -> None:
        """Go to an address."""
        self.call("Page.navigate", url=url)

    def js(self, expression: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"].get("exception", found["exceptionDetails"]))
        return found["result"].get("value")

    def until(self, expression: str, patience_s: float = PATIENCE_S) -> Any:
        """Wait until an expression is true."""
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            with contextlib.suppress(AssertionError):  # the page is being loaded
                if found := self.js(f"(v => v instanceof Node ? true : v)({expression})"):
                    return found
            time.sleep(0.1)
        raise AssertionError(f"never became true: {expression}\n{self.errors()}")

    def click(self, selector: str) -> None:
        """A true click of the mouse into the middle of an element."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.until(f"!!{found}")
        self.js(f"{found}.scrollIntoView({{block: 'center'}})")
        x, y = self.js(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({found}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click_until(self, selector: str, expression: str, patience_s: float = PATIENCE_S) -> Any:
        """Click, and click again after a while, until an expression is true: a page that is loading loses clicks."""
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            self.click(selector)
            with contextlib.suppress(AssertionError):
                return self.until(expression, AGAIN_S)
        raise AssertionError(f"never became true: {expression}\n{self.errors()}")

    def button(self, words: str) -> str:
        """A selector of the button with these words; it is marked once it is there."""
        find = f"[...document.querySelectorAll('button')].find(b => b.innerText.trim().endsWith({json.dumps(words)}))"
        self.until(f"!!{find}")
        mark = words.replace(" ", "_")
        self.js(f"{find}.setAttribute('data-found', {json.dumps(mark)})")
        return f"[data-found={json.dumps(mark)}]"

    def click_button(self, words: str) -> None:
        """Click the button with these words."""
        self.click(self.button(words))

    def picture(self, path: Path) -> bytes:
        """What is seen."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(data)
        return data

    def _events(self) -> list[dict[str, Any]]:
        return [event for event in self.browser.events if event.get("sessionId") == self.session]

    def errors(self) -> list[str]:
        """What went wrong in scripts of this tab so far."""
        found = []
        for event in self._events():
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(event["params"]["exceptionDetails"])[:500])
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(
                    str(event["params"]["entry"].get("text", "")) + str(event["params"]["entry"].get("url", ""))
                )
        return found

    def requested(self) -> set[str]:
        """Hosts that this tab asked for anything."""
        urls = [e["params"]["request"]["url"] for e in self._events() if e["method"] == "Network.requestWillBeSent"]
        return {url.split("/")[2] for url in urls if url.startswith(("http:", "https:", "ws:", "wss:"))}


@contextlib.contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """Debian's Chromium; the test is passed over where there is none, but in CI."""
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("chromium is missing; in CI the page must be opened")
        pytest.skip("chromium is not on PATH")
    profile = folder / "profile"
    words = [program, *FLAGS.split(), f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            port = profile / "DevToolsActivePort"
            deadline = time.monotonic() + PATIENCE_S
            while not port.is_file() or len(port.read_text().splitlines()) < 2:
                assert time.monotonic() < deadline and process.poll() is None, "chromium did not start"
                time.sleep(0.1)
            number, path = port.read_text().splitlines()[:2]
            with connect(f"ws://127.0.0.1:{number}{path}", max_size=None, proxy=None, ping_interval=None) as socket:
                yield Browser(socket)
        finally:
            process.terminate()
            process.wait(30)
