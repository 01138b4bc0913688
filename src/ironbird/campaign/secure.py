"""Encryption of network connections: to a Dask cluster and to a PostgreSQL store.

Dask sends Python objects that run code when they are read, so anyone who reaches a scheduler without TLS may run
programs as its user [DaskTls]. `tls://HOST:PORT` encrypts, and both sides show a certificate of the same authority. For
PostgreSQL encryption and certificate are required by the parameters of its URL [PostgresTls].
"""

from __future__ import annotations

import ipaddress
import os
import ssl
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import sqlalchemy as sa

from ironbird.errors import RunError, SecurityWarning

CERTIFICATES = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}  # in an address: Dask's names
ENCRYPTED = ("require", "verify-ca", "verify-full")  # of sslmode
TLS_TROUBLE = ("certificate", "does not support ssl", "sslmode", "alert unknown ca", "alert handshake failure")


def is_local(host: str | None) -> bool:
    """Whether a host is this computer; a socket in a folder is."""
    if not host or host == "localhost" or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


# ---------------------------------------------------------------------- Dask


def dask_client(address: str, timeout: str) -> Any:
    """A client of a Dask scheduler: `tcp://HOST:PORT`, or `tls://HOST:PORT?ca=FILE&cert=FILE&key=FILE`.

    Certificates that the address does not name are those of Dask's own configuration (`distributed.comm.tls`).
    """
    from distributed import Client
    from distributed.security import Security

    place, _, _ = address.partition("?")
    files = _certificates(address)
    scheme, host = _scheme_and_host(place)
    if scheme not in ("tls", "wss") and not is_local(host):
        warnings.warn(
            f"the Dask scheduler {place} is on another computer and the connection is not encrypted: whoever can reach "
            "or change it can run programs as its user; use tls:// (SECURITY.md)",
            SecurityWarning,
            stacklevel=2,
        )
    security: Any = Security(require_encryption=True, **files) if scheme == "tls" else None  # type: ignore[no-untyped-call]
    if security is not None and not (security.tls_ca_file and security.tls_client_cert):
        raise RunError(
            f"{place} needs certificates: give tls://HOST:PORT?ca=FILE&cert=FILE&key=FILE, or set "
            "distributed.comm.tls in Dask's configuration"
        )
    try:
        return Client(place, timeout=timeout, security=security)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        why = _tls_reason(error)
        if why:
            raise RunError(f"Dask scheduler {place} is not trusted, or does not trust this computer: {why}") from error
        raise RunError(f"no Dask scheduler answers at {place}: {error}") from error


def _certificates(address: str) -> dict[str, str]:
    """Certificate files that an address names, by Dask's names for them."""
    place, _, query = address.partition("?")
    files: dict[str, str] = {}
    for key, file in parse_qsl(query, keep_blank_values=True):
        if key not in CERTIFICATES:
            raise RunError(f"'{key}' is no part of a Dask address; known: {', '.join(CERTIFICATES)}")
        if not place.startswith("tls://"):
            raise RunError(f"certificates go with tls://, not with {place}")
        if not Path(file).expanduser().is_file():
            raise RunError(f"the Dask certificate file '{file}' ({key}) does not exist")
        files[CERTIFICATES[key]] = str(Path(file).expanduser())
    return files


def _scheme_and_host(place: str) -> tuple[str, str | None]:
    if "://" not in place:
        place = f"tcp://{place}"
    try:
        parsed = urlsplit(place)
        return parsed.scheme, parsed.hostname or ("localhost" if parsed.scheme == "inproc" else None)
    except ValueError as error:
        raise RunError(f"'{place}' is no address of a Dask scheduler: {error}") from None


def _tls_reason(error: BaseException | None) -> str:
    """The message of TLS, if that is the cause of an error; else empty."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate was not issued by the authority of this campaign ({error.verify_message})"
        if isinstance(error, ssl.SSLError):
            return str(error.reason or error)
        error = error.__cause__ or error.__context__
    return ""


# ---------------------------------------------------------------------- PostgreSQL


def look_at_store(url: sa.URL, environment: Mapping[str, str] = os.environ) -> None:
    """Warn if a store is on another computer and its connection need not be encrypted."""
    if url.get_backend_name() != "postgresql":
        return

    def given(key: str, variable: str) -> str:
        value = url.query.get(key)
        return (value if isinstance(value, str) else ",".join(value or ())) or environment.get(variable, "")

    hosts = url.host or given("host", "PGHOST") or given("hostaddr", "PGHOSTADDR")
    mode = given("sslmode", "PGSSLMODE") or "prefer"
    if mode not in ENCRYPTED and not all(is_local(host) for host in hosts.split(",")):
        warnings.warn(
            f"the store on {hosts} is on another computer and sslmode={mode} lets it be read and forged on the way; "
            "add ?sslmode=verify-full&sslrootcert=FILE to its URL (SECURITY.md)",
            SecurityWarning,
            stacklevel=3,
        )


def is_tls_trouble(text: str) -> bool:
    """Whether a database's answer means that the two sides do not trust each other: retrying does not help."""
    return any(word in text.lower() for word in TLS_TROUBLE)
