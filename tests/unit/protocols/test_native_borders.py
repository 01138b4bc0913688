"""Numbers and buffers at the border of the links' native code."""

from __future__ import annotations

import ctypes

import pytest

from ironbird.compiler.native_text import load_texts
from ironbird.errors import LinkError
from ironbird.protocols.mavlink.codec import NATIVE, Packer
from ironbird.systems.ardupilot.link import STRUCTURES, TEXT, _TextArgs


@pytest.mark.parametrize("value", [1e300, -1e300, 9.3e6, -9.3e6, 1e8, 1.7976931348623157e308])
@pytest.mark.parametrize("decimals", [0, 1, 7, 9, 11, 12, 15])
def test_a_number_of_any_size_is_written_in_its_room(value: float, decimals: int) -> None:
    library = load_texts(TEXT, structures=STRUCTURES)
    library.ib_state_text.restype, library.ib_state_text.argtypes = ctypes.c_int64, [ctypes.c_void_p]
    number, last = ctypes.c_double(value), ctypes.c_double()
    sources = (ctypes.c_void_p * 1)(ctypes.addressof(number))
    out = ctypes.create_string_buffer(64)
    args = _TextArgs(
        template=bytes([decimals or 1]), length=1, sources=ctypes.addressof(sources), last=ctypes.addressof(last),
        out=ctypes.addressof(out),
    )  # fmt: skip
    length = library.ib_state_text(ctypes.addressof(args))
    assert length <= 21
    limit = min(1e8, 9e18 / 10.0 ** (decimals or 1))
    assert float(out.raw[:length]) == pytest.approx(max(-limit, min(value, limit)), rel=1e-12)


def test_a_packer_that_is_full_hands_out_no_address() -> None:
    packer = Packer(size=NATIVE + 10)
    assert packer.place
    packer.grow(11)
    with pytest.raises(LinkError, match="no room for more"):
        _ = packer.place
