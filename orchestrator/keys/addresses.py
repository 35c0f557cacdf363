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
_NO_HOST = "is no host: write host, host:port, [address]:port or postgresql://…"
_UNREADABLE = (
    "is no list of hosts, no URI that begins with postgresql://, "
    "no string of `keyword=value`"
)


@dataclass(frozen=True)
class Server:
    """Where one server listens. `port` None: where the profile says that all do."""

    host: str
    port: int | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether each computer takes it for itself."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")

    def __str__(self) -> str:
        if ":" in self.host:
            host = f"[{self.host}]"
        else:
            host = self.host
        if self.port is None:
            return host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class Hosts:
    """What a text says. `options`: libpq's keywords (`user`, `password`, `dbname`, `sslmode` …)
    that it gives for all servers. `wrong`: what could not be read, without any password."""

    servers: tuple[Server, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    wrong: tuple[str, ...] = ()


NOWHERE = Hosts()


def read(text: str) -> Hosts:
    """Reads the text of `hosts`; mistakes are in the answer."""
    text = text.strip()
    servers: list[Server] = []
    options: dict[str, str] = {}
    wrong: list[str] = []
    for word in [text] if _KEYWORDS.match(text) else _words(text):
        part = _part(word)
        servers += part.servers
        wrong += part.wrong
        for key, value in part.options.items():
            if options.setdefault(key, value) != value:
                wrong.append(f"they differ in `{key}`: one is used for all hosts")
    return Hosts(tuple(servers), options, tuple(wrong))


def _words(text: str) -> Iterator[str]:
    """Commas separate words too, except between the hosts of one URI."""
    for word in text.split():
        for part in re.split(r",(?=[a-z]+://)", word.strip(",")):
            yield from [part] if "://" in part else filter(None, part.split(","))


def _part(text: str) -> Hosts:
    """A URI, a string of keywords, or one host, which is a URI without its scheme. What libpq says
    of another text may have a password in it, so only a name is shown."""
    from psycopg import (
        ProgrammingError,
        conninfo,
    )  # only now: most profiles name no host

    alone = "://" not in text and not _KEYWORDS.match(text)
    if _KEYWORDS.match(text) and len(re.findall(r"\bhost\s*=", text)) > 1:
        return Hosts(wrong=("gives `host` twice: write host=a,b for several hosts",))
    try:
        uri = text
        if alone:
            uri = f"postgresql://{text.replace('%', '%25')}"
        options = {
            key: str(value) for key, value in conninfo.conninfo_to_dict(uri).items()
        }
    except (ProgrammingError, UnicodeError) as error:
        unknown = _UNKNOWN.match(str(error))
        what = _UNREADABLE
        if unknown:
            what = f"has `{unknown[1]}`, which libpq does not know"
        return Hosts(wrong=(what,))
    hosts = options.pop("host", "")
    ports = options.pop("port", "")
    if alone and options:
        return Hosts(wrong=(_NO_HOST,))
    return _listed(hosts, ports, options)


def _listed(hosts: str, ports: str, options: Mapping[str, str]) -> Hosts:
    """Hosts separated by commas, with one port for all of them or one for each."""
    if hosts:
        names = hosts.split(",")
    else:
        names = []
    if ports:
        numbers = ports.split(",")
    else:
        numbers = [""]
    if len(numbers) not in (1, len(names)):
        return Hosts((), options, (f"{len(numbers)} ports for {len(names)} hosts",))
    servers: list[Server] = []
    wrong: list[str] = []
    for name, port in zip(names, numbers * len(names), strict=False):
        if not _is_host(name):
            wrong.append(_NO_HOST)
        elif port and not (port.isdigit() and 0 < int(port) < 65536):
            wrong.append(f"{port!r} is not a port")
        else:
            servers.append(Server(name, int(port) if port else None))
    return Hosts(tuple(servers), options, tuple(wrong))


def _is_host(name: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return _NAME.fullmatch(name) is not None
