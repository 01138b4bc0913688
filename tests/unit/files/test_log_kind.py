"""What a file is, by its first bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.errors import RecordError
from ironbird.files.log_kind import log_kind

TLOG = (1_700_000_000_000_000).to_bytes(8, "big") + b"\xfd\x09\0\0" + b"a" * 20


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (b"ULog\x01\x12\x35\x01" + b"\0" * 8, "ulog", "a ULog of PX4: 'ironbird log show'"),
        (b"\xa3\x95\x80", "dataflash", "a DataFlash log of ArduPilot: 'ironbird log show'"),
        (b"\0\0\xa3\x95\x80\x80\x59FMT", "dataflash", "a DataFlash log of ArduPilot"),
        (b"PAR1\0", "parquet", "a Parquet file"),
        (b"time_s,roll\n0,1\n", "csv", "a CSV file"),
        (b"\xef\xbb\xbf# note\ntime_s,roll\n0,1\n", "csv", "a CSV file"),
        (b"ULog\x01", "ulog header", "a damaged ULog"),
        (TLOG, "tlog", "a telemetry log of MAVLink (tlog): copy the log of the vehicle"),
        (b"FMT, 128, 89, FMT, BBnNZ\n", "text log", "give the .BIN itself"),
        (b"PK\x03\x04", "zip", "a ZIP archive: unpack it first"),
        (b"<!DOCTYPE html>", "html", "a page (HTML)"),
        (b'{"a": [1, 2]}', "text", "a text, not a log"),
        ("höhe".encode("latin-1"), "text", "not in UTF-8"),
        (bytes(range(256)), "binary", "no log of a kind that is known"),
    ],
)
def test_a_file_is_known_by_its_first_bytes(tmp_path: Path, data: bytes, name: str, words: str) -> None:
    path = tmp_path / "flight.xyz"
    path.write_bytes(data)

    kind = log_kind(path)

    assert kind.name == name and words in kind.sentence(path) and kind.sentence(path).startswith("flight.xyz is ")
    assert kind.is_log == (name in ("ulog", "dataflash", "parquet", "csv"))


def test_a_character_that_is_cut_at_the_end_of_the_first_bytes_is_still_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"time_s," + b"a" * 4088 + "é".encode() + b"\n0,1\n")
    assert log_kind(tmp_path / "a").name == "csv"


def test_folders_missing_and_empty_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.ulg").touch()
    for path, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "no", "no such file"),
        (tmp_path / "empty.ulg", "is empty"),
    ):
        with pytest.raises(RecordError, match=words):
            log_kind(path)
