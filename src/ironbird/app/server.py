"""The server of `ironbird app`: pages, the websocket, logs and reports, behind the guard; on this machine only."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ironbird.app.actions import act
from ironbird.app.frames import log_frames
from ironbird.app.live import (
    LONGEST_TEXT,
    PLOTS_HZ,
    POSES_HZ,
    STATUS_HZ,
    Live,
    Plotter,
)
from ironbird.app.records import Records, diagram_of
from ironbird.app.rig import Rig
from ironbird.app.security import LONGEST_MESSAGE, ROLE, Door, Guard
from ironbird.errors import IronbirdError, LinkError, RunError, UnknownNameError, shortened
from ironbird.report.page import script_text
from ironbird.report.scenery import scenery_of
from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.shape import shape_of
from ironbird.world.files import world_names

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response, WebSocket
    from uvicorn import Server

STATIC = Path(__file__).parent / "static"
SCENE = script_text("scene.js")  # that draws the view; reports contain it
PORT = 8350
MOST_LOOKING = 32  # browsers at once
LOOK_S = 0.2  # s between two checks whether the server shall end
GRACE_S = 3  # for requests that run when the server ends
REPORTS = ("flight.html", "flight.parquet", "order.toml", "summary.json", "autopilot_events.json", "tunings.json")
OWN_POLICY = {"content-security-policy": "frame-ancestors 'none'"}  # reports have a policy of their own in the page
BROKE_OFF = 1011  # close code of a websocket: unexpected error of the server
EXTRA = "ironbird app needs the extra 'app': pip install 'ironbird[app]'"


logger = logging.getLogger("ironbird.app")


def bind(port: int) -> socket.socket:
    """A listening socket on the loopback address; port 0 is any free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise LinkError(
            f"port {port} of 127.0.0.1 cannot be had ({error.strerror}): give another by --http-port"
        ) from None
    return listener


def check_extra() -> None:
    """Raise an error that names the extra to install, if the packages of the page are missing."""
    try:
        import nicegui  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise LinkError(f"{EXTRA} ({error})") from None


def serve(
    rig: Rig,
    *,
    port: int = PORT,
    token: str = "",
    logs: Path = Path("out"),
    ready: Callable[[Door], None] | None = None,
    ends: threading.Event | None = None,
) -> None:
    """Serve the page until Ctrl-C (or until `ends` is set); then all flights end and are written into their folders.

    Logs below the folder `logs` can be replayed.
    """
    check_extra()
    import uvicorn

    with bind(port) as listener:
        door = Door(listener.getsockname()[1], token=token)
        config = uvicorn.Config(
            Guard(make_app(rig, door, Records(logs)), door),
            log_level="warning",
            access_log=False,
            ws_max_size=LONGEST_MESSAGE,
            ws_max_queue=8,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=GRACE_S,
            server_header=False,
            proxy_headers=False,  # there is no proxy: a header that names one is forged
            lifespan="on",
        )
        server = uvicorn.Server(config)
        gc.freeze()  # present objects stay: later garbage collections are short
        _when_ready(server, lambda: ready(door) if ready is not None else None, ends)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                server.run(sockets=[listener])
        finally:
            rig.close()


def _when_ready(server: Server, say: Callable[[], None], ends: threading.Event | None) -> None:
    startup = server.startup

    async def started(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets)
        say()
        if ends is not None:
            server.ending = asyncio.create_task(_end_on(server, ends))  # type: ignore[attr-defined]  # kept alive there

    server.startup = started  # type: ignore[method-assign]


async def _end_on(server: Server, ends: threading.Event) -> None:
    while not ends.is_set():
        await asyncio.sleep(LOOK_S)
    server.should_exit = True


def make_app(rig: Rig, door: Door, records: Records) -> FastAPI:
    """The web application: live data, lookups, scripts, and pages."""
    from fastapi import FastAPI
    from fastapi.staticfiles import StaticFiles
    from nicegui import ui

    from ironbird.app.pages.desk import Desk
    from ironbird.app.pages.registry import add_pages

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _add_live(app, rig, Live(rig, lambda: door.refused))
    _add_files(app, rig, records)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    add_pages(Desk(rig, door, records))
    ui.run_with(app, title="Ironbird", show_welcome_message=False, binding_refresh_interval=None, tailwind=False)
    return app


