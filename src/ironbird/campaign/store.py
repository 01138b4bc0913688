"""The store of campaigns: SQLite by default, PostgreSQL by URL; traces as Parquet files next to it.

A flight is a row that exists from the start of its campaign; its result is written once, in the transaction of its
batch. So an interrupted campaign knows what is left, and no flight is judged twice. Tables are kept up to
date by the migrations in `campaign/migrations`; a new store gets the present tables.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError

from ironbird.campaign.case import FlightCase
from ironbird.campaign.flown_files import vehicle_texts
from ironbird.campaign.identity import files_of, ironbird_version, software
from ironbird.campaign.places import check_name
from ironbird.campaign.result import FlightResult
from ironbird.campaign.secure import is_tls_trouble, look_at_store
from ironbird.campaign.stored import is_trace_name, read_campaign, read_case, read_result
from ironbird.errors import StoreError, StoreWarning, UnknownNameError
from ironbird.flight.words import VERDICTS

DEFAULT_FOLDER = Path("out") / "campaigns"
PATIENCE_S = 60.0  # s to wait for a database that does not answer
OPENING_S = 5.0  # the same when it is opened: it may be about to start
FULL_BYTES = 1_000_000  # a disk with less is full
HEAD = "0003"  # the newest migration
_VERSION = sa.text("SELECT version_num FROM alembic_version")
MANY = 500  # numbers in one query
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
    sa.Column("software", sa.String(64)),  # hash of the code it was begun with; NULL if that was not noted
    sa.Column("files", sa.Text),  # vehicle files with hashes, as JSON {vehicle: {file: hash}}
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
    sa.Column("ironbird", sa.String(40)),  # version that flew it; NULL if it was not noted
    sa.Column("software", sa.String(64)),  # hash of its code
    sa.Column("wall_s", sa.Float),  # its share of the wall time of its batch; NULL if it was not noted
    sa.UniqueConstraint("campaign_id", "flight_id"),
    sa.Index("flight_by_verdict", "campaign_id", "verdict"),
)


@dataclass(frozen=True)
class Campaign:
    """One campaign of a store: name, title, version, files and digest."""

    id: int
    name: str
    title: str
    created: str
    ironbird: str
    source: dict[str, str]  # the suite's files by name, and each vehicle as it was flown (`flown_files.VEHICLE`)
    digest: str
    software: str | None = None  # hash of the code it was begun with; None if that was not noted
    files: dict[str, dict[str, str]] = field(default_factory=dict)  # of each vehicle, with hashes


@dataclass(frozen=True)
class OpenFlight:
    """A flight that is not judged yet."""

    number: int
    case: FlightCase
    digest: str  # of its definition when the campaign was made


@dataclass(frozen=True)
class StoredFlight:
    """One flight of a store: its definition, result, and the version that flew it."""

    case: FlightCase
    digest: str  # of its definition when the campaign was made
    result: FlightResult | None  # None until judged
    ironbird: str | None  # version that flew it, if it was noted
    software: str | None


def default_url() -> str:
    """URL of the default store: an SQLite file in the present folder."""
    return f"sqlite:///{DEFAULT_FOLDER / 'ironbird.db'}"


def store_address(url: str | None = None) -> tuple[str, sa.URL]:
    """The address of a store with its driver, as text and parsed; nothing is opened."""
    address = url or default_url()
    if address.startswith("postgresql://"):
        address = address.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        parsed = sa.make_url(address)
    except sa.exc.ArgumentError:
        raise StoreError(f"'{url}' is not a database URL; give sqlite:///FILE or postgresql://USER@HOST/NAME") from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise StoreError(f"'{parsed.get_backend_name()}' is no kind of store; use sqlite or postgresql")
    return address, parsed


class Store:
    """Campaigns in a database. `ib.campaign` and `ib.open_campaign` need none of it.

    Parameters
    ----------
    url : str, optional
        `sqlite:///FILE` or `postgresql://USER@HOST/NAME`; a file in `out/campaigns` by default.

    Raises
    ------
    StoreError
        If the database cannot be opened.

    Examples
    --------
    >>> ib.Store("sqlite:///tests.db").names()  # doctest: +SKIP
    ['monday', 'tuesday']
    """

    def __init__(self, url: str | None = None) -> None:
        self.url, parsed = store_address(url)
        self.sqlite = parsed.get_backend_name() == "sqlite"
        look_at_store(parsed)
        self.file = Path(parsed.database) if self.sqlite and parsed.database else None
        self.read_only = ""  # why nothing can be written, if so
        if self.file is not None:
            _make_file(self.file)
            _warn_of_others(self.file)
        self.engine: Engine = sa.create_engine(parsed, pool_pre_ping=True)
        if self.sqlite:
            sa.event.listen(self.engine, "connect", _careful_sqlite)
            sa.event.listen(self.engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        try:
            self.patiently(_migrate, OPENING_S)
        except StoreError as error:
            if not self._open_read_only(str(error)):
                raise

    def _open_read_only(self, why: str) -> bool:
        """Try to open the store for reading only (full disk, no permission); no file is created."""
        if self.file is None or not self.file.is_file() or not self.file.stat().st_size:
            return False
        log = Path(f"{self.file}-wal")
        ways = ["mode=rw"]  # alone, with the index of the log in memory: no file is made
        if not log.exists() or not log.stat().st_size:
            ways.append("mode=ro&immutable=1")
        before = self.engine
        before.dispose()
        for way in ways:
            place = f"file:{quote(str(self.file.absolute()))}?{way}"
            self.engine = sa.create_engine(f"sqlite:///{place}&uri=true", poolclass=sa.pool.StaticPool)
            sa.event.listen(self.engine, "connect", _reading_sqlite)
            try:
                with self.engine.connect() as connection:
                    version = connection.execute(_VERSION).scalar()
            except DBAPIError:
                version = None
            if version == HEAD:
                self.read_only = why
                return True
            self.engine.dispose()
        self.engine = before
        return False

    @property
    def folder(self) -> Path:
        """Folder of the traces and reports of this store."""
        return self.file.parent if self.file is not None else DEFAULT_FOLDER

    def trace_folder(self, name: str) -> Path:
        """Folder of a campaign's traces."""
        check_name(name)
        return self.folder / name / "traces"

    def trace_path(self, campaign: Campaign, result: FlightResult) -> Path | None:
        """The file of a flight's trace, if one exists; a name that leads out of the folder is refused."""
        if result.trace is None:
            return None
        if not is_trace_name(result.trace):
            raise StoreError(
                f"campaign '{campaign.name}', flight '{result.id}': {result.trace!r} is no name of a trace; "
                "the store was changed by another program: restore it from a backup"
            )
        path = self.trace_folder(campaign.name) / result.trace
        return path if path.is_file() else None

    def close(self) -> None:
        """Close all connections to the database."""
        self.engine.dispose()

    def patiently(self, work: Callable[[Connection], Result], patience_s: float | None = None) -> Result:
        """Call `work` in one transaction; retried while the database is temporarily unavailable."""
        deadline = time.monotonic() + (PATIENCE_S if patience_s is None else patience_s)
        while True:
            try:
                with self.engine.begin() as connection:
                    return work(connection)
            except DBAPIError as error:
                lost = self._lost(error)
                if not lost or time.monotonic() > deadline:
                    raise StoreError(self._words(error, lost)) from error
                self.engine.dispose()
                time.sleep(0.2)
            except MemoryError:
                raise StoreError(
                    f"out of memory while the store {self._place()} was used; nothing of this step is stored: close "
                    "other programs or take fewer workers, then continue with 'ironbird campaign resume'"
                ) from None

    def _place(self) -> str:
        return sa.make_url(self.url).render_as_string(hide_password=True)

    def _words(self, error: DBAPIError, lost: bool) -> str:
        """The error message for a database error, with its cure."""
        reason = str(error.orig).strip().splitlines()[0]
        message = f"the store {self._place()} {'does not answer' if lost else 'refuses'}: {reason}"
        if not self.sqlite:
            full = "No space left" in str(error.orig)
            return message + ("; free space on the server, then 'ironbird campaign resume'" if full else "")
        if self.read_only and "readonly" in reason:
            return f"the store {self._place()} can only be read: {self.read_only}"
        if "is full" in reason or ("disk I/O error" in reason and self._disk_is_full()):
            return (
                f"{message}: the disk is full. Nothing of this step is stored; free some space, then continue with "
                "'ironbird campaign resume'"
            )
        if "disk I/O error" in reason:
            return (
                f"{message}: the disk cannot be written or read. Nothing of this step is stored; look into the "
                "system's log, repair the disk or copy the store, then continue with 'ironbird campaign resume'"
            )
        if "readonly" in reason or "unable to open" in reason:
            return f"{message}; see to the rights of the file and its folder, or give another place with --store"
        if "malformed" in reason or "not a database" in reason:
            return f"{message}; restore it from a backup, or give another file with --store"
        return message

    def _disk_is_full(self) -> bool:
        try:
            return shutil.disk_usage(self.folder).free < FULL_BYTES
        except OSError:
            return False

    def _lost(self, error: DBAPIError) -> bool:
        """Whether a retry may help: another process writes, or the server is away or starting."""
        text = str(error.orig)
        if self.sqlite:
            return "locked" in text
        refused = "FATAL" in text and "the database system" not in text and "terminating connection" not in text
        refused |= is_tls_trouble(text)
        return (isinstance(error, OperationalError) or error.connection_invalidated) and not refused

    # ------------------------------------------------------------------ campaigns

    def create(
        self,
        name: str,
        title: str,
        source: dict[str, str],
        cases: Sequence[FlightCase] | Callable[[], Sequence[FlightCase]],
        named: Callable[[], None] | None = None,
    ) -> Campaign:
        """Create a campaign with all its flights, none of them flown.

        `named` is called once, as soon as the name belongs to this campaign and before its flights are written: work
        that need not wait for the writing begins there. So is `cases`, if it is a function, after that. If they are not
        called, or an error follows, there is no campaign.
        """
        check_name(name)
        begin = [named] if named is not None else []
        if not callable(cases):
            _look_at_flights(cases)
        checked: list[Sequence[FlightCase]] = []
        row = {
            "name": name, "title": title, "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "ironbird": ironbird_version(), "source": "{}", "digest": "", "software": software(), "files": "{}",
        }  # fmt: skip

        def work(connection: Connection) -> Campaign:
            if connection.execute(sa.select(campaigns.c.id).where(campaigns.c.name == name)).first():
                raise StoreError(f"there is a campaign '{name}' already; resume it, or choose another name")
            number = connection.execute(campaigns.insert().values(**row).returning(campaigns.c.id)).scalar_one()
            while begin:  # another attempt does not begin it again
                begin.pop()()
            if not checked:
                checked.append(_look_at_flights(cases() if callable(cases) else cases))
            whole = checked[0]
            shared: dict[object, Any] = {}
            digests = [case.digest(shared) for case in whole]
            sources, files = {**source, **vehicle_texts(whole)}, files_of(whole)
            digest = hashlib.sha256("".join(digests).encode()).hexdigest()
            known = {"source": json.dumps(sources), "digest": digest, "files": json.dumps(files)}
            connection.execute(campaigns.update().where(campaigns.c.id == number).values(**known))
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
                    for i, case in enumerate(whole)
                ],
            )
            return Campaign(
                number, name, title, row["created"], row["ironbird"], sources, digest, row["software"], files
            )

        return self.patiently(work)

    def campaign(self, name: str) -> Campaign:
        """The campaign with this name; raises UnknownNameError."""

        def work(connection: Connection) -> Campaign | list[str]:
            row = connection.execute(sa.select(campaigns).where(campaigns.c.name == name)).mappings().first()
            if row is None:
                names = connection.execute(sa.select(campaigns.c.name)).scalars()
                return [other for other in names if isinstance(other, str)]  # a damaged store has rows without names
            return Campaign(**read_campaign(dict(row)))

        result = self.patiently(work)
        if isinstance(result, list):
            raise UnknownNameError(
                "campaign", name, result, f"the store {self._place()}", "ironbird campaign list --all"
            )
        return result

    def names(self) -> list[str]:
        """Names of all campaigns, oldest first."""
        query = sa.select(campaigns.c.name).order_by(campaigns.c.id)
        return self.patiently(lambda connection: list(connection.execute(query).scalars()))

    def delete(self, name: str) -> None:
        """Delete a campaign from the database; `deletion.delete_campaign` deletes its files too."""
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
        counts = {verdict or "open": count for verdict, count in self.patiently(lambda c: c.execute(query).all())}
        return {name: counts.get(name, 0) for name in (*VERDICTS, "open")}

    def open_flights(self, campaign: Campaign, cases: Sequence[FlightCase] | None = None) -> list[OpenFlight]:
        """Flights that are not judged yet; `cases` of a campaign just created need not be read again."""
        if cases is not None:
            known = sa.select(flights.c.number, flights.c.flight_id, flights.c.digest).where(
                flights.c.campaign_id == campaign.id, flights.c.verdict.is_(None)
            )
            known_rows = self.patiently(lambda connection: connection.execute(known.order_by(flights.c.number)).all())
            if any(cases[number].id != flight_id for number, flight_id, _ in known_rows):
                raise StoreError(f"campaign '{campaign.name}' was made of other flights: pass its own cases, or none")
            return [OpenFlight(number, cases[number], digest) for number, _, digest in known_rows]
        query = (
            sa.select(flights.c.number, flights.c.flight_id, flights.c.digest, flights.c.definition)
            .where(flights.c.campaign_id == campaign.id, flights.c.verdict.is_(None))
            .order_by(flights.c.number)
        )
        rows = self.patiently(lambda connection: connection.execute(query).all())
        return [
            OpenFlight(number, read_case(campaign.name, flight_id, text), digest)
            for number, flight_id, digest, text in rows
        ]

    def open_cases(self, campaign: Campaign) -> list[tuple[int, FlightCase]]:
        """Flights that are not judged yet, with their numbers."""
        return [(flight.number, flight.case) for flight in self.open_flights(campaign)]

    def case(self, campaign: Campaign, flight_id: str) -> FlightCase:
        """The definition of one flight, by its id."""
        return self.flight(campaign, flight_id).case

    def flight(self, campaign: Campaign, flight_id: str) -> StoredFlight:
        """One flight: its definition and result."""
        query = sa.select(flights).where(flights.c.campaign_id == campaign.id, flights.c.flight_id == flight_id)
        row = self.patiently(lambda connection: connection.execute(query).mappings().first())
        if row is None:
            ids = sa.select(flights.c.flight_id).where(flights.c.campaign_id == campaign.id)
            known = self.patiently(lambda connection: list(connection.execute(ids).scalars()))
            raise UnknownNameError("flight", flight_id, known, f"campaign '{campaign.name}'")
        return StoredFlight(
            read_case(campaign.name, flight_id, row["definition"]),
            row["digest"],
            None if row["verdict"] is None else read_result(campaign.name, dict(row)),
            row["ironbird"],
            row["software"],
        )

    def digests(self, campaign: Campaign) -> dict[str, str]:
        """The digest of each flight's definition when the campaign was created, by flight."""
        query = sa.select(flights.c.flight_id, flights.c.digest).where(flights.c.campaign_id == campaign.id)
        return {flight_id: digest for flight_id, digest in self.patiently(lambda c: c.execute(query).all())}

    def cases(self, campaign: Campaign) -> Iterator[FlightCase]:
        """Yield the definitions of all flights, in order."""
        query = (
            sa.select(flights.c.flight_id, flights.c.definition)
            .where(flights.c.campaign_id == campaign.id)
            .order_by(flights.c.number)
        )
        rows = self.patiently(lambda connection: connection.execute(query).all())
        return (read_case(campaign.name, flight_id, text) for flight_id, text in rows)

    def write(self, campaign: Campaign, judged: Iterable[tuple[int, FlightResult]], wall_s: float | None = None) -> int:
        """Store the results of a batch in one transaction; returns their number. Flights judged before do not change.

        `wall_s` is the wall time of the batch, of which each flight gets an equal share.

        A result of another definition than the campaign's is refused, and the whole batch with it.
        """
        rows = []
        for number, result in judged:
            record = result.record()
            rows.append(
                {
                    "the_number": number,
                    "the_digest": result.digest,
                    "verdict": result.verdict,
                    "margin": _plain(result.margin),
                    "score": _plain(result.score),
                    "sha256": result.sha256,
                    "result": json.dumps(record),
                }
            )
        if not rows:
            return 0
        change = (
            flights.update()
            .where(
                flights.c.campaign_id == campaign.id,
                flights.c.number == sa.bindparam("the_number"),
                flights.c.digest == sa.bindparam("the_digest"),
                flights.c.verdict.is_(None),
            )
            .values(
                verdict=sa.bindparam("verdict"),
                margin=sa.bindparam("margin"),
                score=sa.bindparam("score"),
                sha256=sa.bindparam("sha256"),
                result=sa.bindparam("result"),
                ironbird=ironbird_version(),
                software=software(),
                wall_s=None if wall_s is None else wall_s / len(rows),
            )
        )

        def work(connection: Connection) -> int:
            count = connection.execute(change, rows).rowcount
            if count == len(rows):
                return count
            numbers = [row["the_number"] for row in rows]
            refused: list[str] = []
            for first in range(0, len(numbers), MANY):
                query = sa.select(flights.c.flight_id).where(
                    flights.c.campaign_id == campaign.id,
                    flights.c.number.in_(numbers[first : first + MANY]),
                    flights.c.verdict.is_(None),
                )
                refused += connection.execute(query).scalars()
            if refused:
                raise StoreError(
                    f"campaign '{campaign.name}': {len(refused)} flights were flown from another definition than was "
                    f"stored ({', '.join(refused[:3])}, …): a file that they use changed meanwhile. None of this batch "
                    "is stored; undo the change, then continue with 'ironbird campaign resume'"
                )
            return count

        return self.patiently(work)

    def results(self, campaign: Campaign) -> list[FlightResult]:
        """Results of all judged flights in the order of the plan."""
        return [read_result(campaign.name, row) for row in self._judged(campaign)]

    def _judged(self, campaign: Campaign) -> Sequence[Any]:
        columns = ("number", "flight_id", "digest", "verdict", "sha256", "result")
        query = (
            sa.select(*(flights.c[name] for name in columns))
            .where(flights.c.campaign_id == campaign.id, flights.c.verdict.is_not(None))
            .order_by(flights.c.number)
        )
        return self.patiently(lambda connection: connection.execute(query).mappings().all())

    def wall_times(self, campaign: Campaign) -> dict[str, float]:
        """Wall time in s of each judged flight of which it is known, by id: its share of its batch's."""
        query = sa.select(flights.c.flight_id, flights.c.wall_s).where(
            flights.c.campaign_id == campaign.id, flights.c.wall_s.is_not(None)
        )
        return {flight_id: wall_s for flight_id, wall_s in self.patiently(lambda c: c.execute(query).all())}

    def versions(self, campaign: Campaign) -> dict[tuple[str | None, str | None], int]:
        """Version and code of Ironbird that flew the judged flights, with the number of flights; None is unknown."""
        query = (
            sa.select(flights.c.ironbird, flights.c.software, sa.func.count())
            .where(flights.c.campaign_id == campaign.id, flights.c.verdict.is_not(None))
            .group_by(flights.c.ironbird, flights.c.software)
        )
        rows = self.patiently(lambda connection: connection.execute(query).all())
        return {(version, code): count for version, code, count in rows}

    def reopen_damaged(self, campaign: Campaign) -> list[str]:
        """Open the flights again whose stored result cannot be read; returns their ids."""
        damaged: dict[int, str] = {}
        for row in self._judged(campaign):
            try:
                read_result(campaign.name, row)
            except StoreError:
                damaged[row["number"]] = row["flight_id"]

        def work(connection: Connection) -> None:
            change = flights.update().where(
                flights.c.campaign_id == campaign.id, flights.c.number == sa.bindparam("the_number")
            )
            nothing = dict.fromkeys(
                ("verdict", "margin", "score", "sha256", "result", "ironbird", "software", "wall_s")
            )
            connection.execute(change.values(**nothing), [{"the_number": number} for number in damaged])

        if damaged:
            self.patiently(work)
        return list(damaged.values())


