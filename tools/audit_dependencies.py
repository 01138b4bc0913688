"""Looks at the packages that Ironbird uses: pinned and hashed in the locks, consistent, installed as locked.

Known weaknesses need a service on the network: where the command `pip-audit` is installed it is asked as well
(`pipx install pip-audit`), and its answer is the exit code.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
EXTRAS = {  # lock file in locks/ -> extras that it holds
    "requirements.lock": ("dev", "autopilots", "campaigns", "cluster"),
    "requirements-clients.lock": ("clients",),
    "requirements-demo.lock": ("campaigns",),
}
SITE = "requirements-site.lock"  # of the dependency group 'site', without Ironbird
LOCKS = tuple(ROOT / "locks" / name for name in (*EXTRAS, SITE))
PARTS = ("requirements.lock", "requirements-demo.lock")  # the second is a part of the first; both bring pip


@dataclass(frozen=True)
class Locked:
    """One package of a lock file."""

    name: str
    version: str
    marker: Marker | None
    hashes: tuple[str, ...]  # SHA-256 of its files

    @property
    def wanted_here(self) -> bool:
        """Whether this Python on this system needs it."""
        return self.marker is None or self.marker.evaluate()


def read_lock(path: Path) -> tuple[list[Locked], list[str]]:
    """The packages of a lock file, and lines that are not pinned with a hash."""
    packages, wrong = [], []
    text = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE))
    for line in filter(None, map(str.strip, text.splitlines())):
        requirement, *options = line.split(" --hash=")
        found = re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[[\w,-]+\])?==([^\s;]+)\s*(?:;\s*(.+))?", requirement.strip())
        hashes = [option.strip().removeprefix("sha256:") for option in options]
        if found is None or not hashes or not all(re.fullmatch("[0-9a-f]{64}", digest) for digest in hashes):
            wrong.append(f"{path.name}: '{requirement.strip()}' is not pinned to a version with SHA-256 hashes")
            continue
        marker = Marker(found[3]) if found[3] else None
        packages.append(Locked(canonicalize_name(found[1]), found[2], marker, tuple(sorted(hashes))))
    return packages, wrong


def of_locks() -> list[str]:
    """What is wrong with the lock files: not pinned, not hashed, not what pyproject.toml asks for."""
    problems: list[str] = []
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = pyproject["project"], pyproject["dependency-groups"]
    building = (ROOT / "tools" / "build-requirements.in").read_text().splitlines()
    for path in LOCKS:
        asked = [*groups["site"]] if path.name == SITE else [*project["dependencies"]]
        asked += [text for extra in EXTRAS.get(path.name, ()) for text in project["optional-dependencies"][extra]]
        if path.name in PARTS:
            asked += [line.partition("#")[0].strip() for line in building]
        packages, wrong = read_lock(path)
        problems += wrong
        versions = {package.name: package.version for package in packages}
        for requirement in map(Requirement, asked):
            if requirement.name == project["name"]:
                continue  # its extras are in the list
            name = canonicalize_name(requirement.name)
            if name not in versions:
                problems.append(f"{path.name}: {name} is missing; run `make lock`")
            elif not requirement.specifier.contains(versions[name], prereleases=True):
                problems.append(f"{path.name}: {name} {versions[name]} is not {requirement.specifier}; run `make lock`")
    return problems


def of_environment() -> list[str]:
    """What is wrong with what is installed: another version than locked, or for another Python."""
    problems: list[str] = []
    for package in read_lock(LOCKS[0])[0]:
        if not package.wanted_here:
            continue
        try:
            installed = metadata.distribution(package.name)
        except metadata.PackageNotFoundError:
            problems.append(f"{package.name} {package.version} is locked and not installed; run `make setup`")
            continue
        if installed.version != package.version:
            problems.append(f"{package.name} is {installed.version}, locked is {package.version}; run `make setup`")
        python = (installed.metadata.get_all("Requires-Python") or [""])[0]
        if python and not SpecifierSet(python).contains(".".join(map(str, sys.version_info[:3]))):
            problems.append(f"{package.name} {installed.version} is not for this Python ({python})")
    return problems


def of_pip_check() -> list[str]:
    """What pip finds missing or of another version than a package asks for."""
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    return [f"pip check: {line}" for line in done.stdout.splitlines()] if done.returncode else []


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    problems = of_locks() + of_environment() + of_pip_check()
    print("\n".join(problems) or "all packages are pinned, hashed, consistent and installed as locked")
    audit = shutil.which("pip-audit")
    if audit is None:
        print("known weaknesses: not looked for, pip-audit is not installed")
        return bool(problems)
    code = 0
    for path in LOCKS:
        code |= subprocess.run([audit, "--strict", "--require-hashes", "--disable-pip", "-r", str(path)]).returncode
    return int(bool(problems) or bool(code))


if __name__ == "__main__":
    sys.exit(main())
