"""The hosts of a cluster that others run, as a profile may write them. Pure: libpq only reads.

In the ways that libpq knows (PostgreSQL's documentation, "Connection Strings"): `host`, `host:port`
and `postgresql://user:password@host:port,host:port/database?sslmode=…`, any number of them; or one
string of keywords, `host=a,b port=5433,5434 user=…`."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

_KEYWORDS = re.compile(r"\w+\s*=")
_NAME = re.compile(r"[^\s:/@\[\]=?]+")
_UNKNOWN = re.compile(r'invalid (?:URI query parameter:|connection option) "(\w+)"')
_NO_HOST = "is not a host: write host, host:port, [address]:port or postgresql://…"
_UNREADABLE = (
    "is not a list of hosts, a URI that begins with postgresql://, or a string of "
    "`keyword=value`"
)


@dataclass(frozen=True)
class Server:
    """Where one server listens."""

    host: str
    # None: the port that the profile gives for all.
    port: int | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether each computer takes it for itself."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            # All names below `localhost` are of the computer itself (RFC 6761).
            return self.host == "localhost" or self.host.endswith(".localhost")

    def __str__(self) -> str:
        host = self.host
        if ":" in self.host:  # an address of IPv6
            host = f"[{self.host}]"
        if self.port is None:
            return host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class Hosts:
    """What a text says."""

    servers: tuple[Server, ...] = ()
    # libpq's keywords (`user`, `password`, `dbname`, `sslmode` …) that it gives for all servers.
    # `repr` leaves them out, because a password may be among them.
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    # The parts that could not be read, without any password.
    wrong: tuple[str, ...] = ()


NOWHERE = Hosts()


def read(text: str) -> Hosts:
    """Reads the text of `hosts`; mistakes are in the answer."""
    text = text.strip()
    servers: list[Server] = []
    options: dict[str, str] = {}
    wrong: list[str] = []
    for entry in _entries(text):
        hosts = _hosts(entry)
        servers += hosts.servers
        wrong += hosts.wrong
        for key, value in hosts.options.items():
            # A session has one user and one database, whichever host it reaches.
            if options.setdefault(key, value) != value:
                wrong.append(f"they differ in `{key}`: one is used for all hosts")
    return Hosts(tuple(servers), options, tuple(wrong))


def _entries(text: str) -> Iterator[str]:
    """A string of keywords is one; else spaces separate them, and commas too, except between the
    hosts of one URI."""
    if _KEYWORDS.match(text):
        yield text
        return
    for word in text.split():
        # A comma within a URI stands between its hosts.
        for entry in re.split(r",(?=[a-z]+://)", word.strip(",")):
            if "://" in entry:
                yield entry
            else:
                yield from _host_entries(entry)


def _host_entries(text: str) -> Iterator[str]:
    for host in text.split(","):
        if host:
            yield host


def _hosts(entry: str) -> Hosts:
    """What a URI, a string of keywords, or one host says."""
    if _KEYWORDS.match(entry):
        if len(re.findall(r"\bhost\s*=", entry)) > 1:
            return _wrong("gives `host` twice: write host=a,b for several hosts")
        return _read_by_libpq(entry)
    if "://" in entry:
        return _read_by_libpq(entry)
    # A host alone is a URI without its scheme, and has none of a URI's signs.
    # libpq decodes percent signs in a URI, and refuses those that encode nothing.
    quoted = entry.replace("%", "%25")
    hosts = _read_by_libpq(f"postgresql://{quoted}")
    if hosts.options:
        return _wrong(_NO_HOST)
    return hosts


def _read_by_libpq(text: str) -> Hosts:
    """What libpq says of another text may have a password in it, so only a name is shown."""
    # Imported here: most profiles name no host.
    from psycopg import ProgrammingError, conninfo

    try:
        given = conninfo.conninfo_to_dict(text)
    except (ProgrammingError, UnicodeError) as error:
        unknown = _UNKNOWN.match(str(error))
        # The name of an option is no secret, unlike all else that libpq may quote.
        if unknown:
            return _wrong(f"has `{unknown[1]}`, which libpq does not know")
        return _wrong(_UNREADABLE)
    options = {key: str(value) for key, value in given.items()}
    names = options.pop("host", "")
    ports = options.pop("port", "")
    return _listed(names, ports, options)


def _wrong(what: str) -> Hosts:
    return Hosts(wrong=(what,))


def _listed(hosts: str, ports: str, options: Mapping[str, str]) -> Hosts:
    """Hosts separated by commas, with one port for all of them or one for each."""
    names = []
    if hosts:
        names = hosts.split(",")
    numbers = ports.split(",")
    if len(numbers) == 1:
        numbers *= len(names)
    elif len(numbers) != len(names):
        what = f"{len(numbers)} ports for {len(names)} hosts"
        return Hosts((), options, (what,))
    servers: list[Server] = []
    wrong: list[str] = []
    for name, number in zip(names, numbers, strict=True):
        if not _is_host(name):
            wrong.append(_NO_HOST)
        elif number and not _is_port(number):
            wrong.append(f"{number!r} is not a port")
        elif number:
            servers.append(Server(name, int(number)))
        else:
            servers.append(Server(name))
    return Hosts(tuple(servers), options, tuple(wrong))


def _is_port(text: str) -> bool:
    return text.isdigit() and 0 < int(text) < 65536


def _is_host(name: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return _NAME.fullmatch(name) is not None
