"""Parameter files of autopilots in the formats of several programs, converted to the text of the option `params`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ironbird.errors import IronbirdError, LinkError
from ironbird.files.problems import read_bytes
from ironbird.protocols.parm_file import parse_parm
from ironbird.vehicles.imports import px4

ENDINGS = (".parm", ".param", ".params", ".sh")


def read_param_file(path: Path) -> dict[str, float]:
    """Parameters in a .parm file, a .params file of QGroundControl, or a start-up script of PX4."""
    try:
        text = read_bytes(path).decode()
        return {name: param.value for name, param in parse_parm(text, str(path)).items()}
    except OSError as error:
        raise IronbirdError(f"parameters: cannot read {path}: {error.strerror}") from None
    except (LinkError, UnicodeDecodeError):  # not lines of NAME VALUE: one of PX4's formats
        return px4.read_params(path)


def params_text(values: Mapping[str, float]) -> str:
    """Parameters as the text of the option `params`."""
    return ",".join(f"{name}={value:.9g}" for name, value in values.items())
