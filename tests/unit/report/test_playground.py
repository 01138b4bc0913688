"""The playground: a vehicle that is broken by hand, and a link that holds the order."""

from __future__ import annotations

import urllib.parse
from pathlib import Path

import pytest
from browser import chromium

from ironbird.flight.flight import fly
from ironbird.flight.order import parse_order
from ironbird.report.playground import write_playground

BOAT = "boat_cybership2"


@pytest.mark.limit(300)
def test_a_fault_that_is_chosen_flies_and_its_link_and_order_give_the_same_bytes(tmp_path: Path) -> None:
    page = tmp_path / "playground.html"
    write_playground(page, [BOAT])
    assert page.stat().st_size < 1e6
    with chromium(tmp_path) as browser:
        tab = browser.tab()
        tab.open(page.as_uri())
        tab.until("typeof Again !== 'undefined'")
        tab.js("document.querySelector('[data-again=fly]').click()")
        tab.until("Again.original && !Again.busy")
        said = "document.querySelector('[data-again=said]').textContent"
        assert tab.js(said).startswith("Equal to the healthy flight, bit for bit.")
        choose = "i => { i.value = 'rotor.speed_loss@1'; i.dispatchEvent(new Event('change')); }"
        tab.js(f"({choose})(document.querySelector('[data-again=fault]'))")
        tab.until("!Again.busy && Again.latest.changes.also")
        order = parse_order(tab.js("Again.latest.text"))
        assert [fault.text() for fault in order.faults] == ["rotor.speed_loss@1:instance=1,severity=0.5,start=10"]
        sha256 = fly(order).sha256
        assert tab.js("Again.latest.sha256") == sha256 != tab.js("Again.original.sha256")

        link = tab.js("location.href")
        again = browser.tab(400, 800)
        again.open(link)
        again.until("typeof Again !== 'undefined' && Again.latest && !Again.busy && Again.latest.changes.also")
        assert again.js("Again.latest.sha256") == sha256

        for order_text, words in (
            ('{"vehicle": "<img src=x onerror=alert(1)>"}', "there is no vehicle '<img src=x onerror=alert(1)>'"),
            ('{"vehicle": "' + BOAT + '", "fault": "constructor"}', "cannot have the fault 'constructor'"),
            ("{" * 3000, "it is too long"),
            ("not json", "holds no order"),
        ):
            hostile = browser.tab()
            hostile.open(page.as_uri() + "#" + urllib.parse.quote(order_text))
            hostile.until(f"typeof Again !== 'undefined' && {said}.includes('holds no order')")
            assert words in hostile.js(said)
            assert hostile.js("document.querySelectorAll('#again-view img').length") == 0
        assert tab.errors() == again.errors() == [] and tab.requested() == set()
