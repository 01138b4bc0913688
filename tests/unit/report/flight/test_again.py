"""Pages that fly: the flight's own bytes in a browser, changed flights that repeat, refusals in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser import Tab, chromium

from ironbird.errors import ExportError
from ironbird.export.wasm.exporter import PACKAGE
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import parse_order
from ironbird.report.flight.page import write_flight_page

FAULT = "rotor.speed_loss@1:instance=1,severity=0.1,start=3"


def set_to(tab: Tab, name: str, value: float | str) -> None:
    """Move a slider as a hand does."""
    find = f"document.querySelector('[data-name=\"{name}\"]')"
    event = "change" if name == "seed" else "input"
    tab.js(f"(i => {{ i.value = {value!r}; i.dispatchEvent(new Event('{event}')); }})({find})")


def said(tab: Tab) -> str:
    return str(tab.js("document.querySelector('[data-again=said]').textContent"))


@pytest.fixture(scope="module")
def flight() -> Flight:
    """Eight seconds of an F450 that sees the truth, with a fault that it survives."""
    return fly(
        "quad_f450",
        control="truth",
        mission="hover",
        faults=[FAULT],
        requirements=["always (tilt < 30 deg)", "always[2 s, end] (speed < 9 m/s)"],
        until_s=8.0,
        seed=3,
        ends="time",
    )


@pytest.fixture(scope="module")
def page(flight: Flight, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its page."""
    path = tmp_path_factory.mktemp("again") / "flight.html"
    write_flight_page(flight, path, flies=True)
    return path


@pytest.fixture(scope="module")
def tab(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """The page in Chromium, from disk, after its flight was flown there."""
    with chromium(tmp_path_factory.mktemp("chromium")) as browser:
        tab = browser.tab()
        tab.open(page.as_uri())
        tab.until("typeof Again !== 'undefined'")
        tab.js("document.querySelector('[data-again=fly]').click()")
        tab.until("Again.original && !Again.busy")
        yield tab


def test_the_page_is_one_small_file_that_loads_nothing_and_runs_no_other_script(page: Path) -> None:
    text = page.read_text()
    assert len(text) < 4e6
    policy = re.search(r"Content-Security-Policy\" content=\"([^\"]+)", text)
    assert policy is not None and "default-src 'none'" in policy[1] and "worker-src blob:" in policy[1]
    assert "'wasm-unsafe-eval'" in policy[1] and "'unsafe-eval'" not in policy[1]
    assert "</script" not in (PACKAGE / "kernel.js").read_text()  # it stands in the page as it is


def test_the_flight_has_its_own_hash_in_the_browser(tab: Tab, flight: Flight) -> None:
    assert said(tab).startswith("Equal to the flight above, bit for bit.")
    assert tab.js("document.querySelector('[data-again=hash]').textContent") == f"✓ {flight.sha256}"
    margins = tab.js("Again.original.judgements.map(j => j.margin === null ? null : String(j.margin))")
    ours = {j.formula: j.margin for j in flight.judged.judgements}
    theirs = tab.js("Again.original.judgements.map(j => j.formula)")
    assert [ours[name] for name in theirs] == [float(m.replace("Infinity", "inf")) for m in margins]
    assert tab.errors() == [] and tab.requested() == set()


def test_a_changed_flight_is_drawn_judged_and_repeats_as_an_order(tab: Tab) -> None:
    tab.js("addEventListener('ironbird:flown', e => { window.heard = e.detail; }, true)")
    set_to(tab, "wind.speed_mps", 4.5)
    set_to(tab, "wind.from_deg", 90)
    set_to(tab, "seed", "9")
    set_to(tab, "faults.0.severity", 0.9)
    tab.until("!Again.busy && Again.latest.changes.faults && Again.latest.changes.seed === '9'")
    order = parse_order(tab.js("Again.latest.text"))
    assert (order.weather.speed_mps, order.weather.from_deg, order.seed) == (4.5, 90.0, 9)
    again = fly(order)
    assert again.sha256 == tab.js("Again.latest.sha256") == tab.js("heard.sha256")
    shown = tab.js("[...document.querySelectorAll('[data-again=judged] tr')].map(r => r.lastChild.innerText)")
    assert [text.split()[0] for text in shown] == [j.status for j in again.judged.judgements]
    assert "broken" in " ".join(shown)
    tab.js("document.getElementById('again-plots').scrollIntoView({behavior: 'instant'})")
    tab.until("document.querySelector('#again-plots .plot').dataset.drawn > 0")


def test_the_smallest_severity_that_breaks_it_is_found(tab: Tab, flight: Flight) -> None:
    tab.js("document.querySelector('[data-again=reset]').click()")
    tab.until("!Again.busy && Again.latest === Again.original")
    tab.js("document.querySelector('[data-again=shrink]').click()")
    tab.until("document.querySelector('[data-again=said]').textContent.startsWith('Breaks at severity')")
    found = re.match(r"Breaks at severity ([\d.]+), holds at ([\d.]+)\. ", said(tab))
    assert found is not None
    for severity, held in ((float(found[1]), False), (float(found[2]), True)):
        fault = replace(flight.order.faults[0], severity=severity)
        judged = fly(replace(flight.order, faults=(fault,))).judged
        assert all(j.holds for j in judged.judgements) is held, severity


def test_what_cannot_be_flown_is_refused_in_words_and_the_page_goes_on(tab: Tab) -> None:
    set_to(tab, "seed", "9" * 30)
    assert said(tab) == "This cannot be flown: seed: give a whole number from 0 to 2^63 - 1."
    for changes, words in (
        ("{wind: {speed_mps: 1e9}}", "give 0 to 60 m/s"),
        ("{until_s: 1e7}", "too long for a page"),
        ("{faults: {0: {severity: 1e308}}}", "is outside 0 .. 1"),
        ("{nonsense: 1}", "there is no change 'nonsense'"),
    ):
        tab.js(f"Again.fly({changes})")
        tab.until("!Again.busy")
        assert words in said(tab), said(tab)
    tab.js("document.querySelector('[data-again=reset]').click()")
    tab.until("!Again.busy && Again.latest === Again.original")
    assert said(tab).startswith("Equal to the flight above")


def test_a_long_flight_can_be_stopped(tab: Tab) -> None:
    tab.js("void Again.fly({until_s: 3000})")
    tab.until("!document.querySelector('[data-again=stop]').disabled")
    tab.js("document.querySelector('[data-again=stop]').click()")
    tab.until("!Again.busy")
    assert said(tab) == "Stopped."
    tab.js("document.querySelector('[data-again=fly]').click()")
    tab.until("document.querySelector('[data-again=said]').textContent.startsWith('Equal')")


def test_a_flight_that_a_page_cannot_fly_is_refused(flight: Flight, tmp_path: Path) -> None:
    order = replace(flight.order, world="forest")
    with pytest.raises(ExportError, match="a page cannot fly this flight: obstacles of the world 'forest'"):
        write_flight_page(replace(flight, order=order), tmp_path / "flight.html", flies=True)
