"""Command that deletes a campaign."""

from __future__ import annotations

from typing import Annotated

import typer

from ironbird.cli.campaign import print_campaigns, store_with
from ironbird.cli.options import NameArgument, StoreOption
from ironbird.cli.output import errors, print_table


def delete(
    name: NameArgument,
    store: StoreOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a campaign with its flights, verdicts, traces and reports; asks first. Lists what remains.

    A campaign that is being flown is refused. Packs of evidence and files of your own in its folder stay, and so do
    reports that were written into other folders (--out).
    """
    with errors():
        database = store_with(store, name)
        from ironbird.campaign.deletion import belongings, delete_campaign

        campaign = database.campaign(name)
        there = belongings(database, campaign)
        what = f"{there.flights} flights and {there.files} files ({there.size / 1e6:.1f} MB) in {there.folder}"
        if not yes and not typer.confirm(f"Delete campaign {name}: {what}?", err=True):
            typer.echo("nothing was deleted", err=True)
            raise typer.Exit(1)
        gone = delete_campaign(database, campaign)
        rows = {
            "flights": str(gone.flights),
            "files": f"{gone.files}, {gone.size / 1e6:.1f} MB",
            **({"kept": ", ".join(gone.kept)} if gone.kept else {}),
            "folder": str(gone.folder),
        }
        figures = {"flights": gone.flights, "files": gone.files, "bytes": gone.size, "kept": gone.kept}
        print_table(rows, f"deleted campaign {name}", figures)
        print_campaigns(database, "Campaigns that remain")
