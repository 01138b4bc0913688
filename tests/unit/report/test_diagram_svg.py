"""Drawings and trees of diagrams."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from ironbird.model.block import Block
from ironbird.model.diagram import Diagram
from ironbird.model.signal import In, Out, Param, State
from ironbird.report.diagram_svg import _Drawing, diagram_tree, write_diagram_svg
from ironbird.vehicles.load import load_vehicle

SVG = "{http://www.w3.org/2000/svg}"


class Lag(Block):
    """A part with one state."""

    u = In(unit="m", default=0.0)
    more = In(unit="m", gather=True)
    y = Out(unit="m")
    x = State(unit="m")
    time_constant = Param(unit="s", default=1.0)


@pytest.fixture(scope="module")
def quad() -> Diagram:
    return load_vehicle("quad_f450", control="truth").diagram


@pytest.fixture(scope="module")
def root(quad: Diagram, tmp_path_factory: pytest.TempPathFactory) -> ET.Element:
    path = tmp_path_factory.mktemp("svg") / "quad.svg"
    write_diagram_svg(quad, path)
    return ET.fromstring(path.read_text())


def boxes(root: ET.Element) -> list[tuple[float, float, float, float]]:
    """Left, upper, right, lower edges of all blocks."""
    found = []
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        if rect is not None and rect.get("class") in ("continuous", "sampled", "outside"):
            x, y, width, height = (float(rect.get(key, "nan")) for key in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
    return found


def test_every_block_is_drawn_inside_the_picture_and_none_covers_another(quad: Diagram, root: ET.Element) -> None:
    places = boxes(root)

    assert len(places) == len(quad.blocks) + len(quad.external_inputs())
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    for left, top, right, bottom in places:
        assert left >= 0 and top >= 0 and right <= width and bottom <= height
    for a, b in itertools.combinations(places, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)


def test_every_connection_is_in_the_tooltip_of_one_arrow(quad: Diagram, root: ET.Element) -> None:
    arrows = [group for group in root.iter(f"{SVG}g") if group.get("class") == "link"]
    tooltips = [line for arrow in arrows for line in arrow.findtext(f"{SVG}title", "").split("\n")]

    expected = {f"{source} → {target}" for target, sources in quad.links.items() for source in sources}
    expected |= {f"{name} → {port.path}" for name, port in quad.external_inputs().items()}
    assert {line.rpartition(" [")[0] for line in tooltips} == expected
    assert len(tooltips) == len(expected)  # none twice
    pairs = {(s.rpartition(".")[0], t.rpartition(".")[0]) for t, sources in quad.links.items() for s in sources}
    assert len(arrows) == len(pairs) + len(quad.external_inputs())  # parallel connections are bundled


def test_names_classes_rates_and_groups_are_written(quad: Diagram, root: ET.Element) -> None:
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]

    for text in ("quad_f450", "body", "RigidBody", "every 4 ms (250 Hz)", "rotor/1", "wind", "from body", "v_air_B"):
        assert text in texts, text
    kinds = [rect.get("class") for rect in root.iter(f"{SVG}rect")]
    assert kinds.count("frame") == 5  # four rotors and the wind
    assert kinds.count("sampled") == 1 + sum(b.is_sampled for b in quad.blocks.values())  # the legend has one


def test_lines_run_forward_except_from_the_few_blocks_that_open_the_loops(quad: Diagram) -> None:
    drawing = _Drawing(quad)

    assert {link.source.path for link in drawing.links if link.is_back} == {"body", "air", "battery", "wakes"}
    for link in drawing.links:
        assert link.is_back or link.source.layer < link.target.layer
    for link, points in drawing.wires:
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(points)), link.tooltip()


def test_the_same_diagram_gives_the_same_file(quad: Diagram, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        write_diagram_svg(load_vehicle("quad_f450", control="truth").diagram, tmp_path / name)

    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_hostile_names_outside_ports_and_self_loops_are_drawn_as_text(tmp_path: Path) -> None:
    hostile = '<script>alert("x")</script>&'
    diagram = Diagram(hostile)
    first = diagram.add("g/b/in", Lag())
    second = diagram.add("g/b/out", Lag(sample_s=0.01))
    diagram.connect(first.y, second.u)
    diagram.connect(second.y, second.more)
    diagram.export(first.u, "<i>")
    diagram.export(second.y, "result")

    write_diagram_svg(diagram, tmp_path / "hostile.svg")

    root = ET.fromstring((tmp_path / "hostile.svg").read_text())
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert root.find(f".//{SVG}script") is None
    assert {hostile, "g/b", "<i>", "result", "from g/b/out"} <= set(texts)
    assert len(boxes(root)) == 4


def test_an_empty_diagram_is_a_valid_picture(tmp_path: Path) -> None:
    write_diagram_svg(Diagram("nothing"), tmp_path / "nothing.svg")

    assert boxes(ET.fromstring((tmp_path / "nothing.svg").read_text())) == []
    assert diagram_tree(Diagram("nothing")) == "nothing: 0 blocks, 0 connections\n"


def test_the_tree_shows_nesting_classes_rates_and_units() -> None:
    inner = Diagram("inner")
    inner.add("slow", Lag(sample_s=0.5))
    outer = Diagram("outer")
    outer.add("a/b", inner)
    outer.add("plain", Block())

    assert diagram_tree(outer) == (
        "outer: 2 blocks, 0 connections\n"
        "├── a\n"
        "│   └── b\n"
        "│       └── slow: Lag, every 500 ms (2 Hz)\n"
        "│               2 inputs: u [m], more [m]\n"
        "│               1 output: y [m]\n"
        "│               1 state: x [m]\n"
        "│               1 parameter: time_constant [s]\n"
        "└── plain: Block, continuous\n"
    )


def test_the_tree_prints_parts_that_are_alike_once() -> None:
    rotors = Diagram("rotors")
    for name in ("1", "2"):
        rotors.add(f"rotor/{name}", Lag())
    rotors.add("rotor/3", Lag(sample_s=0.5))

    lines = diagram_tree(rotors).splitlines()

    assert lines[2] == "    ├── 1: Lag, continuous" and "    ├── 2: as 1" in lines
    assert "    └── 3: Lag, every 500 ms (2 Hz)" in lines  # another rate is another part
