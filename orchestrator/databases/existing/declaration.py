"""An existing cluster as a profile declares it: its addresses, its user, its servers' pages.

Pure, except that the password is read each time it is needed, and never stored."""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import cast, get_args

from orchestrator.errors import KeyPlace, Mistake, UnavailableError
from orchestrator.facts import TlsMode
from orchestrator.keys.addresses import NOWHERE, Hosts, Server, read as read_hosts
from orchestrator.keys.near_keys import nearest
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import ClusterSpec, Endpoint, Profile, Tls
from orchestrator.powers import CertificateFile
from orchestrator.system import redaction, sql

OWN_DATABASE = "tierbench"
LEASE_DATABASE = "tierbench_campaign"  # common to all testers of a cluster: lease.py
YUGABYTEDB = "yugabytedb"
POSTGRESQL = "postgresql"
FLAVOURS = (YUGABYTEDB, POSTGRESQL)
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")  # PostgreSQL cuts names at 63 bytes
_URL = re.compile(r"https?://(?:[^/\s]*@)?[^/\s@]+")
_VERIFIED = ("verify-full", "verify-ca")
_PLACE = KeyPlace("", ("cluster", "existing"))


@dataclass(frozen=True)
class Existing:
    """Host k belongs to entry k of every list. `port`: of the hosts that name none."""

    hosts: Hosts = NOWHERE
    port: int = 5433
    user: str = "yugabyte"
    password_env: str | None = None
    password_file: str | None = None
    tls: str = "verify-full"
    tls_root: str | None = None
    tls_certificate: str | None = None
    tls_key: str | None = None
    flavour: str | None = None
    maintenance_database: str = "yugabyte"
    database: str = OWN_DATABASE
    masters: tuple[str, ...] = ()
    tservers: tuple[str, ...] = ()
    ysql: tuple[str, ...] = ()
    node_exporters: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    wal_devices: tuple[str, ...] = ()
    data_path: str | None = None
    may_drop: str | None = None
    save: str | None = None
    restore: str | None = None

    @property
    def servers(self) -> tuple[Server, ...]:
        """All hosts, each with its port."""
        servers: list[Server] = []
        for server in self.hosts.servers:
            servers.append(Server(server.host, server.port or self.port))
        return tuple(servers)

    @property
    def where(self) -> str:
        """Its hosts and ports, for messages."""
        return ", ".join(str(server) for server in self.servers)

    @property
    def pages(self) -> Mapping[str, tuple[str, ...]]:
        """Key → the addresses of its servers' pages."""
        return {
            "masters": self.masters,
            "tservers": self.tservers,
            "ysql": self.ysql,
            "node_exporters": self.node_exporters,
        }

    @property
    def disks(self) -> Mapping[str, tuple[str, ...]]:
        """Key → the names of its hosts' devices."""
        return {"devices": self.devices, "wal_devices": self.wal_devices}

    @property
    def tls_files(self) -> Mapping[str, str | None]:
        """Key → the file of a certificate or a private key."""
        return {
            "tls_root": self.tls_root,
            "tls_certificate": self.tls_certificate,
            "tls_key": self.tls_key,
        }


_KEYS = tuple(field.name for field in fields(Existing))
_DEFAULTS = Existing()


def read(spec: ClusterSpec) -> tuple[Existing, tuple[Mistake, ...]]:
    """The declaration in a profile, and all mistakes in it."""
    reason = "settings belong to the cluster's owner: only keys of `existing` are read"
    foreign = [Mistake(f"cluster.settings.{key}", reason) for key in spec.settings]
    declared, mistakes = read_keys(spec.existing)
    return declared, (*foreign, *mistakes)


