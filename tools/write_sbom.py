"""Writes sbom.json: the software bill of materials, as CycloneDX 1.6 [CycloneDX], from locks/requirements.lock.

Versions and hashes are those of the lock; licences and who needs whom are those of the installed packages. Libraries in
C that wheels carry inside them (LLVM in ziglang, solvers in casadi, OpenSSL and libpq in psycopg-binary) are not listed
one by one: their wheels are. Equal inputs give equal bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tomllib
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from audit_dependencies import LOCKS, ROOT, Locked, read_lock

OUT = ROOT / "sbom.json"
Json = dict[str, Any]


def requirements_of(name: str) -> set[str]:
    """What an installed package needs here, by name."""
    try:
        told = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return set()
    found: set[str] = set()
    for text in told:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found.add(canonicalize_name(requirement.name))
    return found


def licences_of(name: str) -> list[Json]:
    """As a package states them: an expression, or a name; empty if it states none or is not installed here."""
    try:
        told = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return []
    if "License-Expression" in told:
        return [{"expression": told["License-Expression"]}]
    classified = [
        text.split(" :: ")[-1]
        for text in told.get_all("Classifier") or []
        if text.startswith("License :: OSI Approved ::")
    ]
    if classified:
        return [{"license": {"name": text}} for text in classified]
    short = (told.get_all("License") or [""])[0].strip().splitlines()
    return [{"license": {"name": short[0][:100]}}] if short and short[0] != "UNKNOWN" else []


def purl(name: str, version: str) -> str:
    """Package URL [PackageUrl]."""
    return f"pkg:pypi/{name}@{version}"


def component(package: Locked, needed: set[str]) -> Json:
    """One package; those that only tests and builds use are `optional`."""
    made: Json = {
        "type": "library",
        "bom-ref": purl(package.name, package.version),
        "name": package.name,
        "version": package.version,
        "scope": "required" if package.name in needed else "optional",
        "purl": purl(package.name, package.version),
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],  # of each of its files
    }
    if licences := licences_of(package.name):
        made["licenses"] = licences
    if package.marker is not None:
        made["properties"] = [{"name": "ironbird:only-if", "value": str(package.marker)}]
    return made


def closure(names: set[str]) -> set[str]:
    """Packages, those that they need, and so on."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names |= requirements_of(name)
    return found


def bill() -> Json:
    """The whole of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages, wrong = read_lock(LOCKS[0])
    if wrong:
        raise SystemExit("\n".join(wrong))
    refs = {package.name: purl(package.name, package.version) for package in packages}
    direct: set[str] = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    direct |= {"psycopg-binary"} & set(refs)  # of the extra of psycopg
    needed = closure(set(direct))
    own = purl(project["name"], project["version"])
    digest = hashlib.sha256(LOCKS[0].read_bytes()).hexdigest()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, own + digest)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": own,
            },
            "properties": [{"name": "ironbird:requirements.lock-sha256", "value": digest}],
        },
        "components": [component(package, needed) for package in packages],
        "dependencies": [
            {"ref": own, "dependsOn": sorted(refs[name] for name in direct if name in refs)},
            *(
                {
                    "ref": refs[name],
                    "dependsOn": sorted(refs[other] for other in requirements_of(name) if other in refs),
                }
                for name in refs
            ),
        ],
    }


def problems(made: Json) -> list[str]:
    """What a bill lacks of the rules of CycloneDX 1.6 that this program can break [CycloneDX]."""
    wrong = []
    if (made.get("bomFormat"), made.get("specVersion"), made.get("version")) != ("CycloneDX", "1.6", 1):
        wrong.append("head: bomFormat, specVersion or version")
    if not re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(made.get("serialNumber"))):
        wrong.append("serialNumber is no URN of a UUID")
    whole = [made["metadata"]["component"], *made["components"]]
    refs = [part["bom-ref"] for part in whole]
    if len(refs) != len(set(refs)):
        wrong.append("a bom-ref stands twice")
    known = {
        "type", "bom-ref", "name", "version", "description", "scope", "purl", "hashes", "licenses", "properties",
    }  # fmt: skip
    for part in whole:
        name = part.get("name")
        if not name or part.get("type") not in ("library", "application") or set(part) - known:
            wrong.append(f"{name}: type, name or a key that is none")
        if not re.fullmatch(r"pkg:pypi/[a-z0-9.-]+@[\w.!+-]+", str(part.get("purl"))):
            wrong.append(f"{name}: purl")
        for digest in part.get("hashes", []):
            if digest["alg"] != "SHA-256" or not re.fullmatch("[0-9a-f]{64}", digest["content"]):
                wrong.append(f"{name}: hash")
        licences = part.get("licenses", [])
        if any("expression" in one for one in licences) and len(licences) != 1:
            wrong.append(f"{name}: an expression stands alone")
        if not all(set(one) in ({"expression"}, {"license"}) for one in licences):
            wrong.append(f"{name}: licence")
    for edge in made["dependencies"]:
        if edge["ref"] not in refs or not set(edge["dependsOn"]) <= set(refs):
            wrong.append(f"dependencies: {edge['ref']} leads to what is not listed")
        if len(edge["dependsOn"]) != len(set(edge["dependsOn"])):
            wrong.append(f"dependencies: {edge['ref']} needs something twice")
    return wrong


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    out: Path = parser.parse_args().out
    made = bill()
    if wrong := problems(made):
        raise SystemExit("\n".join(wrong))
    out.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
