"""A cluster and a store over TLS: the right certificates work, others are refused with a sentence."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from postgres_server import USER, Postgres

from ironbird.campaign.runner import run_campaign
from ironbird.campaign.store import Store
from ironbird.campaign.suite import load_suite
from ironbird.errors import RunError, StoreError

SUITE = """schema = 1
title = "One flight"
[[case]]
id = "hover"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 1.0
ends = "time"
[[case.require]]
use = "no_crash"
"""


@dataclass(frozen=True)
class Authority:
    """Who signs, and what it signed: one certificate for this computer."""

    ca: Path
    cert: Path
    key: Path

    @property
    def query(self) -> str:
        """As part of a Dask address."""
        return f"?ca={self.ca}&cert={self.cert}&key={self.key}"


def openssl(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def authority(folder: Path) -> Authority:
    """A certificate authority of its own with one certificate, by the openssl command."""
    folder.mkdir()
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    mine = ["req", "-x509", *curve, "-days", "2", "-subj", "/CN=Test authority"]
    openssl(folder, *mine, "-keyout", "ca.key", "-out", "ca.pem")
    openssl(folder, "req", *curve, "-subj", "/CN=localhost", "-keyout", "me.key", "-out", "me.csr")
    (folder / "names").write_text("subjectAltName = DNS:localhost, IP:127.0.0.1\n")
    sign = ["x509", "-req", "-in", "me.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"]
    openssl(folder, *sign, "-extfile", "names", "-out", "me.pem")
    return Authority(folder / "ca.pem", folder / "me.pem", folder / "me.key")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is missing")
    return authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory, ours: Authority) -> Authority:
    """Another authority, with a certificate for the same names."""
    return authority(tmp_path_factory.mktemp("tls") / "theirs")


# ---------------------------------------------------------------------- Dask


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, ours: Authority) -> Iterator[str]:
    """A scheduler and a worker that speak TLS only."""
    folder = tmp_path_factory.mktemp("cluster")
    dask, file = [sys.executable, "-m", "dask"], folder / "scheduler.json"
    tls = ["--tls-ca-file", str(ours.ca), "--tls-cert", str(ours.cert), "--tls-key", str(ours.key)]
    common = ["--protocol", "tls", "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file), *tls]
    processes = []

    def start(*command: str) -> None:
        quiet = subprocess.DEVNULL
        processes.append(subprocess.Popen([*dask, *command], stdout=quiet, stderr=quiet, cwd=folder))

    try:
        start("scheduler", "--port", "0", *common)
        deadline = time.monotonic() + 60
        while not file.exists() or not file.read_text():
            assert processes[0].poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        start("worker", "--nthreads", "1", "--no-nanny", *common)
        yield str(json.loads(file.read_text())["address"])
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_campaign_is_flown_on_a_cluster_over_tls(cluster: str, ours: Authority, tmp_path: Path) -> None:
    from distributed import Client
    from distributed.security import Security

    assert cluster.startswith("tls://127.0.0.1:")
    keys = {"tls_ca_file": str(ours.ca), "tls_client_cert": str(ours.cert), "tls_client_key": str(ours.key)}
    security = Security(require_encryption=True, **keys)  # type: ignore[no-untyped-call]
    with Client(cluster, timeout="60s", security=security) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(1, timeout=60)
    (tmp_path / "suite.toml").write_text(SUITE)
    flights = load_suite(tmp_path / "suite.toml").flights()
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as store:
        state = run_campaign(store, store.create("tls", "", {}, flights), dask=cluster + ours.query)
        assert state.counts["pass"] == state.total == 1


@pytest.mark.parametrize(
    ("whose", "said"),
    [
        ("theirs", r"is not trusted, or does not trust this computer"),
        ("their ca", r"does not trust this computer: its certificate was not issued by"),
        ("none", "needs certificates"),
        ("a lost file", r"certificate file .*nowhere.pem' \(ca\) does not exist"),
        ("a slip", "'cacert' is no part of a Dask address; known: ca, cert, key"),
    ],
)
def test_wrong_certificates_are_refused_with_a_sentence(
    cluster: str, ours: Authority, theirs: Authority, tmp_path: Path, whose: str, said: str
) -> None:
    from ironbird.campaign.secure import dask_client

    query = {
        "theirs": theirs.query,
        "their ca": f"?ca={theirs.ca}&cert={ours.cert}&key={ours.key}",
        "none": "",
        "a lost file": f"?ca={tmp_path}/nowhere.pem",
        "a slip": "?cacert=x",
    }[whose]
    begin = time.monotonic()
    with pytest.raises(RunError, match=said):
        dask_client(cluster + query, "90s")
    assert time.monotonic() - begin < 60.0  # at once, not when the patience of 90 s is over


# ---------------------------------------------------------------------- PostgreSQL


@pytest.fixture(scope="module")
def server(postgres: Postgres, ours: Authority) -> Iterator[Postgres]:
    """The server of the tests, with a certificate."""
    for name, source in (("server.crt", ours.cert), ("server.key", ours.key)):
        copy = postgres.data / name
        shutil.copyfile(source, copy)
        copy.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(copy, pwd.getpwnam(USER).pw_uid, -1)
    settings = postgres.data / "postgresql.conf"
    before = settings.read_text()
    settings.write_text(before + "ssl = on\n")
    postgres._call("pg_ctl", "reload", "-D", str(postgres.data))
    yield postgres
    settings.write_text(before)
    postgres._call("pg_ctl", "reload", "-D", str(postgres.data))


def test_a_store_over_tls_is_encrypted_and_verified(server: Postgres, ours: Authority) -> None:
    url = f"{server.url('tls_right')}?sslmode=verify-full&sslrootcert={ours.ca}"
    with contextlib.closing(Store(url)) as store:
        assert store.names() == []
        with store.engine.connect() as connection:
            row = connection.execute(sa.text("SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")).one()
    assert row[0] is True and row[1].startswith("TLSv1.")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("sslmode=verify-full&sslrootcert={theirs}", "refuses: .*certificate verify failed"),
        ("sslmode=verify-full&sslrootcert=/nowhere/root.pem", "refuses: .*root certificate file .* does not exist"),
        ("sslmode=very-safe", "refuses: .*sslmode"),
    ],
)
def test_a_store_that_is_not_trusted_is_refused_at_once(
    server: Postgres, theirs: Authority, query: str, said: str
) -> None:
    url = f"{server.url('tls_wrong')}?{query.format(theirs=theirs.ca)}"
    with pytest.raises(StoreError, match=said):  # one that was waited for in vain "does not answer"
        Store(url)


def test_a_name_that_the_certificate_does_not_have_is_refused(server: Postgres, ours: Authority) -> None:
    url = server.url("tls_name").replace("127.0.0.1", "localhost.localdomain")
    with pytest.raises(StoreError, match="does not match host name"):
        Store(f"{url}?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={ours.ca}")
