"""`tierbench doctor --bundle FILE`: what a YugabyteDB answers, for whoever mends the stand-in.

The file is there to be sent: what the cluster's owner keeps is taken out, its contents are listed
before it is written, and it is plain text that can be read through first."""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.markup import escape

from orchestrator import __version__, errors
from orchestrator.cli.common.app import App
from orchestrator.databases.existing import ExistingCluster, declaration
from orchestrator.databases.yugabytedb import support
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Node, Profile
from orchestrator.parts import CheckedFact
from orchestrator.system import clock, files, sql

_SQL_S = 30.0


def show(
    app: App, file: Path, profile: Profile, connect: sql.Connect = sql.session
) -> int:
    """Writes the bundle of the cluster of a profile that others run; returns the exit code.
    UsageError if it is no YugabyteDB or the file is there; UnavailableError if nothing answers."""
    # The file is checked before minutes of asking, so that no other file of the user's is replaced.
    files.require_absent(file)
    if profile.cluster.database != ExistingCluster.name:
        raise errors.UsageError(
            f"the profile {profile.name} does not describe an existing cluster",
            "name the profile of an existing cluster, or give --db yugabytedb, "
            "whose nodes the checklist starts",
        )
    declared = _declared(profile.cluster)
    cluster = _cluster(declared)
    _require_yugabytedb(declared, connect)
    collected = _collected(app, cluster, _addresses(declared), connect)
    # A profile that names no release has the one that the servers' pages name.
    release = profile.cluster.version or support.release_of(collected)
    with_release = replace(cluster, version=release)
    checked = list(support.read_only(with_release, connect, release))
    entries = support.entries(cluster, collected, checked, _today())
    app.progress.done()
    listed = [_facts(entry) for entry in entries]
    # Listed before it is written, so that the cluster's owner can still stop it.
    app.out.show(listed, *_listing(file, entries))
    return _written(app, file, entries, checked)


def _collected(
    app: App,
    cluster: Cluster,
    addresses: Sequence[sql.Address],
    connect: sql.Connect,
) -> Sequence[support.ServerAnswer]:
    """What the servers answer. UnavailableError if none does; some may be silent."""
    collected: list[support.ServerAnswer] = []
    nothing_answers = True
    for answer in support.ask(cluster.nodes, connect, addresses):
        app.progress.step(f"read: {answer.name}")
        collected.append(answer)
        nothing_answers = nothing_answers and bool(answer.unread)
    if nothing_answers:
        raise errors.UnavailableError(
            f"no part of the cluster answers: {collected[-1].unread}",
            "check hosts, ports, user and the servers' pages under `existing`",
        )
    return collected


def _facts(entry: support.BundleEntry) -> dict[str, object]:
    """An entry, for other programs."""
    return {"name": entry.name, "bytes": entry.size_bytes, "unread": entry.unread}


@dataclass
class Collected:
    """What the nodes of the checklist answered while they were up."""

    app: App
    cluster: Cluster | None = None
    answers: list[support.ServerAnswer] = field(default_factory=list)

    def ask(self, cluster: Cluster) -> None:
        """Reads a running cluster."""
        self.cluster = cluster
        # Addresses are those that this machine reaches: clients use an endpoint's own address.
        addresses = [sql.local(endpoint) for endpoint in cluster.endpoints]
        self.answers += support.ask(cluster.nodes, sql.session, addresses)

    def write(self, file: Path, checked: Sequence[CheckedFact]) -> None:
        """UnavailableError if no cluster came up."""
        if self.cluster is None:
            raise errors.UnavailableError(
                f"{file} is not written: no cluster came up",
                "see the lines of the checklist above",
            )
        entries = support.entries(self.cluster, self.answers, checked, _today())
        # The findings were shown as JSON already; a second document behind them could not be read.
        if not self.app.out.as_json:
            self.app.out.show(None, *_listing(file, entries))
        _written(self.app, file, entries, checked)


def _today() -> datetime.date:
    now_s = clock.SystemClock().now()
    return datetime.datetime.fromtimestamp(now_s, datetime.UTC).date()


def _listing(file: Path, entries: Sequence[support.BundleEntry]) -> Iterator[str]:
    yield f"{escape(str(file))} will hold:"
    for line in support.listing(entries):
        yield f"  {escape(line)}"


def _written(
    app: App,
    file: Path,
    entries: Sequence[support.BundleEntry],
    checked: Sequence[CheckedFact],
) -> int:
    """Writes what was listed; returns the exit code, as the checklist has it."""
    title = f"What a YugabyteDB answered tierbench {__version__} on {_today()}"
    text = support.text(entries, title)
    # The file is for its user alone (0600): it may still hold what others must not see.
    files.write_new(file, text, private=True)
    size_bytes = len(text.encode())
    app.progress.note(
        f"{file} is written ({size_bytes:,} bytes, mode 0600): read it through, then attach it "
        "to an issue"
    )
    doubtful = [entry.name for entry in entries if entry.unread]
    doubtful += [line.name for line in checked if line.state != "confirmed"]
    if doubtful:
        return errors.EXIT_INCONCLUSIVE
    return errors.EXIT_DONE


# ------------------------------------------------------------------ a cluster that others run


def _declared(spec: ClusterSpec) -> declaration.Existing:
    declared, mistakes = declaration.read(spec)
    mistakes = (*mistakes, *declaration.unreadable(declared))
    errors.require_none(
        mistakes, "the existing cluster cannot be read", "correct the profile"
    )
    return declared


def _addresses(declared: declaration.Existing) -> list[sql.Address]:
    addresses: list[sql.Address] = []
    for server in declared.servers:
        database = declared.maintenance_database
        addresses.append(declaration.address(declared, database, server))
    return addresses


def _cluster(declared: declaration.Existing) -> Cluster:
    """The cluster as the profile declares it; nothing is asked.

    Masters beyond the hosts are nodes too.
    """
    count = max(len(declared.servers), len(declared.masters))
    nodes: list[Node] = []
    for place in range(count):
        urls = support.urls_at(
            place, declared.masters, declared.tservers, declared.ysql
        )
        nodes.append(Node(f"node-{place + 1}", "database", sources=urls))
    return Cluster(
        database="yugabytedb",
        version="",
        nodes=tuple(nodes),
        endpoints=tuple(_endpoints(declared)),
        network="",
    )


def _endpoints(declared: declaration.Existing) -> Iterator[Endpoint]:
    for server in declared.servers:
        endpoint = declaration.endpoint(declared, server)
        # The database of a benchmark is made by a campaign, and need not be there yet.
        yield replace(endpoint, database=declared.maintenance_database)


def _require_yugabytedb(declared: declaration.Existing, connect: sql.Connect) -> None:
    """UsageError if the first that answers is something else. If none does, pages are read on."""
    # The profile says so itself, and the pages will show it.
    if declared.flavour == "yugabytedb":
        return
    for server, address in zip(declared.servers, _addresses(declared), strict=True):
        try:
            with connect(address, _SQL_S) as session:
                is_yugabytedb = support.is_yugabytedb(session)
        except errors.RunError:
            # A server that is down does not say what the others are.
            continue
        if not is_yugabytedb:
            raise errors.UsageError(
                f"the server at {server} is not YugabyteDB",
                "a bundle holds the pages of YugabyteDB: name the profile of a "
                "YugabyteDB cluster",
            )
        return
