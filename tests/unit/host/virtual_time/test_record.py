"""Records of what a simulator did to a run: written, read, refused when damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ironbird.errors import LinkError
from ironbird.host.virtual_time.record import ALLOW, DATAGRAM, SIGNAL, STREAM, TIME, Entry, Record, RecordFile

ENTRIES = [
    Entry(ALLOW, data=TIME.pack(4_000_000)),
    Entry(STREAM, 4560, data=b"\xfd" * 300),
    Entry(DATAGRAM, 14540, "u14580", b"command"),
    Entry(SIGNAL, 15),
]


def written(path: Path) -> Path:
    record = Record(path, {"autopilot": "px4"})
    for entry in ENTRIES:
        record.add(entry.kind, entry.port, entry.data, entry.name)
    record.close()
    record.allow(5)  # ignored: it is complete
    return path


def test_a_record_holds_all_entries_in_their_order(tmp_path: Path) -> None:
    record = RecordFile(written(tmp_path / "a.sent"))
    assert record.about["autopilot"] == "px4"
    assert list(record) == ENTRIES == list(record)  # and again
    assert next(iter(record)).time_ns == 4_000_000


def test_equal_flights_have_equal_records(tmp_path: Path) -> None:
    assert written(tmp_path / "a.sent").read_bytes() == written(tmp_path / "b.sent").read_bytes()


def test_a_record_that_is_cut_off_or_none_is_refused_in_words(tmp_path: Path) -> None:
    whole = written(tmp_path / "a.sent").read_bytes()
    (tmp_path / "b.sent").write_bytes(whole[:-20])
    with pytest.raises(LinkError, match=r"b\.sent is damaged or cut off: fly the order again"):
        list(RecordFile(tmp_path / "b.sent"))
    plain = gzip.decompress(whole)
    (tmp_path / "c.sent").write_bytes(gzip.compress(plain[:-3]))
    with pytest.raises(LinkError, match=r"c\.sent is cut off within an entry"):
        list(RecordFile(tmp_path / "c.sent"))
    (tmp_path / "d.sent").write_bytes(gzip.compress(b'{"form": "other"}\n'))
    with pytest.raises(LinkError, match=r"d\.sent is no record of a run"):
        RecordFile(tmp_path / "d.sent")
    (tmp_path / "e.sent").write_bytes(b"no gzip")
    with pytest.raises(LinkError, match=r"e\.sent is damaged or cut off"):
        RecordFile(tmp_path / "e.sent")
    with pytest.raises(LinkError, match=r"f\.sent cannot be read"):
        RecordFile(tmp_path / "f.sent")
