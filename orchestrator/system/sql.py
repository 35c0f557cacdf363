"""SQL over PostgreSQL's protocol: one session and its rows. The only module that asks by psycopg.

PostgreSQL and YugabyteDB's YSQL both use the protocol. Statements are with each database; here are
the connection and the translation of errors. psycopg is imported with the first session: most
commands open none, and it takes longer to import than they to answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from orchestrator import errors, model
from orchestrator.keys.package_files import package_file, without_header
from orchestrator.system import sockets
from orchestrator.system.redaction import remember

if TYPE_CHECKING:
    import psycopg

Row = dict[str, Any]

# SQLSTATEs by their names in PostgreSQL's appendix of error codes.
NOT_PERMITTED = "42501"  # insufficient_privilege
OBJECT_IN_USE = "55006"  # object_in_use: others are connected to the database
STATEMENT_ENDED = "57014"  # query_canceled: by a timeout, or by another session
TRANSACTION_ENDED = "25P04"  # transaction_timeout: the server closes the session, too


@dataclass(frozen=True)
class Address:
    """The address of a server, from this machine."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    tls: model.Tls = model.TLS_IF_OFFERED
    # The host that its certificate must name, if it is reached under another name or address.
    certified_as: str | None = None
    # Seconds within which it must answer.
    connect_s: int = 10
    # The server ends a statement itself; one that is silent for so much longer is given up.
    grace_s: float = 30.0

    def __post_init__(self) -> None:
        remember(self.password)


def local(endpoint: model.Endpoint) -> Address:
    """Returns the endpoint's address from this machine."""
    certified_as = None
    if endpoint.host != endpoint.local_host:
        certified_as = endpoint.host
    return Address(
        host=endpoint.local_host,
        port=endpoint.local_port,
        user=endpoint.user,
        password=endpoint.password,
        database=endpoint.database,
        tls=endpoint.tls,
        certified_as=certified_as,
    )


def of_libpq(tls: model.Tls) -> dict[str, Any]:
    """The TLS settings as keywords of libpq. Its variables have the same names after PG."""
    options: dict[str, Any] = {"sslmode": tls.mode}
    if tls.mode == "off":
        options["sslmode"] = "disable"
    if tls.root:
        options["sslrootcert"] = tls.root
    if tls.certificate:
        options["sslcert"] = tls.certificate
    if tls.key:
        options["sslkey"] = tls.key
    return options


def keywords(address: Address) -> dict[str, Any]:
    """Where a session goes, and as whom, as keywords of libpq without the password."""
    return {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "dbname": address.database,
        **of_libpq(address.tls),
    }


def password_of_libpq(host: str, port: int, user: str, database: str) -> str:
    """PGPASSWORD, or that of the line for this server in ~/.pgpass, as libpq reads it; "" if there
    is none. Nothing is asked: `hostaddr` is no address, so libpq goes no further."""
    from psycopg import conninfo, pq

    at = conninfo.make_conninfo(
        host=host, hostaddr="none", port=port, user=user, dbname=database
    )
    begun = pq.PGconn.connect_start(at.encode())
    try:
        return (begun.password or b"").decode()
    finally:
        begun.finish()


def query(package: str, name: str, **words: object) -> str:
    """The query `sql/<name>.sql` of a package, with these words in its braces."""
    text = package_file(package, f"sql/{name}.sql")
    return without_header(text, "--").strip("\n").format(**words)


class Session(Protocol):
    def rows(self, sql: str) -> list[Row]:
        """Runs one statement; returns rows by column name. RunError with the server's message."""

    def copy(self, sql: str, text: str) -> None:
        """Runs `COPY … FROM STDIN` with `text`. RunError with the server's message."""


@runtime_checkable
class Identified(Session, Protocol):
    """A session whose server gave it the number of a process, by which a statement is cancelled."""

    def given_process_id(self) -> int: ...


Connect = Callable[[Address, float], AbstractContextManager[Session]]


