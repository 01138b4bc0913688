"""Finds code of src/ that nothing uses: names that stand nowhere again, and modules that nothing of src/ imports.

    python tools/unused_code.py [--no-tests]

A name counts as used if it stands once more as a word anywhere: in Python, C, templates, TOML, JavaScript or a guide.
So a name that is also an English word escapes. With --no-tests, tests are no use: what is found then is an interface
for users, or belongs to the tests. tests/system/test_unused_code.py says what may stay. The exit code is 0 if nothing
is found, else 1.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
GENERATED = ROOT / "docs" / "reference"  # pages that list names
EXCEPTIONS = "test_unused_code.py"  # names what may stay, which is no use
SUFFIXES = {".py", ".c", ".h", ".j2", ".toml", ".js", ".md", ".css", ".ipynb"}
USERS = ("src", "tools", "docs", "bench", "examples", "fuzz", "README.md", "pyproject.toml")
WORD = re.compile(r"[A-Za-z_]\w*")
MODULE = re.compile(r"ironbird(?:\.\w+)+")
NO_REGISTRY = {  # decorators after which a function is called by its name
    "property", "cached_property", "setter", "staticmethod", "classmethod", "abstractmethod", "overload", "cache",
    "lru_cache", "contextmanager", "dataclass",
}  # fmt: skip
Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _words(places: tuple[str, ...]) -> Counter[str]:
    """How often each word stands in the files of these places."""
    found: Counter[str] = Counter()
    for place in (ROOT / name for name in places):
        for path in place.rglob("*") if place.is_dir() else [place] * place.exists():
            if path.suffix in SUFFIXES and GENERATED not in path.parents and path.name != EXCEPTIONS:
                found.update(WORD.findall(path.read_text()))
    return found


def _definitions(text: str) -> Iterator[tuple[str, ...]]:
    """Names of functions, classes and methods anywhere, and of constants, those of one line together."""
    tree = ast.parse(text)
    composed = tuple(re.findall(r'getattr\(\w+, f"(\w+)\{', text))  # names of methods that begin so are put together
    for node in ast.walk(tree):
        if isinstance(node, Defined) and not _registered(node) and not node.name.startswith(composed):
            yield (node.name,)
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            names = (node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and _stored(node))
            if found := tuple(name for name in names if not name.startswith("__")):
                yield found


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _registered(node: Defined) -> bool:
    """Whether it is called by other means than its name: by Python itself, or by what its decorator does with it."""
    decorators = [set(WORD.findall(ast.unparse(decorator))) for decorator in node.decorator_list]
    return node.name.startswith("__") or any(not words & NO_REGISTRY for words in decorators)


def unused_names(tests: bool = True) -> list[str]:
    """Definitions of src/ as `PATH NAME` whose names stand nowhere else, `tests` among the places or not."""
    words = _words((*USERS, "tests") if tests else USERS)
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        definitions = list(_definitions(path.read_text()))
        times = Counter(name for names in definitions for name in names)
        for names in definitions:
            if all(words[name] <= times[name] for name in names):  # a row of numbers is one fact
                found += [f"{path.relative_to(SOURCE / 'ironbird')} {name}" for name in names]
    return found


def _named(module: str, path: Path) -> Iterator[str]:
    """Modules that a file imports, or names as a text: whole, or those beside it in a table of parts."""
    folder = module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield from MODULE.findall(node.value)
            yield from (f"{folder}.{word}" for word in WORD.findall(node.value))


def unused_modules() -> list[str]:
    """Modules of src/ that no other file of it imports or names."""
    paths = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
    named = set(MODULE.findall((ROOT / "pyproject.toml").read_text()))
    for module, path in paths.items():
        named |= {name for name in _named(module, path) if name != module}
    return sorted(name for name in paths if name not in named and not name.endswith(("__init__", "__main__")))


def main() -> int:
    """Print what is found."""
    found = unused_names(tests="--no-tests" not in sys.argv)
    found += [f"{module}: nothing of src imports it" for module in unused_modules()]
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
