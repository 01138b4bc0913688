"""Commands about evidence packs: pack a campaign, verify a pack, fly it again from its own files."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.campaign import (
    RequirementsOption,
    check_campaign,
    check_table,
    flight_bar,
    store_with,
    warn_of_covers,
)
from ironbird.cli.options import NameArgument, OutOption, SampleOption, StoreOption, WorkersOption
from ironbird.cli.output import errors, print_sentence, print_table
from ironbird.errors import StoreError
from ironbird.files.work import working

PackArgument = Annotated[Path, typer.Argument(help="An evidence.zip, or the folder into which it was unpacked.")]
SignerOption = Annotated[
    Path | None, typer.Option(metavar="KEY.pub", help="Refuse the pack unless the owner of this SSH key signed it.")
]


def pack(
    name: NameArgument,
    requirements: RequirementsOption = None,
    fmea: Annotated[Path | None, typer.Option(help="CSV with id, text, tags: failure modes of an FMEA.")] = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Sign the pack with this private SSH key, by ssh-keygen.")
    ] = None,
    store: StoreOption = None,
    out: OutOption = None,
) -> None:
    """Pack inputs, versions, hashes, results and the requirement-to-case-to-result trace into one zip file.

    The pack holds every file that was flown and repeats on any machine: 'ironbird evidence repeat evidence.zip'. Where
    an earlier pack is, the new one is evidence-2.zip, …; --out replaces the file that it names.
    """
    from ironbird.campaign.signature import check_key

    with errors():
        if sign is not None:
            check_key(sign)
        check_table("--requirements", requirements)
        check_table("--fmea", fmea)
        check_campaign(store, name)
    from ironbird.campaign.coverage import read_table, trace_table
    from ironbird.flight.words import VERDICTS
    from ironbird.report.evidence import write_evidence

    with errors():
        database = store_with(store, name)
        campaign = database.campaign(name)
        cases, results = list(database.cases(campaign)), database.results(campaign)
        tables = [
            trace_table(read_table(path), cases, results, by_tag=path is fmea) if path else []
            for path in (requirements, fmea)
        ]
        if requirements is not None:
            warn_of_covers(requirements, cases)
        path = out or _new_file(database.folder / name / "evidence.zip")
        if missing := len(cases) - len(results):
            said = f"{missing} of {len(cases)} flights are not flown yet: this evidence is not complete"
            typer.secho(f"warning: {said}", fg="red", err=True)
        with working(f"packing {path.name}"):
            sums = write_evidence(database, campaign, path, requirements=tables[0], fmea=tables[1], key=sign)
        for title, table in zip(("requirements", "failure modes"), tables, strict=True):
            if table:
                met = sum(row.status == "pass" for row in table)
                others: dict[str, list[str]] = {}
                for row in table:
                    if row.status != "pass":
                        why = "without a case" if not row.cases else row.status.replace("open", "not all flown")
                        others.setdefault(why, []).append(row.id)
                rest = "".join(f"; {status}: {', '.join(ids)}" for status, ids in others.items())
                typer.echo(f"{title}: {met} of {len(table)} met{rest}")
        verdicts = Counter(result.verdict for result in results)
    text = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS if verdicts[verdict]) or "none"
    figures = {"verdicts": dict(verdicts), "files": len(sums), "signed": sign is not None, "path": str(path)}
    print_sentence(
        f"flights: {text}\n{len(sums)} files{', signed' if sign else ''}: {path}", f"Evidence of {name}", figures
    )


def _new_file(path: Path) -> Path:
    """The path, or with a number if there is a file already: an earlier pack, which may be signed, is kept."""
    return next(
        name
        for number in itertools.count(1)
        if not (name := path if number == 1 else path.with_stem(f"{path.stem}-{number}")).exists()
    )


def _check_pack(path: Path) -> None:
    """Refuse what is no evidence pack at all, before anything is loaded."""
    import zipfile

    cure = "give the evidence.zip of 'ironbird evidence pack', or the folder into which it was unpacked"
    if path.is_dir():
        if not (path / "SHA256SUMS").is_file():
            raise StoreError(f"{path} is no evidence pack: there is no SHA256SUMS in this folder; {cure}")
    elif not path.exists():
        raise StoreError(f"{path} is no evidence pack: there is no such file; {cure}")
    elif not zipfile.is_zipfile(path):
        raise StoreError(f"{path} is no evidence pack: it is no zip file; {cure}")
    else:
        with zipfile.ZipFile(path) as content:
            if "SHA256SUMS" not in content.namelist():
                raise StoreError(f"{path} is no evidence pack: there is no SHA256SUMS in it; {cure}")


def verify(pack: PackArgument, signer: SignerOption = None) -> None:
    """Check an evidence pack without flying: every file against its hash, the list of hashes against the signature.

    Exit code 2 if a file was changed, is missing, or the signature does not fit.
    """
    with errors():
        _check_pack(pack)
    from ironbird.campaign.pack import open_pack
    from ironbird.report.evidence import check_tables

    with errors(), open_pack(pack, signer) as content:
        note = check_tables(content)
        verdicts = Counter(result.verdict for result in content.results)
        rows = {
            "files": "all as they were packed",
            "signature": f"by the owner of {signer}" if content.signed else "not checked: name a key by --signer",
            "flights": f"{len(content.cases)}, of which {len(content.results)} have a result",
            "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) or "none",
            "flown by": f"Ironbird {content.versions.get('ironbird', '?')}",
        }
        if note:
            rows["tables"] = note
        figures = {"flights": len(content.cases), "verdicts": dict(verdicts), "signed": content.signed}
        print_table(rows, f"Evidence {pack.name}", figures)


def repeat_pack(
    pack: PackArgument,
    signer: SignerOption = None,
    sample: SampleOption = None,
    workers: WorkersOption = None,
    out: OutOption = None,
) -> None:
    """Check an evidence pack and fly it again from its own files. Exit code 1 if a flight comes out otherwise.

    The same if flights of the pack have no result. Every file is compared with its hash, and the list of hashes
    against the signature if a signer is named. Flights under an autopilot outside repeat to the bit in virtual time
    (option time); others of them are left out.
    """
    with errors():
        _check_pack(pack)
    from ironbird.campaign.identity import ironbird_version
    from ironbird.campaign.pack import open_pack, repeat
    from ironbird.report.evidence import check_tables

    with errors():
        with open_pack(pack, signer) as content:
            note = check_tables(content)
        with flight_bar(pack.name) as update:
            found = repeat(
                pack, out or Path("out/repeated"), signer=signer, sample=sample, workers=workers, progress=update
            )
    for text in found.differing:
        typer.secho(f"NOT equal: {text}", fg="red")
    rows = {
        "files": "all as they were" + (f", signed by {signer}" if found.signed else "; the signature was not checked"),
        "flown again": str(found.flown),
        "verdicts that are equal": f"{found.same_verdicts} of {found.flown}",
        "equal, bit for bit": f"{found.same} of {found.flown}",
    }
    if note:
        rows["tables"] = note
    if found.of_suite is None:
        rows["of the suite"] = "not compared: the pack has no suite that can be expanded"
    else:
        rows["of the suite"] = f"{found.flown + found.outside + found.left_out + found.unjudged} of {found.of_suite}"
    if found.outside:
        rows["left out"] = f"{found.outside} under a control system that does not repeat to the bit"
    if found.left_out:
        rows["left out of the sample"] = str(found.left_out)
    if found.unjudged:
        rows["without a result"] = f"{found.unjudged}: the campaign was not flown to its end"
    if found.other_programs:
        rows["programs"] = f"not those of the pack: {', '.join(found.other_programs)}"
    if found.version != ironbird_version() or found.other_code:
        same = " with other code" if found.version == ironbird_version() else ""
        rows["version"] = f"the pack was flown by {found.version}, this is {ironbird_version()}{same}"
    figures = {
        "flown": found.flown, "same": found.same, "same_verdicts": found.same_verdicts,
        "differing": found.differing, "outside": found.outside,
        "left_out": found.left_out, "unjudged": found.unjudged, "signed": found.signed,
    }  # fmt: skip
    print_table(rows, f"Repeated from {pack.name}", figures)
    if not found.flown:
        typer.secho("nothing was flown: nothing is shown", fg="red", err=True)
    raise typer.Exit(0 if found.flown and not found.differing and not found.unjudged else 1)
