"""The first-run checklist: everything that the adapter relies on, checked, reported, remembered
(docs/FIRST-RUN-YUGABYTEDB.md). A line that fails ends nothing. What was found is kept by
`checklist_kept`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from orchestrator import errors
from orchestrator.databases.yugabytedb import settings
from orchestrator.databases.yugabytedb.checks import (
    FACTS,
    Fact,
    Probe,
    copied,
    described,
)
from orchestrator.databases.yugabytedb.database import YugabyteNodes
from orchestrator.databases.yugabytedb.read_checks import READS, ClaimSeen, ReadCluster
from orchestrator.model import Cluster, ClusterSpec, NodeSize, Volume
from orchestrator.parts import CheckedFact, CheckState
from orchestrator.powers import Network, Platform, World
from orchestrator.system import sql

NETWORK = "tierbench-first-run"
_GIB = 2**30


# ------------------------------------------------------------------ lines about the cluster itself


def _settled(probe: Probe) -> ClaimSeen:
    YugabyteNodes(probe.connect).settle(probe.cluster, probe.world)
    unread = probe.cluster.handle.unread.text()
    return ClaimSeen(
        unread is None, unread or "written out, quiet, and every page was read"
    )


def _started(_: Probe) -> ClaimSeen:
    return ClaimSeen(is_true=True, text="all are up")


def _answered(probe: Probe) -> ClaimSeen:
    return ClaimSeen(probe.value("SELECT 1 AS one") == 1, "answered")


START = described(_started, "start")
SETTLE = described(_settled, "settle")
COLD_COPY = described(copied, "cold-copy")
SECOND_COPY = described(copied, "second-copy")
TLS = described(_answered, "tls")


def lines() -> tuple[Fact, ...]:
    """All lines in their order."""
    return (START, *FACTS, SETTLE, COLD_COPY, SECOND_COPY, TLS)


def needed() -> set[str]:
    """The names of the lines that DB=auto waits for."""
    return {fact.name for fact in lines() if fact.needed}


# ------------------------------------------------------------------ the run

Listen = Callable[[Cluster], None]


def nobody(_cluster: Cluster) -> None:
    """Reads nothing of a cluster that is up."""


def spec(
    version: str | None = None, settings: Mapping[str, str] = MappingProxyType({})
) -> ClusterSpec:
    """Three small nodes, on the own disks of the machines that they run on."""
    node = NodeSize(cpus=2.0, memory_bytes=4 * _GIB, disk_bytes=4 * _GIB)
    return ClusterSpec(
        "yugabytedb", 3, 3, node, version=version, settings=dict(settings)
    )


def first_run(
    cluster_spec: ClusterSpec,
    world: World,
    connect: sql.Connect = sql.session,
    database: YugabyteNodes | None = None,
    facts: Sequence[Fact] = FACTS,
    listen: Listen = nobody,
) -> Iterator[CheckedFact]:
    """Yields each finding as it is made, and lets `listen` read the three nodes while they are up.
    Another release, or a cluster that does not come up, is a finding. UnavailableError if the image
    is not here, or if disks would not outlast their nodes, which start again from them: where
    volumes are rented, those of the default class do."""
    database = database or YugabyteNodes(connect, refuse_other_release=False)
    _require_lasting_disks(world.platform)
    database.check(cluster_spec, world)
    release = str(settings.read(cluster_spec)[0].version)
    platform = world.platform
    with ExitStack() as up:
        # Outside of the trials: disks outlast a cluster, and the next one starts from them.
        disks: list[str] = []
        for number in range(1, cluster_spec.nodes + 1):
            name = f"{NETWORK}-{number}"
            up.enter_context(platform.volume(name, "", "", f"node-{number}"))
            disks.append(name)
        secured = f"{NETWORK}-tls"
        up.enter_context(platform.volume(secured, "", "", "node-1"))
        network = up.enter_context(platform.network(NETWORK, cluster_spec.nodes))
        trial = _Trial(database, network, connect, world, release)
        yield from trial.findings(
            cluster_spec,
            disks,
            (START, *facts, SETTLE),
            restored=False,
            listen=listen,
        )
        # Twice, because a copy's own start changes the disks from which the next one starts.
        for fact in (COLD_COPY, SECOND_COPY):
            world.progress.step("starting again from the same disks")
            yield from trial.findings(cluster_spec, disks, (fact,), restored=True)
        world.progress.step("starting a node with TLS")
        with_tls = {**cluster_spec.settings, "tls": "on"}
        single = replace(cluster_spec, nodes=1, replication_factor=1, settings=with_tls)
        yield from trial.findings(single, [secured], (TLS,), restored=False)


def look(
    cluster_spec: ClusterSpec, world: World, listen: Listen
) -> Iterator[CheckedFact]:
    """Checks the facts of a first run, as `first_run` does, with sessions of the library."""
    return first_run(cluster_spec, world, listen=listen)


def _require_lasting_disks(platform: Platform) -> None:
    claims = platform.abilities.claims
    if claims is None:
        return
    classes = claims.storage_classes()
    if not any(storage_class.is_default for storage_class in classes):
        raise errors.UnavailableError(
            f"{platform.name} has no default storage class, so a node's disk "
            "would end with the node. The checklist starts nodes again from "
            "their disks",
            advice="make a class the default: annotate it with "
            "storageclass.kubernetes.io/is-default-class=true",
        )


@dataclass(frozen=True)
class _Trial:
    """Starts clusters in one network, and looks at each. `release`: the one that is asked for."""

    database: YugabyteNodes
    network: Network
    connect: sql.Connect
    world: World
    release: str

    def findings(
        self,
        asked: ClusterSpec,
        disks: Sequence[str],
        facts: Sequence[Fact],
        *,
        restored: bool,
        listen: Listen = nobody,
    ) -> Iterator[CheckedFact]:
        """The findings on this cluster; if it does not come up, the first is not confirmed."""
        volumes = [Volume(name, "", restored=restored) for name in disks]
        running = self.database.running(asked, volumes, self.network, self.world)
        with ExitStack() as up:
            try:
                cluster = up.enter_context(running)
            # Any error is caught, because each line of the checklist shall be reported, whatever
            # failed.
            except Exception as error:
                yield _fact_of_error(facts[0], error, "not confirmed")
                reason = RuntimeError("the cluster did not come up")
                for fact in facts[1:]:
                    yield _fact_of_error(fact, reason, "could not be looked at")
                return
            for fact in facts:
                self.world.progress.step(f"checking: {fact.claim}")
                probe = Probe(cluster, self.connect, self.release, self.world)
                yield finding(fact, probe)
            listen(cluster)


def finding(fact: Fact, probe: Probe) -> CheckedFact:
    """What is seen of one line, without passwords. Any error is one of this line alone."""
    return _checked(fact, partial(fact.look, probe), probe.cluster)


def read_only(reading: ReadCluster) -> Iterator[CheckedFact]:
    """Yields the lines that can be looked at on a cluster that others run."""
    for look in READS:
        yield _checked(described(look), partial(look, reading), reading.cluster)


def _checked(
    fact: Fact, look: Callable[[], ClaimSeen], cluster: Cluster
) -> CheckedFact:
    try:
        seen = look()
        state: CheckState = "not confirmed"
        if seen.is_true:
            state = "confirmed"
        checked = CheckedFact(
            name=fact.name,
            claim=fact.claim,
            state=state,
            seen=seen.text,
            inferred=fact.inferred,
        )
    except Exception as error:
        checked = _fact_of_error(fact, error, "could not be looked at")
    # The findings are written to a file that users attach to issues.
    text = checked.seen
    for endpoint in cluster.endpoints:
        if endpoint.password:
            text = text.replace(endpoint.password, "***")
    return replace(checked, seen=text)


def _fact_of_error(fact: Fact, error: Exception, state: CheckState) -> CheckedFact:
    seen = f"{type(error).__name__}: {error}"
    if isinstance(error, errors.TierbenchError):
        seen = error.what
        if error.evidence:
            seen = f"{error.what}\n{error.evidence}"
    text = f"{seen}\n{fact.advice}".strip()
    return CheckedFact(fact.name, fact.claim, state, text, fact.inferred)
