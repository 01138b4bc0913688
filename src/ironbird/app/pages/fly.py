"""Page for flying: start, pause, step, speed, branch; commands; 3D view, instruments, map with mission editor."""

from __future__ import annotations

import json
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from ironbird.app.pages.desk import Desk, buttons, js_button, panel
from ironbird.flight.mission import mission_names
from ironbird.flight.systems import system_names
from ironbird.transport.cable import ports
from ironbird.vehicles.names import vehicle_ids
from ironbird.world.files import world_names

DRAWN = "drawn on the map"
OWN = "the vehicle's own"
FLAT = "flat ground"
HIDDEN = ("commanded",)  # reference and truth are both flown by it here
SPEEDS = {0.1: "0.1", 0.5: "0.5", 1.0: "1", 2.0: "2", 5.0: "5", 20.0: "20", "max": "max"}  # times real time
MODES = ["hold", "mission", "return", "land", "position", "altitude", "stabilized", "manual", "acro"]
WIND_MPS = 5.0  # with which the first flight begins


def build(desk: Desk) -> None:
    """Build the page for flying."""
    with desk.frame("Fly"), ui.element("div").classes("ib-grid"):
        with ui.element("div").classes("ib-column"):
            _start(desk)
            _time()
            _commands()
        with ui.element("div").classes("ib-column"):
            _view()
            with panel("State"):
                ui.element("div").props("id=ib-state")
            with panel("Faults in force"):
                ui.element("div").props("id=ib-faults")
        with ui.element("div").classes("ib-side ib-column"):
            _map()


def _start(desk: Desk) -> None:
    with panel("Flight"):
        own = [name for name in system_names() if name not in HIDDEN]
        chosen: dict[str, Any] = {
            "vehicle": ui.select(vehicle_ids(), value="quad_f450", label="vehicle", with_input=True),
            "control": ui.select(own, value="reference", label="control system"),
            "mission": ui.select([OWN, DRAWN, *mission_names()], value=OWN, label="mission"),
            "world": ui.select([FLAT, *world_names()], value=FLAT, label="world"),
        }
        with ui.element("div").classes("ib-pair") as board:
            chosen["port"] = ui.select(["", *ports()], value="", label="serial port")
            chosen["udp"] = ui.number("or UDP port", value=0, min=0, max=65535, step=1, precision=0)
        board.bind_visibility_from(chosen["control"], "value", lambda control: control == "hardware")
        with ui.element("div").classes("ib-pair"):
            chosen["wind_mps"] = ui.number("wind m/s", value=WIND_MPS, min=0, max=40, step=1)
            chosen["wind_from_deg"] = ui.number("from °", value=270, min=0, max=360, step=10)
        with ui.element("div").classes("ib-pair"):
            chosen["turbulence_mps"] = ui.number("turbulence", value=0, min=0, max=60, step=1)
            chosen["seed"] = ui.number("seed", value=0, min=0, step=1, precision=0)
        chosen["go"] = ui.checkbox("arm and fly the mission", value=True)
        chosen["mavlink"] = ui.checkbox("reachable by MAVLink", value=False)
        for field in chosen.values():
            field.props("dense").classes("w-full")
        for key, name in (("vehicle", "vehicle"), ("world", "place")):
            chosen[key].on_value_change(
                lambda e, name=name: ui.run_javascript(
                    f"ironbird.{name} = {json.dumps('' if e.value == FLAT else e.value)}; ironbird.prepare()"
                )
            )
        start = ui.button("Start", icon="play_arrow").props("no-caps unelevated id=ib-start").classes("w-full")

        async def begin(event: GenericEventArguments) -> None:
            options = {key: field.value for key, field in chosen.items()}
            drawn = event.args if isinstance(event.args, list) else []
            options["mission"] = {OWN: None, DRAWN: drawn}.get(options["mission"], options["mission"])
            options["seed"], options["udp"] = int(options["seed"] or 0), int(options["udp"] or 0)
            options["world"] = "" if options["world"] == FLAT else options["world"]
            if options["go"] and not await _free(desk, options):
                return
            answer = await desk.act("start", **options)
            if answer["ok"]:
                ui.run_javascript(f"ironbird.select({answer['result']['flight']!r})")

        start.on("click", begin, js_handler="() => emit(ironbird.items)")


