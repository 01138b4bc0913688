"""Flight pages read as a browser would read them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.flight.flight import Flight
from ironbird.flight.judge import Judgement
from ironbird.report.flight.page import write_flight_page

FAULT = "rotor.speed_loss@1:instance=2,severity=1,start=8"
TRIGGER = "altitude > 5 m and mode == 'take-off'"
TIME_PLOTS = {
    "height",
    "error",
    "horizontal",
    "velocity",
    "attitude",
    "rates",
    "rotors",
    "throttles",
    "wind",
    "battery",
}
TIME_PLOTS |= {"witness-1"}
SPECTRA = {"spectrum-gyroscope", "spectrum-accelerometer"}
PLOTS = TIME_PLOTS | {"timeline", "replay", "path-plan"}
ESTIMATES = {"estimate-height", "estimate-horizontal", "estimate-error", "estimate-attitude"}
ESTIMATES |= {"measured-gyro", "measured-accel"}


class Page(HTMLParser):
    """What a browser would load and show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words = ""
        self.scripts: list[str] = []
        self.styles = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for key, value in attrs if key in ("src", "href", "data", "srcset", "action")]
        self.ids += [value or "" for key, value in attrs if key == "id"]
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside == "style":
            self.styles += data
        else:
            self.words += data

    @property
    def figures(self) -> dict[str, Any]:
        """What is drawn, by name."""
        return dict(json.loads(self.scripts[1]))


def judged_as(flight: Flight, verdict: str, judgements: Sequence[Judgement] = ()) -> Flight:
    """The same flight with another word of the judge."""
    return replace(flight, judged=replace(flight.judged, verdict=verdict, judgements=list(judgements)))


def page_of(flight: Flight, folder: Path) -> Page:
    """The page of a flight, written and read."""
    write_flight_page(flight, folder / "flight.html")
    return Page((folder / "flight.html").read_text(encoding="utf-8"))


def numbers(packed: dict[str, str]) -> np.ndarray:
    """Of a curve, as the page unpacks them."""
    return np.frombuffer(base64.b64decode(packed["bdata"]), "<f4")


def rows_of(page: Page) -> dict[str, list[tuple[float, float, str, str]]]:
    """The rows of the time line: start, end, text and colour of each span."""
    figure = page.figures["timeline"]
    names = [label["text"] for label in figure["layout"]["annotations"]]
    return {
        name: [
            (start, start + length, text, ink)
            for start, length, text, ink in zip(bar["base"], bar["x"], bar["text"], bar["marker"]["color"], strict=True)
        ]
        for name, bar in zip(names, figure["data"], strict=True)
    }


def curves_of(page: Page, figure: str, axis: str = "y") -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Curves of one small plot by name; of two with one name (a band) the upper."""
    return {
        trace["name"]: (numbers(trace["x"]), numbers(trace["y"]))
        for trace in page.figures[figure]["data"]
        if trace["yaxis"] == axis
    }
