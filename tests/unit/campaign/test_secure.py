"""Connections that others can read or forge are warned of; those on this computer are not."""

from __future__ import annotations

import warnings

import pytest
import sqlalchemy as sa

from ironbird.campaign import secure
from ironbird.campaign.secure import dask_client, is_local, is_tls_trouble, look_at_store
from ironbird.errors import RunError, SecurityWarning


@pytest.mark.parametrize("host", [None, "", "localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]", "/run/postgresql"])
def test_what_stays_on_this_computer(host: str | None) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "db", "db.example.org", "localhost.example.org", "0.0.0.0", "fe80::1"])
def test_what_does_not(host: str) -> None:
    assert not is_local(host)


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        ("postgresql+psycopg://me@db/x", {}),
        ("postgresql+psycopg://me@db/x?sslmode=prefer", {}),
        ("postgresql+psycopg://me@db/x?sslmode=disable", {"PGSSLMODE": "verify-full"}),
        ("postgresql+psycopg:///x?host=db", {}),
        ("postgresql+psycopg:///x?host=localhost&host=db", {}),
        ("postgresql+psycopg:///x", {"PGHOST": "db"}),
        ("postgresql+psycopg:///x", {"PGHOST": "db", "PGSSLMODE": "allow"}),
    ],
)
def test_a_store_elsewhere_without_encryption_is_warned_of(url: str, environment: dict[str, str]) -> None:
    with pytest.warns(SecurityWarning, match="sslmode=verify-full"):
        look_at_store(sa.make_url(url), environment)


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        ("sqlite:///out/x.db", {}),
        ("postgresql+psycopg://me@127.0.0.1/x", {}),
        ("postgresql+psycopg:///x?host=/run/postgresql", {}),
        ("postgresql+psycopg:///x", {}),
        ("postgresql+psycopg://me@db/x?sslmode=require", {}),
        ("postgresql+psycopg://me@db/x?sslmode=verify-full&sslrootcert=ca.pem", {}),
        ("postgresql+psycopg://me@db/x", {"PGSSLMODE": "verify-ca"}),
    ],
)
def test_others_are_not(url: str, environment: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look_at_store(sa.make_url(url), environment)


@pytest.mark.parametrize(
    "address", ["tcp://192.0.2.1:8786", "192.0.2.1:8786", "tcp://cluster.example.org:1", "ws://h:1"]
)
def test_a_scheduler_elsewhere_without_encryption_is_warned_of(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.Client", lambda place, **_: place)
    with pytest.warns(SecurityWarning, match="use tls://"):
        assert dask_client(address, "1s") == address


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "localhost:8786", "tcp://[::1]:8786"])
def test_one_on_this_computer_is_not(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.Client", lambda place, **_: place)
    assert dask_client(address, "1s") == address


def test_certificates_go_with_tls_only() -> None:
    with pytest.raises(RunError, match="certificates go with tls://"):
        dask_client("tcp://127.0.0.1:1?ca=x", "1s")
    with pytest.raises(RunError, match="no address of a Dask scheduler"):
        dask_client("tcp://[::1:1", "1s")


def test_certificates_of_dasks_configuration_are_taken(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask.config

    given: dict[str, object] = {}
    monkeypatch.setattr("distributed.Client", lambda place, **how: given.update(how))
    tls = {"ca-file": "ca.pem", "client.cert": "me.pem", "client.key": "me.key"}
    with dask.config.set({f"distributed.comm.tls.{key}": value for key, value in tls.items()}):
        dask_client("tls://cluster.example.org:8786", "1s")
    assert getattr(given["security"], "tls_client_cert") == "me.pem"  # noqa: B009


def test_a_server_that_went_away_is_no_trouble_with_tls() -> None:
    assert is_tls_trouble("SSL error: certificate verify failed") and is_tls_trouble("server does not support SSL")
    for text in (
        "SSL SYSCALL error: EOF detected",
        "SSL connection has been closed unexpectedly",
        "Connection refused",
    ):
        assert not is_tls_trouble(text)
    assert secure.TLS_TROUBLE
