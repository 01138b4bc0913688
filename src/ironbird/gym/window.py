"""A window for `render_mode="human"`: a page on this machine's own address that shows the newest picture, as a film.

It needs no display where the program runs: the address can be opened from a browser on
another machine through a tunnel.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
import time
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BOUNDARY = "picture"
MOST_HZ = 25.0  # pictures a second of the wall clock
WAIT_S = 0.5  # of a connection for the next picture, before it looks whether the window was closed


class Window:
    """Serves pictures to browsers on 127.0.0.1 until `close`; `url` has a secret, so that other users see nothing."""

    def __init__(self, title: str) -> None:
        self._picture, self._number, self._open = b"", 0, True
        self._news = threading.Condition()
        self._last_s = -1.0
        window, secret = self, secrets.token_urlsafe(12)

        class Handler(BaseHTTPRequestHandler):
            """Answers a browser; the film is a reply without end."""

            def do_GET(self) -> None:
                if self.path != f"/{secret}":
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={BOUNDARY}")
                self.end_headers()
                try:
                    window._film(self)
                except OSError:
                    return  # the browser has gone

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing on the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/{secret}"
        threading.Thread(target=self._server.serve_forever, daemon=True, name="window").start()
        if os.environ.get("DISPLAY") or sys.platform in ("win32", "darwin"):
            webbrowser.open(self.url)
        print(f"{title}: {self.url}", flush=True)

    def due(self) -> bool:
        """Whether it is time for another picture."""
        return time.monotonic() - self._last_s >= 1.0 / MOST_HZ

    def show(self, png: bytes) -> None:
        """Show a picture in all browsers that are connected."""
        self._last_s = time.monotonic()
        with self._news:
            self._picture, self._number = png, self._number + 1
            self._news.notify_all()

    def _film(self, browser: BaseHTTPRequestHandler) -> None:
        seen = 0
        while self._open:
            with self._news:
                if self._number == seen:
                    self._news.wait(WAIT_S)
                picture, number = self._picture, self._number
            if number != seen:
                seen = number
                head = f"--{BOUNDARY}\r\nContent-Type: image/png\r\nContent-Length: {len(picture)}\r\n\r\n"
                browser.wfile.write(head.encode() + picture + b"\r\n")

    def close(self) -> None:
        """End the server."""
        self._open = False
        with self._news:
            self._news.notify_all()
        self._server.shutdown()
        self._server.server_close()