async def _free(desk: Desk, options: dict[str, Any]) -> bool:
    """Whether the mission meets no obstacle, or is to be flown anyway."""
    asked = {key: options[key] for key in ("vehicle", "mission", "world")}
    answer = await desk.act("check_mission", **asked)
    if not answer["ok"] or not answer["result"]["sentence"]:
        return bool(answer["ok"])
    with ui.dialog() as question, ui.card():
        ui.label(answer["result"]["sentence"] + ".").props("id=ib-warning")
        with ui.row():
            ui.button("do not start", on_click=lambda: question.submit(False)).props("no-caps")
            ui.button("fly anyway", color="negative", on_click=lambda: question.submit(True)).props(
                "no-caps id=ib-anyway"
            )
    return bool(await question)


def _time() -> None:
    with panel("Time"):
        with buttons():
            js_button("pause", "pause", icon="pause")
            js_button("go on", "resume", icon="play_arrow")
            js_button("step", "step", icon="skip_next", tip="4 ms")
            js_button("0.1 s", "step", icon="skip_next", exchanges=25)
        speed = ui.toggle(SPEEDS, value=1.0).props("dense no-caps size=sm spread unelevated").classes("w-full")
        speed.on("update:model-value", js_handler=f"(i) => ironbird.act('speed', {{factor: {[*SPEEDS]!r}[i]}})")
        with buttons():
            js_button("branch from now", "branch", icon="call_split", tip="a second flight, equal to the bit until now")
            js_button("reset", "reset", icon="replay", colour="grey-7")
            js_button("end", "end", icon="stop", colour="negative", tip="it is judged, and its report written")


def _commands() -> None:
    with panel("Commands"):
        with buttons():
            js_button("arm", "arm")
            js_button("take off", "take_off", height_m=5.0, tip="to 5 m")
            js_button("hold", "hold")
            js_button("mission", "mission")
            js_button("return", "return")
            js_button("land", "land")
            js_button("disarm", "disarm", colour="grey-7")
        mode = ui.select(MODES, label="mode").props("dense options-dense").classes("w-full")
        mode.on("update:model-value", js_handler=f"(i) => i && ironbird.act('mode', {{mode: {MODES!r}[i.value]}})")
        keyboard = ui.switch("keyboard").props("dense id=ib-keyboard").tooltip("starts a flight if none is there")
        keyboard.on("update:model-value", js_handler="(on) => ironbird.keyboard(on)")
        sticks = ui.switch("gamepad").props("dense")
        sticks.on("update:model-value", js_handler="(on) => ironbird.sticks(on)")


def _view() -> None:
    with ui.element("div").props("id=ib-3d").classes("ib-3d"):
        with ui.element("div").classes("ib-glass"):
            ui.element("canvas").props("id=ib-horizon width=110 height=110")
        ui.element("div").props("id=ib-figures").classes("ib-figures")
        ui.element("div").props("id=ib-keys").classes("ib-keys")
        ui.element("div").props("id=ib-card").classes("ib-card")
    with buttons():
        for mode in ("chase", "orbit", "board", "ground", "top"):
            button = ui.button(mode, color="grey-7").props("dense no-caps unelevated size=sm")
            button.on("click", js_handler=f"() => ironbird.camera('{mode}')")


def _map() -> None:
    with panel("Map (metres; a click goes there)"):
        ui.element("canvas").props("id=ib-map").classes("ib-map")
        with buttons():
            for words, factor in (("+", 1.5), ("-", 0.67)):
                ui.button(words, color="grey-7").props("dense unelevated size=sm").on(
                    "click", js_handler=f"() => ironbird.zoom({factor})"
                )
            ui.switch("edit mission").props("dense").on("update:model-value", js_handler="(on) => ironbird.edit(on)")
    with panel("Mission"):
        ui.label("Switch 'edit mission' on and click on the map; then start, or send it to the flight.").classes(
            "ib-hint"
        )
        ui.element("div").props("id=ib-items")
        with buttons():
            _mission_button(
                "add landing", "ironbird.addItem({kind:'land',north_m:0,east_m:0,height_m:0,hold_s:0,yaw_deg:0})"
            )
            _mission_button("clear", "ironbird.showItems([])")
            _mission_button("send and fly", "ironbird.uploadMission()")
            _mission_button("save .plan", "ironbird.savePlan(ironbird.vehicle)")

        with ui.element("label").classes("ib-file"):
            ui.label("load .plan")
            ui.element("input").props("type=file id=ib-plan accept=.plan,.waypoints,.txt")


def _mission_button(words: str, call: str) -> None:
    ui.button(words, color="grey-7").props("dense no-caps unelevated size=sm").on("click", js_handler=f"() => {call}")
