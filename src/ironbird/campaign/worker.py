"""Initialisation of a worker process of a campaign."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import warnings

from ironbird.errors import IronbirdWarning

# mallopt(3): memory of a size up to the first number is kept for the next batch, and as much as the second of it
M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -3, -1
KEPT_BYTES = 2**30
OBJECTS_UNTIL_GC = 50_000  # what a worker makes is plain data without cycles


def begin_worker(parent: int) -> None:
    """Initialise a worker: it ends with its parent, however that ends, and ignores Ctrl-C.

    It keeps freed memory of a log for the next one, as the system would have to clear it again.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", IronbirdWarning)  # the process that read the suite has shown it
    with contextlib.suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    with contextlib.suppress(OSError, AttributeError, TypeError):  # GNU C library only
        c_library = ctypes.CDLL(None)
        c_library.mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)
        c_library.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    gc.set_threshold(OBJECTS_UNTIL_GC)
    if os.getppid() != parent:  # it ended before the request
        os._exit(1)
