"""The store of campaigns: SQLite by default, PostgreSQL by URL; traces as Parquet files beside it.

A flight is a row that exists from the start of its campaign; its result is written once, in the transaction of its
batch. So an interrupted campaign knows what is left, and no flight is judged twice. Tables are made and kept up to
date by the migrations in `campaign/migrations`.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError

from ironbird.campaign.case import FlightCase
from ironbird.campaign.flown_files import vehicle_texts
from ironbird.campaign.result import FlightResult
from ironbird.campaign.secure import is_tls_trouble, look_at_store
from ironbird.errors import StoreError, UnknownNameError
from ironbird.flight.judge import VERDICTS

DEFAULT_FOLDER = Path("out") / "campaigns"
PATIENCE_S = 60.0  # how long a lost database is waited for
OPENING_S = 5.0  # the same when it is opened: it may be about to start
Result = TypeVar("Result")

metadata = sa.MetaData()
campaigns = sa.Table(
    "campaign",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False, unique=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("created", sa.String(40), nullable=False),
    sa.Column("ironbird", sa.String(40), nullable=False),
    sa.Column("source", sa.Text, nullable=False),  # text of the suite's files, as JSON {name: text}
    sa.Column("digest", sa.String(64), nullable=False),  # of all flights' definitions
)
flights = sa.Table(
    "flight",
    metadata,
    sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("flight_id", sa.String(300), nullable=False),
    sa.Column("case_id", sa.String(200), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("definition", sa.Text, nullable=False),
    sa.Column("verdict", sa.String(8)),  # NULL until judged
    sa.Column("margin", sa.Float),
    sa.Column("score", sa.Float),
    sa.Column("sha256", sa.String(64)),
    sa.Column("result", sa.Text),
    sa.UniqueConstraint("campaign_id", "flight_id"),
    sa.Index("flight_by_verdict", "campaign_id", "verdict"),
)


@dataclass(frozen=True)
class Campaign:
    """One campaign as stored."""

    id: int
    name: str
    title: str
    created: str
    ironbird: str
    source: dict[str, str]  # the suite's files by name, and each vehicle as it was flown (`flown_files.VEHICLE`)
    digest: str


def default_url() -> str:
    """The embedded store."""
    return f"sqlite:///{DEFAULT_FOLDER / 'ironbird.db'}"


class Store:
    """Campaigns in a database."""

    def __init__(self, url: str | None = None) -> None:
        self.url = url or default_url()
        if self.url.startswith("postgresql://"):
            self.url = self.url.replace("postgresql://", "postgresql+psycopg://", 1)
        try:
            parsed = sa.make_url(self.url)
        except sa.exc.ArgumentError:
            raise StoreError(
                f"'{url}' is not a database URL; give sqlite:///FILE or postgresql://USER@HOST/NAME"
            ) from None
        if parsed.get_backend_name() not in ("sqlite", "postgresql"):
            raise StoreError(f"'{parsed.get_backend_name()}' is no kind of store; use sqlite or postgresql")
        self.sqlite = parsed.get_backend_name() == "sqlite"
        look_at_store(parsed)
        if self.sqlite and parsed.database:
            try:
                Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"cannot make a folder for the store {parsed.database}: {error}") from None
        self.engine: Engine = sa.create_engine(parsed, pool_pre_ping=True)
        if self.sqlite:
            sa.event.listen(self.engine, "connect", _careful_sqlite)
            sa.event.listen(self.engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        self.patiently(_migrate, OPENING_S)

    @property
    def folder(self) -> Path:
        """Where traces and reports of this store go."""
        parsed = sa.make_url(self.url)
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            return Path(parsed.database).parent
        return DEFAULT_FOLDER

    def trace_folder(self, name: str) -> Path:
        """Where a campaign's traces are."""
        return self.folder / name / "traces"

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    def patiently(self, work: Callable[[Connection], Result], patience_s: float | None = None) -> Result:
        """Do something in one transaction; a database that went away is waited for."""
        deadline = time.monotonic() + (PATIENCE_S if patience_s is None else patience_s)
        while True:
            try:
                with self.engine.begin() as connection:
                    return work(connection)
            except DBAPIError as error:
                lost = self._lost(error)
                if not lost or time.monotonic() > deadline:
                    place = sa.make_url(self.url).render_as_string(hide_password=True)
                    reason = str(error.orig).strip().splitlines()[0]
                    raise StoreError(
                        f"the store {place} {'does not answer' if lost else 'refuses'}: {reason}"
                    ) from error
                self.engine.dispose()
                time.sleep(0.2)

    def _lost(self, error: DBAPIError) -> bool:
        """Whether it may be otherwise in a moment: another one writes, or the server is away or starting."""
        text = str(error.orig)
        if self.sqlite:
            return "locked" in text
        refused = "FATAL" in text and "the database system" not in text and "terminating connection" not in text
        refused |= is_tls_trouble(text)
        return (isinstance(error, OperationalError) or error.connection_invalidated) and not refused

    # ------------------------------------------------------------------ campaigns

    def create(self, name: str, title: str, source: dict[str, str], cases: Sequence[FlightCase]) -> Campaign:
        """A new campaign with all its flights, none of them flown."""
        if not re.fullmatch(r"[\w][\w.\-]{0,150}", name):
            raise StoreError(f"'{name}' is no name for a campaign: use letters, digits, '-', '_' and '.'")
        if not cases:
            raise StoreError("a campaign needs at least one flight; the suite gives none")
        digests = [case.digest() for case in cases]
        source = {**source, **vehicle_texts(cases)}
        digest = hashlib.sha256("".join(digests).encode()).hexdigest()
        row = {
            "name": name, "title": title, "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "ironbird": version("ironbird"), "source": json.dumps(source), "digest": digest,
        }  # fmt: skip

        def work(connection: Connection) -> Campaign:
            if connection.execute(sa.select(campaigns.c.id).where(campaigns.c.name == name)).first():
                raise StoreError(f"there is a campaign '{name}' already; resume it, or choose another name")
            number = connection.execute(campaigns.insert().values(**row).returning(campaigns.c.id)).scalar_one()
            connection.execute(
                flights.insert(),
                [
                    {
                        "campaign_id": number,
                        "number": i,
                        "flight_id": case.id,
                        "case_id": case.case_id,
                        "digest": digests[i],
                        "definition": json.dumps(case.record()),
                    }
                    for i, case in enumerate(cases)
                ],
            )
            return Campaign(number, name, title, row["created"], row["ironbird"], source, digest)

        return self.patiently(work)

    def campaign(self, name: str) -> Campaign:
        """A campaign by name."""

        def work(connection: Connection) -> Campaign | list[str]:
            row = connection.execute(sa.select(campaigns).where(campaigns.c.name == name)).mappings().first()
            if row is None:
                return list(connection.execute(sa.select(campaigns.c.name)).scalars())
            return Campaign(**{**row, "source": json.loads(row["source"])})

        found = self.patiently(work)
        if isinstance(found, list):
            raise UnknownNameError("campaign", name, found)
        return found

    def names(self) -> list[str]:
        """All campaigns, oldest first."""
        query = sa.select(campaigns.c.name).order_by(campaigns.c.id)
        return self.patiently(lambda connection: list(connection.execute(query).scalars()))

    def delete(self, name: str) -> None:
        """Forget a campaign; its traces stay on disk."""
        number = self.campaign(name).id

        def work(connection: Connection) -> None:
            connection.execute(flights.delete().where(flights.c.campaign_id == number))
            connection.execute(campaigns.delete().where(campaigns.c.id == number))

        self.patiently(work)

    # ------------------------------------------------------------------ flights

    def counts(self, campaign: Campaign) -> dict[str, int]:
        """Flights by verdict; `open` are those not judged yet."""
        query = (
            sa.select(flights.c.verdict, sa.func.count())
            .where(flights.c.campaign_id == campaign.id)
            .group_by(flights.c.verdict)
        )
        found = {verdict or "open": count for verdict, count in self.patiently(lambda c: c.execute(query).all())}
        return {name: found.get(name, 0) for name in (*VERDICTS, "open")}

    def open_cases(self, campaign: Campaign) -> list[tuple[int, FlightCase]]:
        """Flights that are not judged yet, with their numbers."""
        query = (
            sa.select(flights.c.number, flights.c.definition)
            .where(flights.c.campaign_id == campaign.id, flights.c.verdict.is_(None))
            .order_by(flights.c.number)
        )
        rows = self.patiently(lambda connection: connection.execute(query).all())
        return [(number, FlightCase.from_record(json.loads(text))) for number, text in rows]

    def case(self, campaign: Campaign, flight_id: str) -> FlightCase:
        """The definition of one flight."""
        query = sa.select(flights.c.definition).where(
            flights.c.campaign_id == campaign.id, flights.c.flight_id == flight_id
        )
        text = self.patiently(lambda connection: connection.execute(query).scalar())
        if text is None:
            ids = sa.select(flights.c.flight_id).where(flights.c.campaign_id == campaign.id)
            known = self.patiently(lambda connection: list(connection.execute(ids).scalars()))
            raise UnknownNameError("flight", flight_id, known, f"campaign '{campaign.name}'")
        return FlightCase.from_record(json.loads(text))

    def digests(self, campaign: Campaign) -> dict[str, str]:
        """The digest of each flight's definition as it was when the campaign was made, by flight."""
        query = sa.select(flights.c.flight_id, flights.c.digest).where(flights.c.campaign_id == campaign.id)
        return {flight_id: digest for flight_id, digest in self.patiently(lambda c: c.execute(query).all())}

    def cases(self, campaign: Campaign) -> Iterator[FlightCase]:
        """Definitions of all flights, in order."""
        query = sa.select(flights.c.definition).where(flights.c.campaign_id == campaign.id).order_by(flights.c.number)
        rows = self.patiently(lambda connection: connection.execute(query).scalars().all())
        return (FlightCase.from_record(json.loads(text)) for text in rows)

    def write(self, campaign: Campaign, judged: Iterable[tuple[int, FlightResult]]) -> int:
        """Store the results of a batch in one transaction; flights judged before are left as they are."""
        rows = []
        for number, result in judged:
            record = result.record()
            rows.append(
                {
                    "the_number": number,
                    "verdict": result.verdict,
                    "margin": _plain(result.margin),
                    "score": _plain(result.score),
                    "sha256": result.sha256,
                    "result": json.dumps(record),
                }
            )
        change = (
            flights.update()
            .where(
                flights.c.campaign_id == campaign.id,
                flights.c.number == sa.bindparam("the_number"),
                flights.c.verdict.is_(None),
            )
            .values(
                verdict=sa.bindparam("verdict"),
                margin=sa.bindparam("margin"),
                score=sa.bindparam("score"),
                sha256=sa.bindparam("sha256"),
                result=sa.bindparam("result"),
            )
        )
        return self.patiently(lambda connection: connection.execute(change, rows).rowcount) if rows else 0

    def results(self, campaign: Campaign) -> list[FlightResult]:
        """All judged flights in the order of the plan."""
        query = (
            sa.select(flights.c.result)
            .where(flights.c.campaign_id == campaign.id, flights.c.verdict.is_not(None))
            .order_by(flights.c.number)
        )
        rows = self.patiently(lambda connection: connection.execute(query).scalars().all())
        return [FlightResult.from_record(json.loads(text)) for text in rows]


def _plain(value: float) -> float | None:
    """A database column has no infinities; the full result has them."""
    return value if abs(value) < 1e300 else None


def _careful_sqlite(connection: Any, _record: Any) -> None:
    """Survives a kill and a power cut; a second reader does not block the writer.

    Transactions are begun by the engine: Python's driver would leave the making of tables outside of them.
    """
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.close()


def _migrate(connection: Connection) -> None:
    """Bring the tables up to date."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
