"""Broken case files: each error names line and key, and says the cure; a file's errors come all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.campaign.suite import check, load_suite, planned_case
from ironbird.errors import CaseError, OrderError, UnknownNameError
from ironbird.files.problems import Problem

GOOD = """schema = 1
[[case]]
id = "a"
vehicle = "quad_f450"
mission = "hover"
until_s = 10.0
seeds = [1, 2]
[case.wind]
speed_mps = 5.0
[case.set]
"body.mass" = 1.4
[[case.fault]]
id = "rotor.speed_loss@1"
instance = 1
severity = 0.2
start_s = 5.0
[[case.require]]
use = "no_crash"
[[case.require]]
name = "low"
formula = "always (altitude < 60 m)"
"""

# what is replaced, by what; line and key of the problem; words of its message or cure
BROKEN = [
    ("schema = 1\n", "", 1, "schema", "begin it with schema = 1"),
    ("schema = 1", "schema = 2", 1, "schema", "schema 2 is not known; this version reads 1"),
    ("schema = 1", "schema = true", 1, "schema", "schema True is not known"),
    ("until_s = 10.0", "until_s = ", 6, "file", "not valid TOML: Invalid value"),
    ('id = "a"\n', "", 2, "case.1.id", "add id ="),
    ('"hover"', "{ grid = [1.5, 2.0] }", 5, "case.a.mission", "words are needed, not numbers"),
    ('"rotor.speed_loss@1"', "{ grid = [0.1] }", 13, "case.a.fault.1.id", "words are needed, not numbers"),
    ('"hover"', '{ choice = ["$hover"] }', 5, "case.a.mission", "unknown mission '$hover'"),
    (
        "seeds = [1, 2]",
        'world = "field"\nsight = [{ kind = "laser", name = "s", rate_hz = { grid = { set = [1, 2] } } }]',
        8,
        "case.a.sight.1.rate_hz.grid",
        "a table does not fit here",
    ),
    (
        "seeds = [1, 2]",
        'world = "field"\nsight = [{ kind = "laser", name = "s" }, { kind = "laser", name = "s" }]',
        8,
        "case.a.sight.2.name",
        "'s' is there twice",
    ),
    ('id = "a"', 'id = "a/b"', 3, "case.a/b.id", "use letters, digits"),
    ('"quad_f450"', '"quad_f45"', 4, "case.a.vehicle", "did you mean 'quad_f450'"),
    ('"quad_f450"', '"quad.toml"', 4, "case.a.vehicle", "quad.toml:1:1: file: it does not exist"),
    ('vehicle = "quad_f450"\n', "", 2, "case.a", 'add vehicle = "quad_f450"'),
    ('mission = "hover"', 'control = "magic"', 5, "case.a.control", "one of reference, truth"),
    ('"hover"', '"hovver"', 5, "case.a.mission", "did you mean 'hover'"),
    (
        '"hover"',
        '{ item = [{ kind = "land", north_m = { grid = [1, "x"] } }] }',
        5,
        "case.a.mission.item.1.north_m.grid.2",
        "write a number",
    ),  # the grammar of cases does not look into missions
    (
        '"hover"',
        '{ item = [{ kind = "land", north_m = { grid = [1, 1e9] } }] }',
        5,
        "case.a.mission.item.1.north_m",
        "write a number of at most 1e+08",
    ),  # the last of the values
    (
        '"hover"',
        '{ item = [{ kind = "land", hold_s = { range = [3, -1], steps = 4 } }] }',
        5,
        "case.a.mission.item.1.hold_s",
        "smaller number first",
    ),
    (
        '"hover"',
        '{ item = [{ kind = "land", hold_s = { range = [-1, 3], steps = 4 } }] }',
        5,
        "case.a.mission.item.1.hold_s",
        "write a number of at least 0",
    ),
    ('"hover"', '"a\\u0000.plan"', 5, "case.a.mission", "no file has such a name"),
    ("until_s = 10.0", "until_s = -1", 6, "case.a.until_s", "write a number from 0 to 1e+07, 0 excluded"),
    ("until_s", "untill_s", 6, "case.a.untill_s", "did you mean 'until_s'"),
    ("until_s = 10.0", 'expect = "maybe"', 6, "case.a.expect", "one of pass, fail"),
    ("until_s = 10.0", 'tags = "x"', 6, "case.a.tags", "write a list"),
    ("until_s = 10.0", "log_s = 0", 6, "case.a.log_s", "write a number of at least 0.001"),
    ("until_s = 10.0", "log_s = 0.005", 6, "case.a.log_s", "'quad_f450' flies with steps of 0.002 s"),
    ("until_s = 10.0", "log_s = 0.005", 6, "case.a.log_s", 'of 0.002 s, or add integration = "rk4@0.001"'),
    ("until_s = 10.0", 'integration = "rk4@0.003"', 6, "case.a.integration", "has steps of 0.003 s"),
    ("seeds = [1, 2]", "seeds = [1, 1]", 7, "case.a.seeds", "write each seed once"),
    ("seeds = [1, 2]", "seeds = { cuont = 2 }", 7, "case.a.seeds.cuont", "did you mean 'count'?"),
    ("seeds = [1, 2]", "seeds = 1.5", 7, "case.a.seeds", "write a whole number"),
    ("speed_mps = 5.0", 'speed_mps = "fast"', 9, "case.a.wind.speed_mps", "write a number, a table such as"),
    ("speed_mps = 5.0", "speed_mps = true", 9, "case.a.wind.speed_mps", "write a number"),
    ("speed_mps = 5.0", "speed_mps = nan", 9, "case.a.wind.speed_mps", "write a finite number"),
    ("speed_mps = 5.0", "speed_kt = 5.0", 9, "case.a.wind.speed_kt", "did you mean 'speed_mps'?"),
    ("speed_mps = 5.0", "speed_mps = { uniform = [5, 1] }", 9, "case.a.wind.speed_mps", "smaller number first"),
    (
        "speed_mps = 5.0",
        "speed_mps = { uniform = [1, 5] }",
        9,
        "case.a.wind.speed_mps",
        "add steps = 5, or a [case.plan]",
    ),
    ("speed_mps = 5.0", "speed_mps = { uniform = [1] }", 9, "case.a.wind.speed_mps.uniform", "write 2"),
    (
        "speed_mps = 5.0",
        "speed_mps = { unifrom = [1, 5] }",
        9,
        "case.a.wind.speed_mps.unifrom",
        "did you mean 'uniform'",
    ),
    ("speed_mps = 5.0", "speed_mps = { range = [1, 5] }", 9, "case.a.wind.speed_mps", "add steps = 5"),
    (
        "speed_mps = 5.0",
        "speed_mps = { grid = [1], set = [2] }",
        9,
        "case.a.wind.speed_mps",
        "it has grid and set; keep one",
    ),
    ("speed_mps = 5.0", "speed_mps = { grid = [1, 1] }", 9, "case.a.wind.speed_mps", "write each value once"),
    ("speed_mps = 5.0", 'speed_mps = "$gale"', 9, "case.a.wind.speed_mps", "add gale = … to [case.vary]"),
    ("speed_mps = 5.0", "speed_mps = 500", 9, "case.a.wind.speed_mps", "write a number from 0 to 100"),
    ('"body.mass" = 1.4', '"body.mas" = 1.4', 11, "case.a.set.body.mas", "did you mean 'body.mass'"),
    ('"body.mass" = 1.4', '"body.mass" = -1.4', 11, "case.a.set.body.mass", "outside its range"),
    ('"body.mass" = 1.4', '"body.mass" = [1.0, 2.0]', 11, "case.a.set.body.mass", "write 1 number(s)"),
    (
        '"body.mass" = 1.4',
        '"body.mass" = { range = [-1, 3], steps = 3 }',
        11,
        "case.a.set.body.mass",
        "outside its range",
    ),
    ('"body.mass" = 1.4', '"body.inertia[9]" = 1.4', 11, "case.a.set.body.inertia[9]", "write body.inertia[0] to"),
    ("rotor.speed_loss@1", "rotor.speed_los@1", 13, "case.a.fault.1.id", "did you mean 'rotor.speed_loss@1'"),
    ("instance = 1", "instance = 7", 14, "case.a.fault.1.instance", "vehicle 'quad_f450' has rotor 1 to 4, not 7"),
    ("instance = 1", "instance = 1.5", 14, "case.a.fault.1.instance", "write a whole number from 1 to 64"),
    ("instance = 1", "instance = { uniform = [1, 4] }", 14, "case.a.fault.1.instance", "write { grid = [1, 2, 3] }"),
    ('id = "rotor.speed_loss@1"', 'id = "battery.power_off@1"', 14, "case.a.fault.1.instance", "leave the key out"),
    ("severity = 0.2", "severity = 1.2", 15, "case.a.fault.1.severity", "write a number from 0 to 1"),
    ("severity = 0.2", "severity = { normal = [0.2, 0.1] }", 15, "case.a.fault.1.severity", "with within = [a, b]"),
    ("start_s = 5.0", "start_s = 5.0\nend_s = 4.0", 17, "case.a.fault.1.end_s", "use duration_s, or end later"),
    ("start_s = 5.0", "end_s = 5.0\nduration_s = 4.0", 16, "case.a.fault.1.end_s", "keep one"),
    ("start_s = 5.0", 'shape = "ramp"', 16, "case.a.fault.1.shape", "add rise_s"),
    ("start_s = 5.0", "period_s = 1.0", 16, "case.a.fault.1.period_s", 'add shape = "intermittent"'),
    ("start_s = 5.0", 'shape = "stepp"', 16, "case.a.fault.1.shape", "did you mean 'step'?"),
    ("start_s = 5.0", 'when = "altitud > 5"', 16, "case.a.fault.1.when", "did you mean 'altitude'"),
    ("start_s = 5.0", 'when = "altitude >"', 16, "case.a.fault.1.when", "it ends too early"),
    ("start_s = 5.0", 'when = "mode = mission"', 16, "case.a.fault.1.when", "write '==' to compare"),
    ("start_s = 5.0", "start_s = 1e300", 16, "case.a.fault.1.start_s", "write a number from 0 to 1e+07"),
    ("seeds = [1, 2]", f"seeds = {2**70}", 7, "case.a.seeds", "write a number of at most 9.22337e+18"),
    ("seeds = [1, 2]", f"seeds = {{ first = {2**63 - 2}, count = 9 }}", 7, "case.a.seeds", "the greatest is"),
    ("until_s = 10.0", "until_s = 1e308", 6, "case.a.until_s", "write a number from 0 to 1e+07"),
    ("until_s = 10.0", "log_s = 1e-300", 6, "case.a.log_s", "write a number of at least 0.001"),
    ("until_s = 10.0", "log_s = 0.0015", 6, "case.a.log_s", "no whole number of steps of 0.001 s"),
    (
        "severity = 0.2",
        "severity = { range = [0, 1], steps = 99999999 }",
        15,
        "case.a.fault.1.severity.steps",
        "write a number of at most 10000",
    ),
    (
        '"body.mass" = 1.4',
        f'"body.mass" = {"9" * 400}',
        11,
        "case.a.set.body.mass",
        "9… does not fit here; write a number",
    ),
    ('"body.mass" = 1.4', '"body.inertia[²]" = 1.4', 11, "case.a.set.body.inertia[²]", "write body.inertia[0] to"),
    (
        '"body.mass" = 1.4',
        '"body.mass" = { uniform = [-1e308, 1e308] }',
        11,
        "case.a.set.body.mass",
        "write bounds that are nearer",
    ),
    ("until_s = 10.0", f"until_s = {'[' * 3000}", 22, "file", "nested too deeply"),
    ('"no_crash"', '"no_crsh"', 18, "case.a.require.1.use", "did you mean 'no_crash'?"),
    ('"no_crash"', '"geofence"', 18, "case.a.require.1.use", "needs radius"),
    ('"no_crash"', '"geofence"\nparams = { radios = 3 }', 19, "case.a.require.1.params", "did you mean 'radius'?"),
    ('"no_crash"', '"no_crash"\nformula = "x"', 18, "case.a.require.1.use", "both use and formula are given"),
    (
        '"no_crash"',
        '"no_crash"\n[[case.require]]\nuse = "no_crash"',
        19,
        "case.a.require.2",
        "the name 'no_crash' is taken",
    ),
    ("altitude < 60 m", "altitude < 60 s", 21, "case.a.require.2.formula", "the units differ"),
    ("altitude <", "altitud <", 21, "case.a.require.2.formula", "did you mean 'altitude'"),
    ('name = "low"\n', "", 19, "case.a.require.2", "a formula needs a name"),
    (
        'name = "low"',
        'name = "low"\nseverity = "grave"',
        21,
        "case.a.require.2.severity",
        "one of critical, major, minor",
    ),
    (
        'use = "no_crash"',
        'use = "no_crash"\n[case.plan]\nkind = "latin"',
        20,
        "case.a.plan.kind",
        "did you mean 'latin_hypercube'?",
    ),
    (
        'use = "no_crash"',
        'use = "no_crash"\n[case.plan]\nkind = "monte_carlo"\nsamples = 5',
        19,
        "case.a.plan",
        "nothing varies",
    ),
    ('use = "no_crash"', 'use = "no_crash"\n[case.plan]\nkind = "monte_carlo"', 19, "case.a.plan", "add samples = 100"),
    (
        'use = "no_crash"',
        'use = "no_crash"\n[case.plan]\nkind = "grid"\nsamples = 5',
        21,
        "case.a.plan.samples",
        "leave samples out",
    ),
    ('use = "no_crash"', 'use = "no_crash"\n[case.vary]\nx = 1.0', 20, "case.a.vary.x", 'write "$x" where it is meant'),
    (
        'mission = "hover"',
        'mission.item = [ { kind = "fly" } ]',
        5,
        "case.a.mission.item.1.kind",
        "one of waypoint, land",
    ),
    (
        'mission = "hover"',
        'mission.item = [ { kind = "land", north = 1 } ]',
        5,
        "case.a.mission.item.1.north",
        "'north_m'",
    ),
    ("[[case.fault]]", "[[case.faults]]", 12, "case.a.faults", "did you mean 'fault'"),
    (
        "schema = 1\n",
        'schema = 1\nsuite = { id = "s", include = ["no/*.toml"] }\n',
        2,
        "suite.include.1",
        "unknown file",
    ),
]
assert len(BROKEN) >= 30


def problems(tmp_path: Path, text: str) -> list[Problem]:
    file = tmp_path / "case.toml"
    file.write_text(text)
    return check(file)


def test_the_unbroken_file_has_no_problem(tmp_path: Path) -> None:
    assert problems(tmp_path, GOOD) == []


@pytest.mark.parametrize(("old", "new", "line", "key", "words"), BROKEN, ids=lambda value: str(value)[:30])
def test_a_broken_file_says_where_and_how_to_cure_it(
    tmp_path: Path, old: str, new: str, line: int, key: str, words: str
) -> None:
    assert old in GOOD
    found = problems(tmp_path, GOOD.replace(old, new, 1))

    assert (line, key) in [(p.line, p.key) for p in found]
    told = next(p for p in found if (p.line, p.key) == (line, key))
    assert words in f"{told.message}; {told.cure}"
    assert told.message and told.cure and told.column >= 1


def test_all_problems_of_a_file_come_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("body.mass", "body.mas").replace("speed_loss", "sped_loss").replace("altitude", "altitud")
    found = problems(tmp_path, text.replace('"hover"', '"hovver"'))

    assert [(p.line, p.key.removeprefix("case.a.")) for p in found] == [
        (5, "mission"), (11, "set.body.mas"), (13, "fault.1.id"), (21, "require.2.formula"),
    ]  # fmt: skip
    grammar = problems(tmp_path, GOOD.replace("5.0\n[case.set]", '"x"\n[case.set]').replace("severity", "severty"))
    assert [(p.line, p.key) for p in grammar] == [(9, "case.a.wind.speed_mps"), (15, "case.a.fault.1.severty")]


def test_a_word_that_cannot_vary_is_no_reference(tmp_path: Path) -> None:
    assert problems(tmp_path, GOOD.replace("seeds = [1, 2]", 'tags = ["$b"]')) == []


def test_minus_zero_is_zero_and_reads_back_as_the_same_flight(tmp_path: Path) -> None:
    file, again = tmp_path / "case.toml", tmp_path / "again.toml"
    file.write_text(GOOD.replace("speed_mps = 5.0", "speed_mps = -0.0"))
    flight = load_suite(file).flights()[0]

    again.write_text(flight.to_toml())

    assert load_suite(again).flights()[0].digest() == flight.digest()
    assert "-0.0" not in flight.to_toml()


def test_loading_a_broken_file_raises_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    file.write_text(GOOD.replace("body.mass", "body.mas").replace('"hover"', '"hovver"'))

    with pytest.raises(CaseError, match=r"has 2 problems:\n.*case.toml:5:1: case.a.mission: unknown mission"):
        load_suite(file)
    with pytest.raises(CaseError, match="cannot read it: No such file"):
        load_suite(tmp_path / "nowhere.toml")


def test_a_shared_parameter_is_held_against_the_bounds_of_every_place_that_names_it(tmp_path: Path) -> None:
    text = GOOD.replace("severity = 0.2", 'severity = "$x"').replace("speed_mps = 5.0", 'speed_mps = "$x"')
    found = problems(tmp_path, text + "[case.vary]\nx = { grid = [0.5, 3.0] }\n")

    assert [(p.line, p.key, p.message) for p in found] == [(15, "case.a.fault.1.severity", "3 is outside its bounds")]


def test_every_vehicle_and_fault_of_a_choice_is_checked(tmp_path: Path) -> None:
    text = GOOD.replace('"quad_f450"', '{ choice = ["quad_f450", "car_escort"] }')
    found = problems(tmp_path, text)

    assert [(p.line, p.key) for p in found] == [(14, "case.a.fault.1.instance")]
    assert "vehicle 'car_escort' does not have" in found[0].message
    text = GOOD.replace('id = "rotor.speed_loss@1"', 'id = { choice = ["rotor.speed_loss@1", "rotor.nothing@1"] }')
    assert [(p.line, p.key) for p in problems(tmp_path, text)] == [(13, "case.a.fault.1.id")]


def test_parts_have_numbers_or_names(tmp_path: Path) -> None:
    text = GOOD.replace("rotor.speed_loss@1", "servo.stuck@1").replace('"quad_f450"', '"aerosonde"')
    text = text.replace("severity = 0.2\n", "")
    text = text.replace('mission = "hover"\n', "").replace(
        "instance = 1", 'instance = { choice = ["elevator", "rudder"] }'
    )

    assert problems(tmp_path, text) == []
    assert [f.faults[0].instance for f in load_suite(tmp_path / "case.toml").flights()] == ["elevator"] * 2 + [
        "rudder"
    ] * 2
    found = problems(tmp_path, text.replace("rudder", "ruder"))
    assert [(p.line, p.key) for p in found] == [(13, "case.a.fault.1.instance")]
    assert "rudder" in found[0].message


def test_a_mistake_of_the_structure_does_not_hide_those_of_conditions(tmp_path: Path) -> None:
    text = GOOD.replace('name = "low"\n', "").replace("altitude < 60 m", "altitude < 60 s")
    text = text.replace("start_s = 5.0", 'when = "altitud > 5 m"')

    found = problems(tmp_path, text)

    assert [p.key for p in found] == ["case.a.fault.1.when", "case.a.require.2", "case.a.require.2.formula"]
    assert "the units differ" in found[2].message and found[2].line == 20


def test_mistakes_of_all_sorts_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    """What the grammar refuses hides nothing else: names, shared values, bounds, other cases."""
    text = (
        GOOD.replace('"hover"', '"hovver"').replace("until_s = 10.0", "until_s = -1").replace("body.mass", "body.mas")
    )
    text = text.replace("speed_mps = 5.0", 'speed_mps = "$gust"').replace("severity = 0.2", "severity = 3\nbegin = 2")
    text = text.replace('use = "no_crash"', 'use = "no_crsh"')
    text += '[[case]]\n[[case]]\nid = "a"\nvehicle = "quad_f45"\nrequire = ["no_crash"]\n'

    found = problems(tmp_path, text)

    assert [(p.line, p.key) for p in found] == [
        (5, "case.a.mission"), (6, "case.a.until_s"), (9, "case.a.wind.speed_mps"), (11, "case.a.set.body.mas"),
        (15, "case.a.fault.1.severity"), (16, "case.a.fault.1.begin"), (19, "case.a.require.1.use"),
        (23, "case.2.id"), (25, "case.a.id"), (26, "case.a.vehicle"), (27, "case.a.require.1"),
    ]  # fmt: skip
    cures = {p.line: p.cure for p in found}
    assert cures[16] == "did you mean 'start_s'?" and cures[27] == "write a table, such as { use = … }"


def test_what_cannot_be_read_is_not_called_missing(tmp_path: Path) -> None:
    text = GOOD.replace("speed_mps = 5.0", 'sped = "$gust"') + "[case.vary]\ngust = { grid = [1.0, 2.0] }\n"
    assert [p.key for p in problems(tmp_path, text)] == ["case.a.wind.sped"]
    assert [p.key for p in problems(tmp_path, GOOD.replace('"quad_f450"', "3"))] == ["case.a.vehicle"]
    assert [p.key for p in problems(tmp_path, "schema = 1\n[[case]]\n")] == ["case.1.id"]


def test_a_wrong_default_is_told_once(tmp_path: Path) -> None:
    cases = "".join(f'[[case]]\nid = "{name}"\n' for name in "abc")

    found = problems(tmp_path, f'schema = 1\n[suite]\nid = "s"\n[suite.defaults]\nvehicle = "quad_f45"\n{cases}')

    assert [(p.line, p.key) for p in found] == [(5, "suite.defaults.vehicle")]


def test_severity_is_refused_where_it_has_no_meaning(tmp_path: Path) -> None:
    text = GOOD.replace("rotor.speed_loss@1", "link.loss@1").replace("instance = 1\n", "")

    (found,) = problems(tmp_path, text)

    assert (
        found.key == "case.a.fault.1.severity" and "lost or not" in found.message and found.cure == "leave the key out"
    )
    assert problems(tmp_path, text.replace("severity = 0.2\n", "")) == []
    assert problems(tmp_path, text.replace("severity = 0.2\n", "severity = 1.0\n")) == []


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ('kind = "monte_carlo"\nsamples = 1000000\n', "flights"),
        ('kind = "pairwise"\nstrength = 3\n', "are too many"),
        ('kind = "grid"\n', "the grid has"),
    ],
)
def test_a_plan_without_end_is_refused_at_once(tmp_path: Path, plan: str, says: str) -> None:
    text = GOOD.replace("seeds = [1, 2]", "seeds = { first = 1, count = 100 }")
    text = text.replace(
        "speed_mps = 5.0", "speed_mps = { range = [0, 9], steps = 9000 }\nfrom_deg = { range = [0, 9], steps = 300 }"
    )
    text = text.replace("severity = 0.2", "severity = { range = [0, 1], steps = 300 }").replace(
        "start_s = 5.0", "start_s = { range = [1, 5], steps = 300 }"
    )

    (found,) = problems(tmp_path, text + f"[case.plan]\n{plan}")

    assert says in found.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('schema = 1\nid = "q"\ntitle = "q"\nbase = "quad_f450"\n', "this is a vehicle file"),
        ('schema = 1\n[order]\nvehicle = "quad_f450"\n', "this is the order of a flight"),
        ('schema = 1\n[[item]]\nkind = "land"\n', "this is a mission file"),
        ("", "the file is empty"),
        ("# nothing\n", "the file is empty"),
    ],
)
def test_files_of_other_kinds_are_called_by_their_name(tmp_path: Path, text: str, says: str) -> None:
    (found,) = problems(tmp_path, text)

    assert found.message == says


def test_a_case_is_named_if_there_are_several(tmp_path: Path) -> None:
    file = tmp_path / "case.toml"
    file.write_text(GOOD)
    assert planned_case(file).id == "a"
    file.write_text(GOOD + GOOD.removeprefix("schema = 1\n").replace('id = "a"', 'id = "b"'))
    with pytest.raises(OrderError, match=r"case\.toml has 2 cases and none is named: name one of a, b$"):
        planned_case(file)
    with pytest.raises(UnknownNameError, match="unknown case 'c'"):
        planned_case(file, "c")