def _add_live(app: FastAPI, rig: Rig, live: Live) -> None:
    """Add the actions, and the websocket of live data."""
    from fastapi.responses import JSONResponse, Response
    from starlette.routing import Route, WebSocketRoute

    lookers: set[int] = set()

    async def do(request: Request) -> Response:
        try:
            request_data = json.loads(await request.body())
            name = request_data.pop("do")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return JSONResponse({"ok": False, "error": 'send {"do": ACTION, ...}'}, 400)
        answer = await asyncio.to_thread(act, rig, request.scope[ROLE], name, request_data)
        return JSONResponse(answer, 200 if answer["ok"] else 409)

    async def status(request: Request) -> Response:
        return Response(live.status(), media_type="application/json")

    async def look(peer: WebSocket) -> None:
        if len(lookers) >= MOST_LOOKING:
            await peer.close(1013, f"{MOST_LOOKING} browsers look already")
            return
        await peer.accept()
        lookers.add(id(peer))
        try:
            await _attend(peer, rig, live, peer.scope[ROLE])
        finally:
            lookers.discard(id(peer))

    app.router.routes += [
        Route("/do", do, methods=["POST"]),
        Route("/status", status),
        WebSocketRoute("/live", look),
    ]


async def _made(make: Callable[..., Any], *names: Any) -> Any:
    """Result of a function called in another thread; an error becomes a response."""
    from fastapi.responses import JSONResponse

    try:
        return await asyncio.to_thread(make, *names)
    except IronbirdError as error:
        return JSONResponse({"error": shortened(error, 500)}, 404)


def _scenery(rig: Rig) -> dict[str, Callable[..., Any]]:
    """Handlers for the worlds of running and stored flights, as data for drawing."""
    from fastapi.responses import JSONResponse, Response

    def scenery_at(name: str) -> dict[str, Any] | None:  # none: over flat ground
        world = rig.flight(name).order.world
        return scenery_of(world) if world else None

    def stored_scenery(campaign: str, flight: str) -> dict[str, Any] | None:
        world = rig.campaigns.order(campaign, flight).world
        return scenery_of(world) if world else None

    async def scenery(request: Request) -> Response:
        result = await _made(scenery_at, request.path_params["name"])
        return result if isinstance(result, Response) else JSONResponse(result)

    async def scenery_stored(request: Request) -> Response:
        names = (request.query_params.get(key, "") for key in ("campaign", "flight"))
        result = await _made(stored_scenery, *names)
        return result if isinstance(result, Response) else JSONResponse(result)

    async def scenery_of_world(request: Request) -> Response:  # before a flight
        result = await _made(_known_world, request.path_params["name"])
        return result if isinstance(result, Response) else JSONResponse(result)

    return {"/scenery/{name}": scenery, "/stored-scenery": scenery_stored, "/world/{name}": scenery_of_world}


def _known_world(name: str) -> dict[str, Any]:
    """The scenery of a world of the catalogue; paths of files are refused."""
    if name not in world_names():
        raise UnknownNameError("world", shortened(name, 80), world_names())
    return scenery_of(name)