def read_keys(existing: Mapping[str, str]) -> tuple[Existing, tuple[Mistake, ...]]:
    """What the keys of `existing` declare, and all mistakes in them."""
    texts: dict[str, str] = {}
    mistakes: list[Mistake] = []
    for name, text in existing.items():
        if name not in _KEYS:
            mistakes.append(_unknown_key(name))
        elif name == "port" and not (text.isdigit() and 0 < int(text) < 65536):
            mistakes.append(_mistake(name, f"{text!r} is not a port"))
        else:
            texts[name] = text
    hosts = NOWHERE
    if "hosts" in texts:
        hosts = read_hosts(texts["hosts"])
    mistakes += _contradictions(hosts, texts)
    # The profile's own keys come last, so that what it says is kept.
    declared = _declared(hosts, {**_texts_of_uris(hosts), **texts})
    return declared, (*mistakes, *_mistakes(declared))


def _declared(hosts: Hosts, texts: Mapping[str, str]) -> Existing:
    """The declaration by its keys' texts, where each key is known and its number is one."""
    return Existing(
        hosts=hosts,
        port=int(texts.get("port", _DEFAULTS.port)),
        user=texts.get("user", _DEFAULTS.user),
        password_env=texts.get("password_env"),
        password_file=texts.get("password_file"),
        tls=texts.get("tls", _DEFAULTS.tls),
        tls_root=texts.get("tls_root"),
        tls_certificate=texts.get("tls_certificate"),
        tls_key=texts.get("tls_key"),
        flavour=texts.get("flavour"),
        maintenance_database=texts.get(
            "maintenance_database", _DEFAULTS.maintenance_database
        ),
        database=texts.get("database", _DEFAULTS.database),
        masters=_words(texts.get("masters", "")),
        tservers=_words(texts.get("tservers", "")),
        ysql=_words(texts.get("ysql", "")),
        node_exporters=_words(texts.get("node_exporters", "")),
        devices=_words(texts.get("devices", "")),
        wal_devices=_words(texts.get("wal_devices", "")),
        data_path=texts.get("data_path"),
        may_drop=texts.get("may_drop"),
        save=texts.get("save"),
        restore=texts.get("restore"),
    )


def _unknown_key(name: str) -> Mistake:
    """The mistake of an unknown key, with the key that was meant.

    A password is refused, because results would have a copy of it in clear.
    """
    if name in ("password", "passwd", "pwd"):
        text = (
            f"`{name}` is not allowed, because results keep the profile: name "
            "`password_env` or `password_file`"
        )
        return Mistake.at(_PLACE, text, "unknown name")
    text = "unknown key"
    near = nearest(name, _KEYS)
    if near:
        text = f"unknown key: did you mean {near}?"
    return replace(_mistake(name, text), kind="unknown name")


def _texts_of_uris(hosts: Hosts) -> dict[str, str]:
    """Key of `existing` → what a URI among the hosts says."""
    texts: dict[str, str] = {}
    for option, value in hosts.options.items():
        key = shipped(__package__, "uri.yaml").get(option)
        if key == "tls" and value == "disable":  # libpq's word for our `off`
            texts[key] = "off"
        elif key is not None:
            texts[key] = value
    return texts


def _contradictions(hosts: Hosts, texts: Mapping[str, str]) -> Iterator[Mistake]:
    """What a URI among the hosts says and may not, or says otherwise than the profile's keys."""
    keys = shipped(__package__, "uri.yaml")
    of_uris = _texts_of_uris(hosts)
    for option in hosts.options:
        if option == "password":
            yield from _second_passwords(texts)
            continue
        key = keys.get(option)
        if key is None:
            yield _mistake(
                "hosts", f"`{option}` in a URI has no effect here: leave it out"
            )
        elif texts.get(key, of_uris[key]) != of_uris[key]:
            yield _mistake(key, f"`hosts` says {of_uris[key]}: keep one of them")


def _second_passwords(texts: Mapping[str, str]) -> Iterator[Mistake]:
    for other in ("password_env", "password_file"):
        if other in texts:
            yield _mistake(other, "`hosts` has a password too: keep one of them")


