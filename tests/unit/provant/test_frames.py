"""Frames of the bench's serial links, in Python and as the board has them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ironbird.provant.frames import ESCAPE, FLAG, MOST_PAYLOAD, FrameReader, encode, fletcher16, pack

PAYLOADS = st.binary(min_size=1, max_size=MOST_PAYLOAD)


def test_checksum_has_the_published_values() -> None:
    # Wikipedia, Fletcher's checksum: test vectors of the 8-bit implementation
    assert [fletcher16(text) for text in (b"abcde", b"abcdef", b"abcdefgh")] == [0xC8F0, 0x2057, 0x0627]


@given(PAYLOADS)
@example(bytes([ESCAPE, FLAG, ESCAPE, 0x5E]))
def test_any_payload_survives_its_frame(payload: bytes) -> None:
    frame = encode(payload)
    assert FrameReader().feed(frame) == [payload]
    assert frame[0] == frame[-1] == FLAG and FLAG not in frame[1:-1]


@given(st.lists(PAYLOADS, min_size=1, max_size=5), st.integers(1, 50))
def test_frames_arrive_in_pieces_of_any_size(payloads: list[bytes], size: int) -> None:
    line = b"".join(map(encode, payloads))
    reader = FrameReader()
    found = [p for at in range(0, len(line), size) for p in reader.feed(line[at : at + size])]
    assert found == payloads and reader.bad == 0


@given(PAYLOADS, st.data())
def test_a_corrupted_byte_is_noticed_unless_it_is_one_that_the_checksum_cannot_tell(
    payload: bytes, data: st.DataObject
) -> None:
    frame = bytearray(encode(payload))
    place = data.draw(st.integers(0, len(frame) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda value: value != frame[place]))
    blind = {frame[place], new} == {0x00, 0xFF}  # equal modulo 255
    frame[place] = new
    found = FrameReader().feed(bytes(frame) + encode(b"next one"))
    assert found[-1] == b"next one"  # it finds back
    if not blind:  # what is left is stopped by the receiver's check of the length
        assert all(len(p) != len(payload) or p == payload for p in found[:-1])


@given(PAYLOADS, st.data(), st.booleans())
def test_a_lost_or_doubled_byte_gives_no_payload_of_this_length(
    payload: bytes, data: st.DataObject, lost: bool
) -> None:
    frame = encode(payload)
    place = data.draw(st.integers(1, len(frame) - 2))
    line = frame[:place] + (b"" if lost else frame[place : place + 1]) + frame[place + (1 if lost else 0) :]
    found = FrameReader().feed(line + encode(b"\x01\x02"))
    assert found[-1] == b"\x01\x02"
    # Zeros and 0xFF may slip through the sums; the receiver's check of the length stops them
    assert all(len(p) != len(payload) or p == payload for p in found[:-1])


@given(st.binary(max_size=600))
@settings(max_examples=200)
def test_noise_never_breaks_the_reader(noise: bytes) -> None:
    reader = FrameReader()
    reader.feed(noise)
    reader.feed(bytes([FLAG]))
    assert reader.feed(encode(b"hello")) == [b"hello"]


@pytest.mark.parametrize("count", [1, 5, 9, 16])
def test_floats_travel_as_little_endian_singles(count: int) -> None:
    values = [1.5 * i - 3 for i in range(count)]
    [payload] = FrameReader().feed(pack(values))
    assert list(struct.unpack(f"<{count}f", payload)) == values
