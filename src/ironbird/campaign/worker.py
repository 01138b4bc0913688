"""The first thing that a worker process of a campaign does."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import warnings

from ironbird.errors import IronbirdWarning


def begin_worker(parent: int) -> None:
    """A worker ends with its parent, however that ends, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", IronbirdWarning)  # whoever read the suite has shown it
    with contextlib.suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it ended before the request
        os._exit(1)
