"""A campaign from its suite's name to its last flight: what `ironbird campaign run` and `ib.campaign` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ironbird.campaign.batch import TracePolicy, draw_over_cases
from ironbird.campaign.case import FlightCase
from ironbird.campaign.params import under_autopilots, with_params
from ironbird.campaign.places import known_stores, remember, url_of, usual_store
from ironbird.campaign.runner import Crew, Progress, begun_crew, run_campaign, start_campaign
from ironbird.campaign.store import DEFAULT_FOLDER, Campaign, Store
from ironbird.campaign.suite import Suite, load_suite
from ironbird.errors import UnknownNameError


@dataclass(frozen=True)
class Session:
    """A campaign that is stored, and whose first flights may be in the air."""

    store: Store
    campaign: Campaign
    crew: Crew
    policy: TracePolicy
    flights: Sequence[FlightCase]

    def run(self, progress: Callable[[Progress], None] | None = None) -> Progress:
        """Fly it to its end; Ctrl-C raises KeyboardInterrupt and keeps what is judged."""
        return run_campaign(
            self.store, self.campaign, policy=self.policy, progress=progress, cases=self.flights, crew=self.crew
        )


@contextmanager
def begun_campaign(
    suite: str | Path,
    *,
    name: str | None = None,
    tags: Sequence[str] = (),
    sample: int | None = None,
    param_files: Sequence[Path] = (),
    params: Sequence[str] = (),
    store: str | None = None,
    workers: int | None = None,
    dask: str | None = None,
    traces: str = "failing",
) -> Iterator[Session]:
    """Read a suite, choose its flights, store the campaign and begin to fly it; workers end with the context.

    Workers may be copies of this process: whoever calls it has no other store open, or has closed its connections.
    """
    with begun_crew(workers, dask, copied=True) as crew:
        loaded = load_suite(suite)
        chosen = chosen_flights(loaded, tags, sample, param_files, params)
        crew.look_at(loaded.samples() if chosen is None else chosen[:1])
        with closing(Store(store or usual_store())) as database:
            if name is None:
                name = f"{loaded.id}-{datetime.now():%Y%m%d-%H%M%S}"
            policy = TracePolicy.of(traces, str(database.trace_folder(name).absolute()))
            campaign, flights = start_campaign(database, crew, loaded, name, policy, chosen)
            if database.file is not None:
                remember(database.file)
            yield Session(database, campaign, crew, policy, flights)


def chosen_flights(
    suite: Suite,
    tags: Sequence[str] = (),
    sample: int | None = None,
    param_files: Sequence[Path] = (),
    params: Sequence[str] = (),
) -> list[FlightCase] | None:
    """The flights of a suite that have one of the tags (or case ids), of these a sample; None if it is all as it is."""
    if not (tags or sample is not None or param_files or params or under_autopilots(suite.samples(None))):
        return None
    chosen = suite.flights()
    if tags:
        known = {name for flight in chosen for name in (*flight.tags, flight.case_id)}
        for tag in tags:
            if tag not in known:
                raise UnknownNameError("tag", tag, known, suite.path.name)
        chosen = [flight for flight in chosen if {*flight.tags, flight.case_id} & set(tags)]
    if sample is not None and sample < len(chosen):
        chosen = draw_over_cases(chosen, sample)
    return with_params(chosen, param_files, params)


def store_with(name: str, url: str | None = None, elsewhere: Callable[[Path], None] | None = None) -> Store:
    """The store that has a campaign: the named or usual one, else the newest on this computer that has it.

    `elsewhere` is called with the folder of a store that is not the named or usual one.
    """
    chosen = url or usual_store()
    if chosen is None:
        here = DEFAULT_FOLDER / "ironbird.db"
        if here.is_file() and name in (usual := Store(None)).names():
            return usual
        for file in known_stores():
            if file != here.resolve() and name in (other := Store(url_of(file))).names():
                if elsewhere is not None:
                    elsewhere(file.parent)
                return other
    return Store(chosen)
