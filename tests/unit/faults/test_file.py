"""A file of a user's faults: what it says is what the fault does, and mistakes have their line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.errors import FaultError, UnknownNameError
from ironbird.faults import rotor
from ironbird.faults.catalog import FAULTS, Catalogue, parse_fault, read_fault
from ironbird.faults.file import definition_of, faults_in, read_faults_file
from ironbird.faults.spec import Change, Fault, Scale

HEAD = 'schema = 1\n[[fault]]\nid = "mine.weak@1"\nsummary = "A weak motor."\n'
WITNESS = 'witness = "rotor/{instance}/motor.speed"\n'
WEAK = HEAD + WITNESS + 'change = [{ parameter = "rotor/{instance}/motor.health", scale = [1.0, 0.25], unit = "1" }]\n'
BUZZ = """
schema = 1
[[fault]]
id = "mine.buzz@2"
summary = "It buzzes."
severity = "1 is 6 m/s^2"
axis = 2
shape = "ramp"
rise_s = 3.0
keywords = ["rattle"]
[[fault.change]]
signal = "imu/{instance}/accel_fault.value"
expression = "value + severity * 6 m/s^2"
[[fault.change]]
signal = "imu/{instance}/gyro_fault.value"
spike = [0, 2.5]
"""


def written(folder: Path, text: str, name: str = "mine.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_change_of_a_parameter_is_that_of_a_fault_of_the_catalogue() -> None:
    (fault,) = faults_in(WEAK).values()
    order = parse_fault("mine.weak@1:instance=3,severity=0.5,start=2", {fault.id: fault})
    assert order.targets == ["rotor/3/motor.health"] and order.witness == "rotor/3/motor.speed"
    assert fault.changes[0].value(0.5) == 0.625 and fault.changes[0].effect.effect == "scale" and not order.taps


def test_a_change_of_a_signal_needs_a_part_behind_it_and_has_its_witness_there() -> None:
    (fault,) = faults_in(BUZZ).values()
    order = parse_fault("mine.buzz@2:instance=2", {fault.id: fault})
    law, copy = order.taps
    assert law.signal == "imu/2/accel_fault.value" and law.expression == "value + severity * 6 m/s^2"
    assert copy.signal == "imu/2/gyro_fault.value" and not copy.expression
    assert order.witness == f"{law.path}.value"
    does = {target: change.value(0.5) for target, change in zip(order.targets, fault.changes, strict=True)}
    assert does == {
        f"{law.path}.severity": 0.5, f"{copy.path}.severity": 1.0, f"{copy.path}_copy.spike_rate": 5.0,
        f"{copy.path}_copy.spike_size": 1.25,
    }  # fmt: skip


def test_shape_and_axis_of_the_file_hold_unless_an_order_says_others() -> None:
    known = faults_in(BUZZ)
    usual = parse_fault("mine.buzz@2", known)
    assert (usual.shape, usual.rise_s, usual.axis) == ("ramp", 3.0, 2)
    step = parse_fault("mine.buzz@2:shape=step,axis=0", known)
    assert (step.shape, step.rise_s, step.axis) == ("step", 0.0, 0)
    for order in (usual, step):
        assert parse_fault(order.text(), known) == order


def test_a_table_of_an_order_defines_its_fault_without_the_file() -> None:
    order = parse_fault("mine.buzz@2:instance=2,severity=0.25,start=4", faults_in(BUZZ))
    table = order.table()
    assert read_fault(table) == order and read_fault(table).fault.definition == order.fault.definition
    other = order.fault.definition.replace("6 m/s^2", "7 m/s^2")
    assert read_fault({**table, "definition": other}) != order
    with pytest.raises(FaultError, match=r"the definition of 'mine.buzz@2' is of mine.weak@1"):
        read_fault({**table, "definition": WEAK})
    with pytest.raises(UnknownNameError, match=r"unknown fault 'mine.buzz@2'"):
        read_fault({key: value for key, value in table.items() if key != "definition"})


def test_comments_and_layout_do_not_change_a_definition() -> None:
    again = "# mine\n" + WEAK.replace(" = ", "=")
    assert faults_in(again) == faults_in(WEAK)


def test_a_folder_gives_the_faults_of_all_its_files_and_one_id_has_one_meaning(tmp_path: Path) -> None:
    written(tmp_path, WEAK)
    written(tmp_path, BUZZ, "other.toml")
    known = Catalogue([tmp_path])
    assert list(known)[-2:] == ["mine.weak@1", "mine.buzz@2"] and len(known) == len(FAULTS) + 2
    written(tmp_path, WEAK, "same.toml")
    assert len(Catalogue([tmp_path])) == len(known)
    written(tmp_path, WEAK.replace("0.25", "0.5"), "third.toml")
    with pytest.raises(FaultError, match=r"third.toml: 'mine.weak@1' has another definition already"):
        Catalogue([tmp_path]).users()


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    known = Catalogue([written(tmp_path, WEAK)])
    assert known["mine.weak@1"].changes[0].effect.at_1 == 0.25
    written(tmp_path, WEAK.replace("0.25", "0.125"))
    assert known["mine.weak@1"].changes[0].effect.at_1 == 0.125


def test_a_fault_of_ironbird_keeps_its_meaning(tmp_path: Path) -> None:
    file = written(tmp_path, WEAK.replace("mine.weak@1", "rotor.stuck@1"))
    with pytest.raises(FaultError, match=r"'rotor.stuck@1' is a fault of Ironbird; give your own another name"):
        len(Catalogue([file]))
    (table,) = [f for f in faults_in(WEAK.replace("mine.weak@1", "rotor.stuck@1")).values()]
    with pytest.raises(FaultError, match="is a fault of Ironbird"):
        read_fault({"id": "rotor.stuck@1", "definition": table.definition})


def test_the_variable_names_files_folders_and_faults_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, WEAK)
    code = (
        "from ironbird.faults.spec import Change, Fault, Scale\nONE = Fault('py.one@1', 'One.', (Change('body.mass', "
    )
    code += "Scale(1.0, 0.5)),), 'share', '', 'body.specific_force_B')\nMANY = [ONE]\nNONE = 3\n"
    written(tmp_path, code, "code.py")
    monkeypatch.setenv("IRONBIRD_FAULTS", f"a={tmp_path / 'mine.toml'}, b={tmp_path}/code.py:MANY,c={tmp_path}/")
    known = Catalogue()
    assert list(known.users()) == ["mine.weak@1", "py.one@1"]
    assert read_fault(parse_fault("py.one@1:severity=0.5", known).table()).targets == ["body.mass"]
    monkeypatch.setenv("IRONBIRD_FAULTS", f"a={tmp_path}/code.py:NONE")
    with pytest.raises(FaultError, match="IRONBIRD_FAULTS, a: a int is no Fault, list of such, or path of a file"):
        len(known)
    monkeypatch.setenv("IRONBIRD_FAULTS", "a=mine")
    with pytest.raises(FaultError, match=r"'a=mine' is not NAME=FILE.py:OBJECT, NAME=MODULE:OBJECT or NAME=FILE.toml"):
        len(known)


def test_a_fault_made_in_python_has_the_definition_of_a_file() -> None:
    for fault in rotor.FAULTS:
        (again,) = faults_in(definition_of(fault).definition).values()
        assert (again.id, again.severity, again.changes, again.witness) == (
            fault.id, fault.severity, fault.changes, fault.witness,
        )  # fmt: skip
    with pytest.raises(
        FaultError, match=r"fault Mine: id: 'Mine' is not an id with a version; write it as mine.buzz@1"
    ):
        definition_of(Fault("Mine", "It is.", (Change("body.mass", Scale(1.0, 0.5)),), "share", "", "body.v_NB_N"))


CHANGE = 'change = [{ signal = "a.b", freeze = true }]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD + CHANGE.replace("true", "true, scale = 2.0"),
            "mine.toml:5:11: fault.mine.weak@1.change.1: a change has one effect, not 2",
        ),
        (
            HEAD + 'change = [{ signal = "a.b" }]',
            "a change has one effect, not 0; give one of scale, offset, replace, drift",
        ),
        (
            HEAD + WITNESS + 'change = [{ parameter = "a.b", noise = 2.0 }]',
            "change.1.noise: noise is no effect on a parameter",
        ),
        (
            HEAD + "change = [{ scale = 2.0 }]",
            "a change is of a parameter or of a signal; give one of parameter and sig",
        ),
        (
            HEAD + CHANGE.replace("a.b", "a/*.b"),
            "change.1.signal: a change is of one signal; write {instance} for the part",
        ),
        (
            HEAD + CHANGE.replace("a.b", "ab"),
            "'ab' is not the path of a parameter or signal; write it as rotor/{instance}",
        ),
        (HEAD + CHANGE.replace("freeze", "frezee"), "change.1.frezee: unknown key 'frezee'; did you mean 'freeze'?"),
        (
            HEAD + CHANGE.replace("true", 'true, unit = "deg"'),
            "change.1.unit: 'deg' is no SI unit of a part; write it as",
        ),
        (
            HEAD + 'change = [{ parameter = "a.b", scale = 2.0 }]',
            "weak@1.witness: no signal shows that the fault acts; add",
        ),
        (
            HEAD + 'shape = "ramp"\n' + CHANGE,
            "mine.toml:5:1: fault.mine.weak@1.shape: shape 'ramp' needs rise_s; add rise_s",
        ),
        (HEAD + "duty = 0.5\n" + CHANGE, "duty has no meaning with shape 'step'; write shape = \"intermittent\""),
        (HEAD.replace("@1", "") + CHANGE, "mine.toml:3:1: fault.mine.weak.id: 'mine.weak' is not an id with a version"),
        (
            HEAD + CHANGE + HEAD[11:] + CHANGE,
            "mine.toml:7:1: fault.mine.weak@1.id: 'mine.weak@1' is there twice; rename one",
        ),
        (
            HEAD + 'change = [{ signal = "a.b", offset = [1.0] }]',
            "change.1.offset: 1 numbers do not fit here; write one number, or two",
        ),
        (
            'schema = 1\n[[case]]\nid = "a"\n',
            "this is a case file; 'ironbird case check' and 'ironbird campaign run' take it",
        ),
        ("schema = 2\n[[fault]]\n", "schema 2 is not known; this version reads 1"),
        ("schema = 1\nfault = [", "not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_cure(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FaultError) as caught:
        read_faults_file(written(tmp_path, text))
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FaultError, match=r"nothing.toml:1:1: file: cannot read it: .*; give a file of faults"):
        read_faults_file(tmp_path / "nothing.toml")
    with pytest.raises(FaultError, match="there is no TOML file in this folder"):
        read_faults_file(tmp_path)
