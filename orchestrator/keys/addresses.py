"""The hosts of a cluster that others run, as a profile may write them. Pure.

In the ways that libpq knows (PostgreSQL's documentation, "Connection Strings"): `host`, `host:port`
and `postgresql://user:password@host:port,host:port/database?sslmode=…`, any number of them; or one
string of keywords, `host=a,b port=5433,5434 user=…`.
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

URI = re.compile(r"postgres(?:ql)?://")
_KEYWORD = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S*)\s*")
_HOST = re.compile(r"\[(?P<v6>[0-9a-fA-F:.%]+)\]|(?P<name>[^\s:/@\[\]=?]+)")


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
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


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
    if re.match(r"\w+\s*=", text):
        return _keywords(text)
    servers: list[Server] = []
    options: dict[str, str] = {}
    wrong: list[str] = []
    for word in _words(text):
        part = _uri(word) if "://" in word else _listed(word)
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


def _keywords(text: str) -> Hosts:
    options: dict[str, str] = {}
    end = 0
    for match in _KEYWORD.finditer(text):
        if match.start() != end:
            break
        value = match[2]
        if match[1] in options:
            return Hosts(wrong=(f"gives `{match[1]}` twice: write host=a,b for several hosts",))
        if value.startswith("'"):
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        options[match[1]], end = value, match.end()
    if end != len(text):
        return Hosts(wrong=("is no list of hosts, no URI and no string of `keyword=value`",))
    return _listed("", options)


def _uri(word: str) -> Hosts:
    match = URI.match(word)
    if match is None:
        return Hosts(wrong=("a URI of a server begins with postgresql://",))
    rest, _, query = word[match.end() :].partition("?")
    authority, _, database = rest.partition("/")
    user_info, at, hosts = authority.rpartition("@")
    options: dict[str, str] = {}
    if at:
        user, colon, password = user_info.partition(":")
        options |= {"user": unquote(user)} if user else {}
        options |= {"password": unquote(password)} if colon else {}
    if database:
        options["dbname"] = unquote(database)
    for pair in filter(None, query.split("&")):
        key, _, value = pair.partition("=")
        options[unquote(key)] = unquote(value)
    return _listed(hosts, options)


def _listed(hosts: str, given: Mapping[str, str] | None = None) -> Hosts:
    """Hosts separated by commas, each perhaps with its port. The options that are `given` may name
    other hosts, and one port for all of them or one for each."""
    options = dict(given or {})
    hosts, ports = options.pop("host", hosts), options.pop("port", "")
    names, numbers = hosts.split(",") if hosts else [], ports.split(",") if ports else []
    if len(numbers) not in (0, 1, len(names)):
        return Hosts((), options, (f"{len(numbers)} ports for {len(names)} hosts",))
    servers: list[Server] = []
    wrong: list[str] = []
    for number, name in enumerate(names):
        match = _HOST.match(name) if "@" not in name else None  # may be a password: not shown
        rest = name[match.end() :] if match else name
        stated = numbers[number if len(numbers) > 1 else 0] if numbers else ""
        port = rest.removeprefix(":") or stated
        if match is None or (rest and not rest.startswith(":")):
            wrong.append("is no host: write host, host:port, [address]:port or postgresql://…")
        elif port and not (port.isdigit() and 0 < int(port) < 65536):
            wrong.append(f"{port!r} is not a port")
        else:
            servers.append(Server(match["v6"] or match["name"], int(port) if port else None))
    return Hosts(tuple(servers), options, tuple(wrong))