def _plain(value: float) -> float | None:
    """A number for a database column, which has no infinities: None in their place."""
    return value if abs(value) < 1e300 else None


def _careful_sqlite(connection: Any, _record: Any) -> None:
    """Configure SQLite to survive a kill and a power cut, and to let readers not block the writer.

    Transactions are begun by the engine: Python's driver would create tables outside of them.
    """
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.close()


def _reading_sqlite(connection: Any, _record: Any) -> None:
    """Configure SQLite for reading without creating a file for the index of the log, which needs disk space."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA locking_mode=EXCLUSIVE")
    cursor.execute("PRAGMA query_only=ON")
    cursor.close()


def _make_file(file: Path) -> None:
    """Create the file of a new store: folders synced to disk, writable by owner and group only."""
    try:
        new = [folder for folder in (file.parent, *file.parent.parents) if not folder.exists()]
        file.parent.mkdir(parents=True, exist_ok=True)
        for folder in new:
            _sync_folder(folder.parent)
    except OSError as error:
        raise StoreError(f"cannot make a folder for the store {file}: {error}") from None
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o664))
        _sync_folder(file.parent)
    except OSError:
        return  # it exists; or it cannot be created, which the database reports


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _warn_of_others(file: Path) -> None:
    """Warn if users other than owner and group can write a store, as they can change verdicts."""
    for path in (file, file.parent):
        try:
            status = path.stat()
        except OSError:
            continue
        sticky = path is not file and status.st_mode & stat.S_ISVTX
        if status.st_mode & stat.S_IWOTH and not sticky:
            warnings.warn(
                f"any user of this machine can change {path}, and with it verdicts: chmod o-w {path}",
                StoreWarning,
                stacklevel=4,
            )
        if path is file and status.st_uid not in (os.geteuid(), 0):
            warnings.warn(
                f"the store {path} belongs to another user (number {status.st_uid}), who can change its verdicts",
                StoreWarning,
                stacklevel=4,
            )


def _migrate(connection: Connection) -> None:
    """Migrate the tables to the present version; a new store gets the present tables."""
    tables = sa.inspect(connection).get_table_names()
    if not tables:
        metadata.create_all(connection)
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
        connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{HEAD}')")
        return
    if "alembic_version" in tables and connection.execute(_VERSION).scalars().all() == [HEAD]:
        return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _look_at_flights(cases: Sequence[FlightCase]) -> Sequence[FlightCase]:
    if not cases:
        raise StoreError("a campaign needs at least one flight; the suite gives none")
    return cases
