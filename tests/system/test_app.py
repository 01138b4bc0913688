"""The live rig as users meet it: `ironbird app` as a process, asked by programs and by a true browser."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attended_system
import pytest
from app_server import Served, served
from browser import Browser, Tab, chromium
from campaign_data import stored_campaigns
from json_documents import checked
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from ironbird.app.actions import ACTIONS
from ironbird.app.live import HEAD
from ironbird.cli.main import app as cli
from ironbird.flight.flight import fly
from ironbird.flight.order import load_order

PATIENCE_S = 120.0
PICTURES = "IRONBIRD_APP_PICTURES"  # a folder: pictures for the guide are left there


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("app")
    stored_campaigns(f"sqlite:///{folder / 'store.db'}")
    with served(folder, IRONBIRD_SYSTEMS=f"told={attended_system.__file__}:TOLD") as running:
        yield running


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def browser(chrome: Browser) -> Iterator[Browser]:
    yield chrome
    chrome.close_tabs()


def live(app: Served, token: str | None = None, **headers: str) -> Any:
    given = {"Authorization": f"Bearer {app.token if token is None else token}", **headers}
    return connect(f"ws://127.0.0.1:{app.port}/live", additional_headers=given, proxy=None, max_size=None)


def answer_to(socket: Any, message: str) -> dict[str, Any]:
    socket.send(message)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        said = socket.recv(timeout=PATIENCE_S)
        if isinstance(said, str) and "flights" not in (found := json.loads(said)):
            return dict(found)
    raise AssertionError("no answer")


def test_foreigners_are_refused_at_the_running_server(app: Served) -> None:
    assert app.ask("/status")[0] == 200
    assert app.ask("/status", token="wrong")[0] == 401
    assert app.ask("/status", Host="evil.example")[0] == 421
    assert app.ask("/status", Origin="http://evil.example")[0] == 403
    assert app.ask("/do", b'{"do": "start"}', Origin="http://evil.example")[0] == 403
    assert app.ask("/do", b'{"do": "start"}', token=app.guest_token)[0] == 403
    for wrong in ({"token": "wrong"}, {"Origin": "http://evil.example"}):
        with pytest.raises(InvalidStatus):
            live(app, **wrong)
    for path in ("/_nicegui_ws/socket.io/?EIO=4&transport=polling", "/_nicegui/3.18.0/static/nicegui.js"):
        assert app.ask(path, token="wrong")[0] == 401
        assert app.ask(path, Origin="http://evil.example")[0] == 403
    deadline = time.monotonic() + PATIENCE_S
    while app.status()["refused"] < 10:  # counted at once, told some times a second
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert app.status()["flights"] == []


def test_no_path_leads_out(app: Served) -> None:
    for path in (
        "/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static//etc/passwd",
        "/report/x/..%2f..%2fetc%2fpasswd", "/report/../../x", "/log?name=../../../etc/passwd", "/log?name=/etc/passwd",
        "/frames/%2e%2e", "/shape/..%2f..%2fx", "/diagram/..%2fx.svg", "/campaign/..%2f..",
        "/stored?campaign=../x&flight=y",
    ):  # fmt: skip
        status, said = app.ask(path)
        assert status == 404 and b"root:" not in said and b"def serve" not in said, path


def test_giant_and_senseless_messages_harm_nobody(app: Served) -> None:
    assert app.ask("/do", b"x" * 5_000_000)[0] == 413
    assert app.ask("/do", b"[" * 100_000)[0] == 400
    assert app.ask("/do", b"\xff\xfe")[0] == 400
    with live(app) as socket:
        for message in (
            "",
            "nonsense",
            "[]",
            "1",
            '{"do": 5}',
            '{"plots": 7}',
            "[" * 60_000,
            '{"do": "start", "seq": 1, "x": 1}',
        ):
            assert answer_to(socket, message)["ok"] is False
        assert "characters at most" in answer_to(socket, '"' + "x" * 70_000 + '"')["error"]
        with pytest.raises(ConnectionClosed):
            socket.send("x" * 2_000_000)
            while True:
                socket.recv(timeout=PATIENCE_S)
    assert app.ask("/status")[0] == 200


def test_a_guest_sees_all_and_moves_nothing(app: Served) -> None:
    with live(app, token=app.guest_token) as socket:
        came = [socket.recv(timeout=PATIENCE_S) for _ in range(3)]
        kinds = {HEAD.unpack_from(said)[0] if isinstance(said, bytes) else "text" for said in came}
        assert kinds == {1, "text"}
        refused = answer_to(socket, '{"do": "start", "seq": 4}')
        assert refused == {"seq": 4, "ok": False, "error": "a guest may look, not start"}
    assert app.status()["flights"] == []


def test_the_command_line_does_what_the_page_does(app: Served) -> None:
    run = CliRunner().invoke
    begun = run(cli, ["app", "do", "start", "paused=true", "speed=max", "until_s=30", "--url", app.url])
    assert begun.exit_code == 0, begun.output
    name = checked(begun.stdout)["result"]["flight"]
    app.until(name, state="paused")
    assert run(cli, ["app", "do", "step", f"flight={name}", "exchanges=500", "--url", app.url]).exit_code == 0
    assert run(cli, ["app", "do", "branch", f"flight={name}", "--url", app.url]).exit_code == 0
    refused = run(cli, ["app", "do", "arm", "flight=none", "--url", app.url])
    assert refused.exit_code == 1 and "refused: unknown flight" in refused.stderr
    answer = checked(refused.stdout)
    assert not answer["ok"] and answer["action"] == "arm" and answer["error"].startswith("unknown flight")
    ended = run(cli, ["app", "do", "end", f"flight={name}", "--url", app.url])
    assert checked(ended.stdout)["result"]["verdict"] == "void"  # it had not left the ground yet
    assert app.ask(f"/report/{name}/flight.html")[0] == 200
    for wrong in ("http://127.0.0.1:1/?token=x", "nowhere"):
        failed = run(cli, ["app", "do", "arm", "--url", wrong])
        assert failed.exit_code == 2 and "error: " in failed.output


def test_the_command_line_has_every_action(app: Served) -> None:
    for action, function in ACTIONS.items():
        named = inspect.signature(function).parameters
        unknown = [f"{key}=none" for key in ("flight", "of", "vehicle", "campaign", "stored") if key in named]
        said = CliRunner().invoke(cli, ["app", "do", action, *unknown, "--url", app.url])
        assert said.exit_code == 1 and "refused: " in said.output, said.output  # by the action itself:
        assert "unknown action" not in said.output


def test_ctrl_c_keeps_what_was_flown(tmp_path: Path) -> None:
    with served(tmp_path) as app:
        name = app.do("start", speed="max", paused=True)["result"]["flight"]
        app.until(name, state="paused")
        app.do("step", flight=name, exchanges=800)
        app.do("inject", flight=name, fault="rotor.speed_loss@1:instance=1,severity=0.1")
        assert app.end() == 0
    (folder,) = (tmp_path / "app").iterdir()
    flown = json.loads((folder / "summary.json").read_text())
    again = fly(load_order(folder))
    assert flown["sha256"] == again.sha256
    assert [line for line in app.said if "Traceback" in line] == []


# ---------------------------------------------------------------------- in the browser


def picture(tab: Tab, name: str, tmp_path: Path) -> None:
    import os

    folder = Path(os.environ.get(PICTURES, tmp_path))
    assert len(tab.picture(folder / f"app-{name}.png")) > 10_000


def opened(browser: Browser, app: Served, **size: int) -> Tab:
    tab = browser.tab(**size)
    tab.open(app.url)
    tab.until("window.ironbird && document.querySelector('#ib-start') && document.querySelector('#ib-3d canvas')")
    return tab


@pytest.mark.slow
def test_a_new_user_flies_breaks_tunes_and_reads_the_report(browser: Browser, app: Served, tmp_path: Path) -> None:
    tab = opened(browser, app)
    before = [row["name"] for row in app.status()["flights"]]
    mine = f"ironbird.flights.some(f => f.name === ironbird.selected && !{json.dumps(before)}.includes(f.name))"
    tab.click_until("#ib-start", mine)  # one click: a quadcopter in 5 m/s of wind
    tab.until("ironbird.flights.some(f => f.name === ironbird.selected && f.mode === 'mission')")
    tab.until("document.querySelector('#ib-figures').textContent.includes('m/s')")
    name = tab.js("ironbird.selected")
    assert "5 m/s from 270" in tab.js("document.querySelector('#ib-state').innerText")
    picture(tab, "fly", tmp_path)

    tab.open(f"{app.base}/faults")
    tab.until("ironbird.selected && document.querySelector('#ib-inject')")
    tab.until("document.querySelectorAll('.ib-fault').length > 5")
    tab.click_until("#ib-inject", "document.querySelectorAll('#ib-faults .ib-fault').length > 0")
    tab.until("document.querySelector('#ib-faults').innerText.includes('acted on rotor/1/motor.speed')")
    picture(tab, "faults", tmp_path)

    tab.open(f"{app.base}/plots")
    tab.until("document.querySelectorAll('canvas.ib-plot').length >= 5")
    slider = "[data-path='control.position_gain']"
    tab.until(f"document.querySelector({json.dumps(slider)})")
    # into the middle of the slider, half of its range; the number beside it is the server's answer
    number = f"Number(document.querySelector({json.dumps(slider)}).parentElement.querySelector('input').value)"
    before = tab.until(number)
    tab.click_until(slider, f"{number} !== {before}")
    time.sleep(1.0)  # of curves, for the picture
    picture(tab, "plots", tmp_path)

    tab.open(app.base)
    tab.until("window.ironbird && ironbird.flights.length")
    tab.click_until(tab.button("end"), f"ironbird.flights.some(f => f.name === {name!r} && f.state === 'over')")
    report = f"document.querySelector('a.ib-report[href*=\"/{name}/\"]')"
    tab.until(report)
    tab.open(app.base + tab.js(f"{report}.getAttribute('href')"))
    tab.until("document.body.innerText.includes('rotor.speed_loss@1')")
    tunings = json.loads(app.ask(f"/report/{name}/tunings.json")[1])
    assert tunings[0]["path"] == "control.position_gain"
    assert tab.errors() == [] and tab.requested() == {f"127.0.0.1:{app.port}"}


@pytest.mark.slow
def test_two_browsers_see_the_same_and_a_guest_moves_nothing(browser: Browser, app: Served, tmp_path: Path) -> None:
    first, second, guest = (browser.tab(420, 860) for _ in range(3))  # pages without a view: one drawing is enough
    for tab, url in ((first, app.url), (second, app.url), (guest, app.guest_url)):
        tab.open(url)
        tab.until("!!window.ironbird")
        tab.open(f"{app.base}/faults")
    name = app.do("start")["result"]["flight"]
    for tab in (first, second, guest):
        tab.until(f"window.ironbird && ironbird.flights.some(f => f.name === {name!r} && f.state === 'running')")
        tab.until("document.querySelector('#ib-message')")  # the page is mounted: what is said is shown
        tab.js(f"ironbird.select({name!r})")
    assert first.js("document.documentElement.scrollWidth") <= 420  # nothing hangs over
    picture(first, "narrow", tmp_path)
    # asked again until it is answered: the socket of a page may just be opened anew
    guest.until(
        "(void ironbird.act('pause'), document.querySelector('#ib-message').textContent.includes('a guest may look'))"
    )
    assert app.until(name, state="running")
    second.until("ironbird.act('pause').then(answer => answer.ok)")
    first.until(f"ironbird.flights.some(f => f.name === {name!r} && f.state === 'paused')")
    app.do("end", flight=name)


@pytest.mark.slow
def test_the_page_comes_back_after_the_server_was_started_again(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path, token="the-same") as before:
        tab = opened(browser, before)
        port = before.port
    tab.until("document.querySelector('#ib-banner').classList.contains('ib-lost')")
    with served(tmp_path, token="the-same", port=port) as after:
        tab.until("window.ironbird && document.querySelector('#ib-banner') "
                  "&& !document.querySelector('#ib-banner').classList.contains('ib-lost')")  # fmt: skip
        name = after.do("start", paused=True)["result"]["flight"]
        tab.until(f"window.ironbird && ironbird.flights.some(f => f.name === {name!r})")


@pytest.mark.slow
def test_the_other_pages_show_what_there_is(browser: Browser, app: Served, tmp_path: Path) -> None:
    name = app.do("start", speed="max", until_s=10.0)["result"]["flight"]
    app.until(name, state="over")
    tab = browser.tab()
    tab.open(app.url)
    tab.until("!!window.ironbird")
    for path, shown in (
        ("connections", "Refused at the door"),
        ("campaigns", "Hover in wind"),
        ("vehicles", "F450 quadcopter"),
        ("replay", f"{name}/flight.parquet"),
    ):
        tab.open(f"{app.base}/{path}")
        tab.until(f"document.body.innerText.toLowerCase().includes({shown.lower()!r})")
        picture(tab, path, tmp_path)
    tab.js("[...document.querySelectorAll('.ib-log')][0].click()")
    tab.until("Number(document.querySelector('#ib-slider').max) > 100")
    tab.js("(s => { s.value = s.max; s.oninput(); })(document.querySelector('#ib-slider'))")
    tab.until("document.querySelector('#ib-replayed').textContent.includes('m high')")
    picture(tab, "replay", tmp_path)
    assert tab.errors() == []


@pytest.mark.slow
def test_an_autopilot_outside_is_flown_tuned_and_watched_from_the_page(
    browser: Browser, app: Served, tmp_path: Path
) -> None:
    name = app.do("start", control="told", go=False, wind_mps=2)["result"]["flight"]
    app.until(name, healthy=True)
    tab = opened(browser, app)
    tab.until(f"ironbird.flights.some(f => f.name === {name!r})")
    tab.js(f"ironbird.select({name!r})")
    row = f"ironbird.flights.find(f => f.name === {name!r})"
    tab.click_until(tab.button("take off"), f"{row}.orders.length > 0")
    tab.until(f"{row}.armed && {row}.orders.some(o => o.order.startsWith('take_off') && o.state === 'done')")
    tab.until("document.querySelector('#ib-state').innerText.includes('take_off')")
    picture(tab, "autopilot", tmp_path)

    tab.open(f"{app.base}/plots")
    known = "parseInt(document.querySelector('#ib-read-params').parentElement.innerText.match(/(\\d+) are known/)?.[1])"
    tab.click_until("#ib-read-params", f"{known} > 100")
    tab.until("document.querySelectorAll('.q-slider').length > 0")
    picture(tab, "parameters", tmp_path)

    tab.open(f"{app.base}/connections")
    tab.until("document.querySelector('.ib-packets').innerText.includes('COMMAND_ACK')")
    picture(tab, "connections", tmp_path)
    status, data = app.ask(f"/packets/{name}.pcap?filter=MAVLink")
    assert status == 200 and data[:4] == b"\x4d\x3c\xb2\xa1" and len(data) > 10_000
    assert app.ask(f"/packets/{name}.exe")[0] == app.ask("/packets/nobody.pcap")[0] == 404
    assert app.do("land", flight=name)["ok"]
    app.until(name, armed=False)
    assert app.do("end", flight=name)["result"]["verdict"] == "pass"
    assert tab.errors() == []


@pytest.mark.slow
def test_a_world_is_seen_around_the_vehicle(browser: Browser, app: Served, tmp_path: Path) -> None:
    name = app.do("start", world="field", speed=4)["result"]["flight"]
    app.until(name, mode="mission")
    tab = opened(browser, app)
    tab.until(f"ironbird.flights.some(f => f.name === {name!r})")
    tab.js(f"ironbird.select({name!r})")
    tab.until("ironbird.world === 'field'")
    tab.until("document.querySelector('#ib-figures').textContent.includes('m/s')")
    time.sleep(2.0)  # for the picture
    picture(tab, "world", tmp_path)
    plain = app.do("start", paused=True)["result"]["flight"]
    tab.until(f"ironbird.flights.some(f => f.name === {plain!r})")
    tab.js(f"ironbird.select({plain!r})")
    tab.until("ironbird.world === ''")
    for flight in (name, plain):
        app.do("end", flight=flight)
    assert tab.errors() == []


@pytest.mark.slow
def test_campaigns_are_compared_and_a_failing_flight_is_replayed(browser: Browser, app: Served, tmp_path: Path) -> None:
    tab = browser.tab()
    tab.open(app.url)
    tab.until("!!window.ironbird")
    tab.open(f"{app.base}/campaigns")
    tab.click_until(tab.button("calm"), "document.querySelectorAll('.ib-points circle').length === 4")
    tab.until("document.querySelector('.ib-matrix').innerText.includes('1 fail')")
    picture(tab, "campaigns", tmp_path)
    tab.js("document.querySelector('.ib-matrix a[href^=\"/replay\"]').click()")
    tab.until("location.pathname === '/replay'")
    tab.click_until(tab.button("fly it again"), "Number(document.querySelector('#ib-slider').max) > 50")
    tab.until("document.querySelector('#ib-replayed').textContent.includes('m high')")
    assert tab.errors() == []