def _add_files(app: FastAPI, rig: Rig, records: Records) -> None:
    """Add logs, reports, campaigns and pictures, all by names that are looked up in lists."""
    from fastapi.responses import FileResponse, JSONResponse, Response
    from starlette.routing import Route

    campaigns = rig.campaigns

    async def frames(make: Callable[..., Any], *names: str) -> Response:
        result = await _made(make, *names)
        plain = "application/octet-stream"
        return result if isinstance(result, Response) else Response(result.astype("<f4").tobytes(), media_type=plain)

    def flown(name: str) -> np.ndarray:
        log = rig.flight(name).log()
        if log is None:
            raise RunError(f"flight {name} has no log yet: it has not begun; try again in a moment")
        return log_frames(log, shape_of(rig.flight(name).order.vehicle)["signals"])

    async def flight_frames(request: Request) -> Response:
        return await frames(flown, request.path_params["name"])

    async def log(request: Request) -> Response:
        return await frames(records.frames, request.query_params.get("name", ""))

    async def stored(request: Request) -> Response:
        return await frames(campaigns.frames, *(request.query_params.get(key, "") for key in ("campaign", "flight")))

    async def shape(request: Request) -> Response:
        result = await _made(_known, shape_of, request.path_params["name"])
        return result if isinstance(result, Response) else JSONResponse(result)

    async def scene(request: Request) -> Response:
        return Response(SCENE, media_type="text/javascript")

    async def diagram(request: Request) -> Response:
        result = await _made(_known, diagram_of, request.path_params["name"])
        return result if isinstance(result, Response) else Response(result, media_type="image/svg+xml")

    async def campaign(request: Request) -> Response:
        result = await _made(campaigns.page, request.path_params["name"])
        return result if isinstance(result, Response) else Response(result, media_type="text/html", headers=OWN_POLICY)

    async def report(request: Request) -> Response:
        flight, file = rig.flights.get(request.path_params["name"]), request.path_params["file"]
        if flight is None or flight.folder is None or file not in REPORTS or not (flight.folder / file).is_file():
            return JSONResponse({"error": "no such report"}, 404)
        return FileResponse(flight.folder / file, headers=OWN_POLICY)

    async def packets(request: Request) -> Response:
        monitor, kind = rig.monitors().get(request.path_params["name"]), request.path_params["kind"]
        if monitor is None or kind not in ("tlog", "pcap"):
            return JSONResponse({"error": "no such flight or route"}, 404)
        words = request.query_params.get("filter", "")[:200]
        data = await asyncio.to_thread(*((monitor.tlog,) if kind == "tlog" else (monitor.pcap, words)))
        return Response(data, media_type="application/octet-stream")

    for path, serving in {
        "/packets/{name}.{kind}": packets, "/scene.js": scene,
        **_scenery(rig),
        "/frames/{name}": flight_frames, "/log": log, "/stored": stored, "/shape/{name}": shape,
        "/diagram/{name}.svg": diagram, "/campaign/{name}": campaign, "/report/{name}/{file}": report,
    }.items():  # fmt: skip
        app.router.routes.append(Route(path, serving))


def _known(make: Callable[[str], Any], vehicle: str) -> Any:
    """Call `make` for a vehicle of the catalogue; paths of files are refused."""
    if vehicle not in vehicle_ids():
        raise UnknownNameError("vehicle", shortened(vehicle, 80), vehicle_ids())
    return make(vehicle)


async def _attend(peer: WebSocket, rig: Rig, live: Live, role: str) -> None:
    """Send new data and carry out requests until the browser disconnects."""
    plotter = Plotter(rig)
    tasks = [asyncio.create_task(work) for work in (_hear(peer, rig, plotter, role), _send(peer, live, plotter))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception) and not _has_left(error):
            logger.error("the page's connection broke off", exc_info=error)
            with contextlib.suppress(Exception):  # the peer may have disconnected too
                await peer.close(BROKE_OFF, f"{type(error).__name__}: {error}"[:100])
            return


def _has_left(error: Exception) -> bool:
    """Whether an error says only that the browser is gone: the server's words for it are a plain RuntimeError."""
    from starlette.websockets import WebSocketDisconnect

    if isinstance(error, RuntimeError):
        return any(words in str(error) for words in ("'websocket.send'", 'Cannot call "send" once'))
    return isinstance(error, WebSocketDisconnect | ConnectionError)


async def _send(peer: WebSocket, live: Live, plotter: Plotter) -> None:
    due = {"plots": 0.0, "status": 0.0}
    while True:
        begin = time.monotonic()
        await peer.send_bytes(live.poses())
        if begin >= due["plots"]:
            due["plots"] = begin + 1.0 / PLOTS_HZ
            for frame in plotter.frames():
                await peer.send_bytes(frame)
        if begin >= due["status"]:
            due["status"] = begin + 1.0 / STATUS_HZ
            await peer.send_text(live.status())
        await asyncio.sleep(max(0.0, 1.0 / POSES_HZ - (time.monotonic() - begin)))


async def _hear(peer: WebSocket, rig: Rig, plotter: Plotter, role: str) -> None:
    while True:
        message = await peer.receive()
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text") or ""
        try:
            if len(text) > LONGEST_TEXT:
                raise ValueError(f"a message has {LONGEST_TEXT} characters at most")
            request = json.loads(text)
            if "plots" in request:
                plotter.choose(request["plots"], request.get("span_s", 30.0))
                continue
            name, number = request.pop("do"), request.pop("seq", 0)
        except IronbirdError as error:
            await peer.send_json({"ok": False, "error": str(error)})
            continue
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            await peer.send_json({"ok": False, "error": f"not understood: {shortened(error)}"})
            continue
        answer: dict[str, Any] = await asyncio.to_thread(act, rig, role, name, request)
        await peer.send_json({"seq": number, **answer})
