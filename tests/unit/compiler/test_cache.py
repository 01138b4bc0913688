"""The cache: what is not whole, not ours or not plain data is never used."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from parts import Lag

from ironbird import Diagram, advance, compile_model, linearize, load_vehicle, start
from ironbird.blocks.environment.gravity import GravityUniform
from ironbird.compiler import cache, model_cache, native
from ironbird.compiler.describe import description_of
from ironbird.errors import CacheWarning, CompileError, ModelError

TEXT = '#include <stdint.h>\n__attribute__((visibility("default"))) int64_t ib_answer(void) { return 42; }\n'
OTHER = TEXT.replace("42", "43")
VEHICLE = "rover_differential"


def small() -> Diagram:
    """A model that takes no time, of blocks that are kept."""
    diagram = Diagram("small")
    diagram.add("gravity", GravityUniform(), acceleration=9.81)
    return diagram


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("IRONBIRD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(native, "_loaded", {})
    return tmp_path / "cache"


def answer(text: str = TEXT) -> int:
    return int(native.load(text, 1).ib_answer())


# ---------------------------------------------------------------------------------------------- libraries


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path, _: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        lambda path, _: path.write_bytes(b""),
        lambda path, _: path.write_bytes(b"not a library"),
        lambda path, _: path.write_bytes(path.read_bytes()[:-1]),
        lambda path, _: path.write_bytes(path.read_bytes()[:700] + b"\x55" + path.read_bytes()[701:]),
        lambda path, other: path.write_bytes(other.read_bytes()),  # whole, but of another text
    ],
)
def test_a_damaged_or_foreign_library_is_built_anew(folder: Path, spoil: Callable[[Path, Path], object]) -> None:
    path, other = native.build(TEXT, 1), native.build(OTHER, 1)
    good = path.read_bytes()
    spoil(path, other)
    with pytest.warns(CacheWarning, match=f"{path.name} in the cache is damaged .* built again"):
        assert answer() == 42
    assert path.read_bytes() == good
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answer() == 42


def test_a_library_is_used_though_its_file_is_cut_off_while_it_is_loaded(folder: Path) -> None:
    loaded = native.load(TEXT, 1)
    path = native.library_path(TEXT, 1)
    with path.open("r+b") as file:  # in place: a mapped file would end the process with SIGBUS
        file.truncate(100)
    assert loaded.ib_answer() == 42


def test_two_texts_never_share_a_library(folder: Path) -> None:
    """The loader knows libraries by name: a name that is used again would give the first one."""
    assert [answer(TEXT.replace("42", str(n))) for n in range(20, 24)] == [20, 21, 22, 23]
    assert native.load(TEXT, 1) is native.load(TEXT, 1)


def test_a_kernel_of_another_model_is_refused(folder: Path) -> None:
    diagram = Diagram("lag")
    diagram.export(diagram.add("lag", Lag()).u)
    library = compile_model(diagram).library(1)
    with pytest.raises(CompileError, match=r"the kernel has \[1, 0, 0, 1, 3, 1, 0\] rows .*, the model \[2, "):
        native.check_kernel(library, 1, {**compile_model(diagram).flat.sizes, "IB_NX": 2})
    with pytest.raises(CompileError, match="built for 1 lanes, not 8"):
        native.check_kernel(library, 8, compile_model(diagram).flat.sizes)
    with pytest.raises(CompileError, match="this is no kernel"):
        native.check_kernel(native.load(TEXT, 1), 1, {})


def test_what_a_killed_process_left_is_cleared_away(folder: Path) -> None:
    path = native.library_path(TEXT, 1)
    left = cache.make_folder(path.parent.name) / f"build-{path.stem}-abc"
    left.mkdir()
    (left / "model.c").write_text("int half(")
    (left.parent / f"build-{path.stem}-def").write_bytes(b"half a library")
    assert answer() == 42
    assert [entry.name for entry in path.parent.glob("build-*")] == []


def test_waiting_for_another_process_is_said_and_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "SAY_AFTER_S", 0.05)
    path = cache.make_folder("xy") / "key.lock"
    holding, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with cache.locked(path):
            holding.set()
            enough.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait(60)
    threading.Timer(0.4, enough.set).start()
    with pytest.warns(CacheWarning, match="waiting for another process that builds key"), cache.locked(path):
        thread.join()
    monkeypatch.setattr(cache, "GIVE_UP_S", 0.1)
    enough.clear()
    holding.clear()
    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        with pytest.raises(CompileError, match=r"has been building key for .* end it"), cache.locked(path):
            pass
    enough.set()
    thread.join()


def test_a_lock_does_not_follow_links(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    lock = cache.make_folder("xy") / "key.lock"
    lock.symlink_to(victim)
    with pytest.raises(CompileError, match="cannot write to the cache"), cache.locked(lock):
        pass
    assert victim.read_text() == "precious"


# ---------------------------------------------------------------------------------------------- owner and mode


def test_the_folder_is_made_for_its_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        native.build(TEXT, 1)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())} == {0o700}


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o707, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    says = rf"others can write to the cache folder .* \(mode {mode:o}\).*say 'chmod go-w .*set IRONBIRD_CACHE"
    with pytest.raises(CompileError, match=says):
        answer()
    with pytest.raises(CompileError, match=says):
        compile_model(small())
    folder.chmod(0o700)
    assert answer() == 42


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_folder_inside_that_others_can_write_to_is_refused(folder: Path, mode: int) -> None:
    assert answer() == 42
    inside = next(path for path in folder.iterdir() if path.is_dir())
    inside.chmod(mode)
    with pytest.raises(CompileError, match=rf"others can write to the cache folder {inside} \(mode {mode:o}\)"):
        cache.make_folder(inside.name)


def test_a_cache_in_a_folder_of_others_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("IRONBIRD_CACHE", str(shared / "cache"))
    assert cache.make_folder().is_dir()
    shared.chmod(0o777)
    with pytest.raises(CompileError, match=rf"lies in {shared}, to which others can write \(mode 777\)"):
        cache.make_folder()
    shared.chmod(0o1777)  # like /tmp: others cannot replace what is ours
    assert cache.make_folder().is_dir()
    if os.geteuid() == 0:
        os.chown(shared, 4321, -1)
        with pytest.raises(CompileError, match="belongs to another user"):
            cache.make_folder()


def test_a_folder_that_another_user_makes_first_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at a place where nothing is and the making of a folder there."""
    mkdir = Path.mkdir

    def made_by_another(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        mkdir(path, mode, parents, exist_ok)
        if path == folder:
            path.chmod(0o777)

    monkeypatch.setattr(Path, "mkdir", made_by_another)
    with pytest.raises(CompileError, match="others can write to the cache folder"):
        cache.make_folder("ab")


def test_links_that_lead_to_the_cache_are_followed_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, ours = tmp_path / "shared", tmp_path / "ours"
    for path in (shared, ours):
        path.mkdir()
    (ours / "link").symlink_to("../shared/below")
    monkeypatch.setenv("IRONBIRD_CACHE", str(ours / "link" / "cache"))
    (shared / "below").mkdir()
    assert cache.make_folder("ab") == ours / "link" / "cache" / "ab"
    shared.chmod(0o777)
    with pytest.raises(CompileError, match=rf"lies in {shared}, to which others can write"):
        cache.make_folder("ab")
    shared.chmod(0o755)
    (ours / "round").symlink_to("round")
    monkeypatch.setenv("IRONBIRD_CACHE", str(ours / "round" / "cache"))
    with pytest.raises(CompileError, match=r"cannot be looked at|cannot write to the cache"):
        cache.make_folder("ab")
    if os.geteuid() == 0:
        monkeypatch.setenv("IRONBIRD_CACHE", str(ours / "link" / "cache"))
        os.chown(ours / "link", 4321, -1, follow_symlinks=False)
        with pytest.raises(
            CompileError, match=rf"the link {ours}/link leads to .* belongs to another user .number 4321"
        ):
            cache.make_folder("ab")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_what_another_user_puts_into_a_sticky_folder_is_no_cache_of_root(
    public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root takes the cache of another user if it is told to, but not from where anybody can make one."""
    sticky, nobody = public / "sticky", 65534
    sticky.mkdir()
    sticky.chmod(0o1777)
    script = f"mkdir -p {sticky}/theirs/cache; ln -s {public} {sticky}/link"
    subprocess.run(["sh", "-c", script], user=nobody, group=nobody, extra_groups=[], check=True, timeout=60)
    for name in ("theirs", "theirs/cache", "theirs/cache/below", "link/cache"):
        monkeypatch.setenv("IRONBIRD_CACHE", str(sticky / name))
        with pytest.raises(
            CompileError, match=rf"belongs to another user \(number {nobody}\), who could run code as you"
        ):
            cache.make_folder("ab")
    monkeypatch.setenv("IRONBIRD_CACHE", str(sticky))
    with pytest.raises(CompileError, match="others can write to the cache folder"):
        cache.make_folder("ab")
    monkeypatch.setenv("IRONBIRD_CACHE", str(sticky / "ours"))
    assert stat.S_IMODE(cache.make_folder("ab").stat().st_mode) == 0o700


def test_a_folder_of_a_group_above_the_cache_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another group")
    monkeypatch.setenv("IRONBIRD_CACHE", str(tmp_path / "team" / "cache"))
    cache.make_folder("ab")
    os.chown(tmp_path / "team", -1, 4321)
    (tmp_path / "team").chmod(0o770)
    with pytest.raises(CompileError, match=r"lies in .*/team, to which others can write \(mode 770\)"):
        cache.make_folder("ab")


def test_a_folder_of_a_group_is_refused_unless_it_is_the_users_own(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another group")
    folder.mkdir()
    folder.chmod(0o770)
    os.chown(folder, -1, 4321)
    assert "others can write" in cache.problem_of(folder)
    os.chown(folder, -1, os.geteuid())
    assert cache.problem_of(folder) == ""


def test_a_file_in_the_place_of_the_folder_is_named(folder: Path) -> None:
    folder.write_text("")
    with pytest.raises(CompileError, match="is a file; remove it, or set IRONBIRD_CACHE"):
        answer()


LOAD = f"""
import os, sys
from ironbird.compiler import native
from ironbird.errors import CompileError
os.setgroups([])
os.setresgid(*[int(sys.argv[1])] * 3)
os.setresuid(*[int(sys.argv[1])] * 3)
try:
    print(native.load({TEXT!r}, 1).ib_answer())
except CompileError as error:
    print("refused:", error)
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can look into; pytest's own is closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
def test_whose_cache_is_used_by_whom(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = 61001, 61002
    theirs, roots = public / "theirs", public / "roots"
    theirs.mkdir(mode=0o755)
    os.chown(theirs, one, one)
    monkeypatch.setenv("IRONBIRD_CACHE", str(roots))
    monkeypatch.setenv("IRONBIRD_CC", "gcc")  # which every user can run
    native.compiler_version.cache_clear()
    native.build(TEXT, 1)  # by root
    for path in (roots, *roots.iterdir()):
        path.chmod(0o755)  # a shared cache that others read

    def tried(uid: int, folder: Path) -> str:
        variables = {"IRONBIRD_CACHE": str(folder), "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": "/tmp"}
        command = [sys.executable, "-W", "always", "-c", LOAD, str(uid)]
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert tried(one, roots) == "42\n"  # read-only, of root
    assert tried(one, theirs) == "42\n"  # his own
    said = tried(other, theirs)
    assert said.startswith("refused: the cache folder") and f"another user (number {one})" in said
    assert "set IRONBIRD_CACHE" in said
    monkeypatch.setenv("IRONBIRD_CACHE", str(theirs))  # root in a container, on a folder of the user outside
    monkeypatch.setattr(native, "_loaded", {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answer() == 42
        assert answer(OTHER) == 43  # built by root, used by the user
    assert tried(one, theirs) == "42\n"
    monkeypatch.delenv("IRONBIRD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(public))  # not named: root does not take a folder of another user
    theirs.rename(public / "ironbird")
    with pytest.raises(CompileError, match=f"belongs to another user .number {one}"):
        native.load(TEXT, 1)
    # One file of another user in a folder of ours
    ours = public / "ours"
    monkeypatch.setenv("IRONBIRD_CACHE", str(ours))
    planted = native.build(TEXT, 1)
    os.chown(planted, other, other)
    with pytest.warns(CacheWarning, match=rf"belongs to another user \(number {other}\)"):
        native.build(TEXT, 1)
    assert planted.stat().st_uid == 0
    monkeypatch.delenv("IRONBIRD_CC")
    native.compiler_version.cache_clear()


# ---------------------------------------------------------------------------------------------- models


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (self.path,)


def kept(folder: Path) -> Path:
    (entry,) = (folder / "models").glob("*.model")
    return entry


def test_a_kept_model_is_plain_text_and_computes_the_same(folder: Path) -> None:
    diagram = load_vehicle(VEHICLE, control="truth").diagram
    first, second = compile_model(diagram), compile_model(load_vehicle(VEHICLE, control="truth").diagram)
    data = kept(folder).read_bytes()
    head, _, text = data[: -cache.SEAL].partition(b"\n")
    source = first.source
    assert json.loads(head) == {
        "format": model_cache.FORMAT, "operations": source.operations, "slack": source.slack
    }  # fmt: skip
    assert text.decode() == first.source.text == second.source.text
    assert "functions" not in vars(second.flat)  # nothing was translated
    assert first.flat.sizes == second.flat.sizes and first.model_hash == second.model_hash
    np.testing.assert_array_equal(first.flat.values, second.flat.values)
    np.testing.assert_array_equal(first.flat.initial_x, second.flat.initial_x)
    assert second.signals() == first.signals() and second.flat.initial_of == first.flat.initial_of
    # What needs the equations has them made from the diagram
    np.testing.assert_array_equal(linearize(first).A, linearize(second).A)
    assert [group.targets for group in first.flat.groups] == [group.targets for group in second.flat.groups]


@pytest.mark.parametrize(
    "what", ["bomb", "sealed bomb", "cut", "changed", "other key", "old format", "no JSON", "list"]
)
def test_an_entry_that_is_not_a_models_is_never_trusted(folder: Path, tmp_path: Path, what: str) -> None:
    diagram = small()
    good = compile_model(diagram)
    entry = kept(folder)
    data = entry.read_bytes()
    sprung = tmp_path / "sprung"
    bomb = pickle.dumps(Bomb(sprung))
    text = good.source.text.encode()
    if what == "bomb":
        entry.write_bytes(bomb)
        entry.with_suffix(".pickle").write_bytes(bomb)
    elif what == "sealed bomb":
        cache.write_entry(entry, bomb)
    elif what == "cut":
        entry.write_bytes(data[: len(data) // 2])
    elif what == "changed":
        entry.write_bytes(data.replace(b"IB_NX 0", b"IB_NX 7"))
    elif what == "other key":
        cache.write_entry(entry.with_name("0" * 64 + ".model"), data[: -cache.SEAL])
        os.replace(entry.with_name("0" * 64 + ".model"), entry)
    elif what == "old format":
        cache.write_entry(entry, b'{"format": 0, "operations": {}}\n' + text)
    elif what == "no JSON":
        cache.write_entry(entry, b"\xff\xfe\n" + text)
    else:
        cache.write_entry(entry, b"[1]\n" + text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        again = compile_model(diagram)
    assert again.source == good.source and not sprung.exists()
    assert kept(folder).read_bytes() == data  # written anew, and nothing of an earlier version is left


def test_nothing_that_reads_files_or_a_cache_unpickles() -> None:
    root = Path(native.__file__).parents[1]
    found = [
        str(path)
        for path in root.rglob("*.py")
        if "pickle.load" in path.read_text() or "import pickle" in path.read_text()
    ]
    assert found == []


def test_a_diagram_changed_after_it_was_compiled_does_not_change_the_model(folder: Path) -> None:
    compile_model(load_vehicle(VEHICLE, control="truth").diagram)
    diagram = load_vehicle(VEHICLE, control="truth").diagram
    model = compile_model(diagram)
    reference = linearize(compile_model(load_vehicle(VEHICLE, control="truth").diagram)).A
    diagram.stops.clear()
    diagram.set("body.mass", 77.0)
    np.testing.assert_array_equal(linearize(model).A, reference)
    other = compile_model(load_vehicle(VEHICLE, control="truth").diagram)
    next(iter(other.flat.diagram.blocks.values())).sample_s = 0.5
    with pytest.raises(ModelError, match="changed after the diagram was compiled; compile it again"):
        linearize(other)


KEY = f"""
from ironbird import load_vehicle
from ironbird.compiler.describe import description_of
PAIRS = (("quad_f450", "truth"), ("{VEHICLE}", "reference"))
print(*[description_of(load_vehicle(v, control=c).diagram) for v, c in PAIRS])
"""


def test_the_key_of_a_diagram_is_the_same_in_every_process() -> None:
    keys = {
        subprocess.run(
            [sys.executable, "-c", KEY],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in (1, 4711)
    }  # fmt: skip
    assert len(keys) == 1 and len(set(keys.pop().split())) == 2


def test_every_change_of_a_diagram_changes_its_key() -> None:
    def fresh() -> Diagram:
        return load_vehicle(VEHICLE, control="truth").diagram

    keys = {description_of(fresh()), description_of(fresh())}
    assert len(keys) == 1
    changes: list[Callable[[Diagram], object]] = [
        lambda d: d.set("body.mass", float(np.nextafter(d.value("body.mass")[0], 100.0))),
        lambda d: d.stops.popitem(),
        lambda d: d.links.popitem(),
        lambda d: setattr(d, "name", "other"),
        lambda d: setattr(next(iter(d.blocks.values())), "offset_s", 1e-3),
        lambda d: next(iter(d.blocks.values())).signals.popitem(),
    ]
    for change in changes:
        diagram = fresh()
        change(diagram)
        keys.add(description_of(diagram))
    assert len(keys) == 1 + len(changes)
    diagram = fresh()
    next(iter(diagram.blocks.values())).extra = lambda: 1  # type: ignore[attr-defined]
    assert description_of(diagram) is None
    nested: list[object] = []
    nested.append(nested)
    assert description_of(nested) is None
    assert description_of(1) != description_of(1.0) != description_of(True)
    assert description_of(np.zeros(3)) != description_of(np.zeros(3, np.float32))


def _model(folder: str) -> str:
    os.environ["IRONBIRD_CACHE"] = folder
    warnings.simplefilter("error")
    state = start(compile_model(small()))
    advance(state, 20)
    return hashlib.sha256(repr(state.tick).encode() + state.params.tobytes()).hexdigest()


def test_processes_that_keep_a_model_at_once_agree(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert len(set(pool.map(_model, [str(tmp_path / "c")] * 4))) == 1


def test_opening_a_kept_model_is_fast(folder: Path) -> None:
    diagram = load_vehicle("quad_f450", control="truth").diagram
    compile_model(diagram)
    begin = time.process_time()
    compile_model(diagram)
    assert time.process_time() - begin < 0.2  # 0.01 s on a quiet machine; translating takes a second