def _mistakes(declared: Existing) -> Iterator[Mistake]:
    """Mistakes that need no look at the cluster."""
    hosts = len(declared.servers)
    for text in declared.hosts.wrong:
        yield _mistake("hosts", text)
    if not hosts and not declared.hosts.wrong:
        yield _mistake("hosts", "name at least one host that takes SQL")
    if declared.password_env and declared.password_file:
        yield _mistake(
            "password_file", "`password_env` is declared too: keep one of them"
        )
    yield from _mistakes_of_names(declared)
    yield from _mistakes_of_pages(declared)
    yield from _mistakes_of_devices(declared)
    if bool(declared.save) != bool(declared.restore):
        yield _mistake("restore", "belongs together with `save`: give both or none")
    if declared.may_drop not in (None, declared.database):
        yield _mistake(
            "may_drop", f"must repeat the name {declared.database}, or be left out"
        )
    if declared.flavour not in (None, *FLAVOURS):
        yield _mistake("flavour", f"write {' or '.join(FLAVOURS)}, or leave it out")
    yield from _mistakes_of_tls(declared)


def _mistakes_of_devices(declared: Existing) -> Iterator[Mistake]:
    hosts = len(declared.servers)
    mistakes: list[Mistake] = []
    for key, names in declared.disks.items():
        if names and len(names) not in (1, hosts):
            mistakes.append(_mistake(key, "write one for all hosts, or one for each"))
    yield from mistakes
    if mistakes:
        return
    for number in range(hosts):
        log_device = wal_device(declared, number)
        # All I/Os of the data would be held against the limits of the WAL's disk.
        if log_device and log_device == device(declared, number):
            yield _mistake(
                "wal_devices",
                f"{log_device} holds the data too: name a disk of the WAL alone, or leave it out",
            )
            return


def _mistakes_of_names(declared: Existing) -> Iterator[Mistake]:
    names = {
        "database": declared.database,
        "maintenance_database": declared.maintenance_database,
        "user": declared.user,
    }
    for key, name in names.items():
        if not _NAME.fullmatch(name):
            yield _mistake(
                key, "write lower-case letters, digits and underscores, no digit first"
            )
    # No session can drop the database that it is in.
    if declared.database == declared.maintenance_database:
        yield _mistake(
            "database",
            "must differ from `maintenance_database`, through which it is created",
        )
    if declared.database == LEASE_DATABASE:
        yield _mistake(
            "database",
            "is reserved for the record of which campaign uses the cluster: "
            "take another name",
        )


def _mistakes_of_pages(declared: Existing) -> Iterator[Mistake]:
    hosts = len(declared.servers)
    for key, urls in declared.pages.items():
        wrong = [redaction.hidden(url) for url in urls if not _URL.fullmatch(url)]
        if wrong:
            yield _mistake(key, f"{', '.join(wrong)}: write http://host:port")
        # There are as many masters as copies, and hosts may be more.
        if key != "masters" and urls and len(urls) != hosts:
            yield _mistake(
                key, f"{len(urls)} for {hosts} hosts: write one for each, in order"
            )


def _mistakes_of_tls(declared: Existing) -> Iterator[Mistake]:
    files = [key for key, file in declared.tls_files.items() if file]
    if declared.tls not in get_args(TlsMode):
        yield _mistake("tls", f"{declared.tls!r}: write {', '.join(get_args(TlsMode))}")
    # libpq would look for a file of its own, which a client in a container does not have.
    elif declared.tls in _VERIFIED and not declared.tls_root:
        yield _mistake(
            "tls_root",
            (
                "servers are verified unless the profile says otherwise. Name the "
                "file of the authority that signed their certificates; for servers "
                "without TLS write `tls: off`"
            ),
        )
    elif declared.tls == "off" and files:
        yield _mistake(files[0], "has no effect with `tls: off`")
    if bool(declared.tls_certificate) != bool(declared.tls_key):
        yield _mistake(
            "tls_key", "belongs together with `tls_certificate`: name both or none"
        )


def unreadable(declared: Existing) -> Iterator[Mistake]:
    """Files that are declared and cannot be read on this machine."""
    for key, file in declared.tls_files.items():
        if file and not os.access(Path(file).expanduser(), os.R_OK):
            yield _mistake(key, f"the file {file} cannot be read")