class _Psycopg:
    def __init__(
        self, connection: psycopg.Connection[Row], address: Address, timeout_s: float
    ) -> None:
        self._connection = connection
        self._address = address
        self._timeout_s = timeout_s

    def rows(self, sql: str) -> list[Row]:
        with _given_up(self._connection, self._address, self._timeout_s):
            cursor = self._connection.execute(sql.encode())
            if cursor.description:
                return cursor.fetchall()
            return []

    def given_process_id(self) -> int:
        return self._connection.info.backend_pid

    def copy(self, sql: str, text: str) -> None:
        with (
            _given_up(self._connection, self._address, self._timeout_s),
            self._connection.cursor() as cursor,
            cursor.copy(sql.encode()) as rows,
        ):
            rows.write(text)


def batch(address: Address, statements: Sequence[str], timeout_s: float = 60.0) -> None:
    """Sends all together (pipeline mode) in a session of their own. RunError as `session`."""
    with (
        _connected(address, timeout_s) as connection,
        _given_up(connection, address, timeout_s),
        connection.pipeline(),
    ):
        for statement in statements:
            connection.execute(statement.encode())


@contextmanager
def session(address: Address, statement_timeout_s: float = 60.0) -> Iterator[Session]:
    """Opens a session in autocommit mode. RunError if the server cannot be reached, refuses a
    statement, takes longer than `statement_timeout_s` (0: no limit), or is silent."""
    with _connected(address, statement_timeout_s) as connection:
        yield _Psycopg(connection, address, statement_timeout_s)


@contextmanager
def _connected(
    address: Address, statement_timeout_s: float
) -> Iterator[psycopg.Connection[Row]]:
    import psycopg
    from psycopg.rows import dict_row

    peer = keywords(address)
    if address.certified_as and address.tls.mode == "verify-full":
        # libpq connects to `hostaddr`, and holds the certificate against `host`.
        peer |= {"host": address.certified_as, "hostaddr": address.host}
    with (
        _in_our_words(address),
        psycopg.connect(
            **peer,
            password=address.password,
            application_name="tierbench",
            connect_timeout=address.connect_s,
            options=f"-c statement_timeout={round(statement_timeout_s * 1000)}",
            autocommit=True,
            row_factory=dict_row,
            # A vanished server is an error within half a minute, as for the load generators.
            keepalives=1,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=4,
        ) as connection,
    ):
        yield connection


@contextmanager
def _given_up(
    connection: psycopg.Connection[Row], address: Address, timeout_s: float
) -> Iterator[None]:
    """Cuts the connection when a statement is not answered within `timeout_s` and some grace, which
    a server ends by itself if it is alive. RunError then, as for any error of the block."""
    import psycopg

    limit_s = timeout_s + address.grace_s
    cut = threading.Event()

    def cut_off() -> None:
        cut.set()
        with suppress(OSError):
            sockets.end_descriptor(connection.fileno())

    timer = threading.Timer(limit_s, cut_off)
    timer.daemon = True
    if timeout_s:
        timer.start()
    with _in_our_words(address):
        try:
            yield
        except psycopg.Error as error:
            # libpq says only that the server closed a connection, also if we cut it.
            if not cut.is_set():
                raise
            waited = f"no answer within {limit_s:g} s: the connection was cut"
            raise psycopg.OperationalError(waited) from error
        finally:
            timer.cancel()


@contextmanager
def _in_our_words(address: Address) -> Iterator[None]:
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        where = f"SQL at {address.host}:{address.port}"
        # A message of several lines would break those of the console.
        words = " ".join(str(error).split())
        error_class = errors.StatementError
        if error.sqlstate == NOT_PERMITTED:
            error_class = errors.NotPermittedError
        raise error_class(
            f"{where}: {words}",
            advice="look at the database's log among the raw files of the run",
            sqlstate=error.sqlstate or "",
            message=f"{where}: {error.diag.message_primary or words}",
        ) from error
