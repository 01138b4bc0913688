"""Files that appear whole or not at all, whoever writes them, and cells that no spreadsheet runs."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaign_data import flight_case, result_of

import ironbird as ib
from ironbird.campaign.search import Map
from ironbird.files.csv_text import harmless
from ironbird.files.whole import replacing, without_empty, write_text
from ironbird.model.diagram import Diagram
from ironbird.report.diagram_svg import write_diagram_svg
from ironbird.report.junit import write_junit
from ironbird.report.page import write_page
from ironbird.report.svg_plot import write_map
from ironbird.report.table import write_table
from ironbird.report.ulog import write_ulog


def test_a_write_that_breaks_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_text(path, "before")

    with pytest.raises(RuntimeError), replacing(path) as part:
        part.write_text("half a pa")
        assert path.read_text() == "before" and part.parent == tmp_path
        raise RuntimeError("killed")

    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_a_write_takes_the_place_of_the_file_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_text(path, "before")

    with replacing(path) as part:
        part.write_text("after")

    assert path.read_text() == "after" and list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "after"

    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through" and (tmp_path / "pipe").is_fifo()
    os.close(reader)


@pytest.fixture
def full_disk() -> Iterator[Callable[[], None]]:
    """From now on no file of this process grows beyond a hundred bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes then fail with an error, as on a full disk
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


def a_map() -> Map:
    return Map("a", "b", [0.0, 1.0], [0.0, 1.0], np.full((2, 2), "pass"), np.ones((2, 2)))


PAGE = {"title": "x" * 500, "faults": [], "wind": "", "together": [], "systems": [], "estimates": []}
RESULTS = [result_of(flight_case(number)) for number in range(20)]
WRITERS: dict[str, Callable[[Path, Any], None]] = {
    "page.html": lambda path, log: write_page(path, "compare.html.j2", PAGE),
    "junit.xml": lambda path, log: write_junit(path, "night", RESULTS),
    "table.csv": lambda path, log: write_table(RESULTS, path),
    "table.parquet": lambda path, log: write_table(RESULTS, path),
    "table.json": lambda path, log: write_table(RESULTS, path),
    "map.svg": lambda path, log: write_map(a_map(), path),
    "diagram.svg": lambda path, log: write_diagram_svg(Diagram("x" * 500), path),
    "flight.ulg": lambda path, log: write_ulog(log, path),
    "flight.csv": lambda path, log: log.to_csv(path),
    "flight.parquet": lambda path, log: log.to_parquet(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_what_was_there_and_no_half_file(
    name: str, f450: ib.CompiledModel, tmp_path: Path, full_disk: Callable[[], None]
) -> None:
    log = ib.run(ib.start(f450), 0.2)
    path = tmp_path / name
    WRITERS[name](path, log)
    assert path.stat().st_size > 200
    path.write_text("before")
    full_disk()
    with pytest.raises(OSError):
        WRITERS[name](path, log)
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------------- cells


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "=cmd|' /C calc'!A0",
        "+x",
        "-x",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\uff1d1",
        "\t1",
        "-",
        "-1 m",
    ],
)
def test_what_a_spreadsheet_might_run_becomes_text(cell: str) -> None:
    assert harmless(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["", "a=1", "1-2", "-1", "+1", "-1.5e-3", "-inf", "'=1", " x", "no_crash"])
def test_numbers_and_other_texts_stay(cell: str) -> None:
    assert harmless(cell) == cell


def test_an_error_leaves_no_empty_folder_behind(tmp_path: Path) -> None:
    new = tmp_path / "out" / "export" / "c"
    with pytest.raises(ValueError, match="no"), without_empty(new):
        new.mkdir(parents=True)
        raise ValueError("no")
    assert not (tmp_path / "out").exists()

    (tmp_path / "out").mkdir()
    with pytest.raises(ValueError, match="no"), without_empty(new):
        new.mkdir(parents=True)
        raise ValueError("no")
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "what was there before stays"

    with pytest.raises(ValueError, match="no"), without_empty(new):
        new.mkdir(parents=True)
        (new / "file").write_text("kept")
        raise ValueError("no")
    assert (new / "file").is_file()