def tls(declared: Existing) -> Tls:
    """How sessions are encrypted; files by their whole paths."""
    return Tls(
        cast(TlsMode, declared.tls),
        _whole_path(declared.tls_root),
        _whole_path(declared.tls_certificate),
        _whole_path(declared.tls_key),
    )


def certificates(declared: Existing) -> tuple[CertificateFile, ...]:
    """The files of `tls_root` and `tls_certificate`, as far as they are declared."""
    secured = tls(declared)
    files: list[CertificateFile] = []
    if secured.root:
        root = f"the `tls_root` {secured.root}"
        files.append(CertificateFile(root, secured.root, is_authority=True))
    if secured.certificate:
        client = f"the `tls_certificate` {secured.certificate}"
        files.append(CertificateFile(client, secured.certificate))
    return tuple(files)


def _whole_path(file: str | None) -> str | None:
    if not file:
        return None
    return str(Path(file).expanduser().resolve())


def address(
    declared: Existing, database: str, server: Server | None = None
) -> sql.Address:
    """A session with this server, or the first. UnavailableError if the password cannot be read."""
    at = sql.local(endpoint(declared, server or declared.servers[0]))
    return replace(at, database=database)


def endpoint(declared: Existing, server: Server) -> Endpoint:
    """Our database on this server. UnavailableError if the password cannot be read."""
    port = server.port or declared.port
    return Endpoint(
        host=server.host,
        port=port,
        local_port=port,
        local_host=server.host,
        user=declared.user,
        password=password(declared, server),
        database=declared.database,
        tls=tls(declared),
        maintenance_database=declared.maintenance_database,
    )


def password(declared: Existing, server: Server) -> str:
    """The password that the profile names, else the one that libpq takes for `server`. Empty if
    there is none: the server may need none."""
    if declared.password_env:
        value = os.environ.get(declared.password_env)
        if value is None:
            raise UnavailableError(
                f"the environment variable {declared.password_env} is not set",
                advice="export it with the cluster's password, as the profile declares",
            )
        return value
    if declared.password_file:
        return _password_in(declared.password_file)
    given = declared.hosts.options.get("password")
    if given:
        return given
    # PGPASSWORD or ~/.pgpass, as for psql.
    port = server.port or declared.port
    return sql.password_of_libpq(server.host, port, declared.user, declared.database)


def device(declared: Existing, number: int) -> str | None:
    """The declared device of the data of host `number` (from 0)."""
    return _of_host(declared.devices, number)


def wal_device(declared: Existing, number: int) -> str | None:
    """The declared device that holds only the WAL of host `number` (from 0)."""
    return _of_host(declared.wal_devices, number)


def _of_host(devices: Sequence[str], number: int) -> str | None:
    if not devices:
        return None
    if len(devices) == 1:  # one device name for all hosts
        return devices[0]
    return devices[number]


def _words(text: str) -> tuple[str, ...]:
    parts = re.split(r"[\s,]+", text.strip())
    return tuple(part.rstrip("/") for part in parts if part)


def _mistake(key: str, text: str) -> Mistake:
    return Mistake.at(_PLACE.below(key), text)


def _password_in(path: str) -> str:
    """A file's password. UnavailableError if it cannot be read, or others may read it."""
    file = Path(path).expanduser()
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UnavailableError(
            f"the password file {path} cannot be read: {error.strerror}",
            advice="correct `existing.password_file` in the profile",
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):  # libpq ignores such a file too
        raise UnavailableError(
            f"the password file {file} may be read by others (mode {mode:04o})",
            advice=f"chmod 600 {file}",
        )
    return text.strip()


def disk_places(profile: Profile) -> tuple[str, ...]:
    """What says which disks a profile's nodes are read of. No password is among it."""
    declared, _mistakes = read(profile.cluster)
    return (
        declared.where,
        " ".join(declared.node_exporters),
        " ".join(declared.devices),
        " ".join(declared.wal_devices),
        repr(profile.placing),
        str(profile.platform),
    )
