"""The first-run checklist: everything that the adapter relies on, checked, reported, remembered
(docs/FIRST-RUN-YUGABYTEDB.md). A line that fails ends nothing.

The cache has one file for each image on each machine's engine. A checklist that begins removes it,
and writes it again only if every line was confirmed: then `DB=auto` takes YugabyteDB."""

import datetime
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from orchestrator import __version__, errors
from orchestrator.databases.yugabytedb import image, settings
from orchestrator.databases.yugabytedb.checks import (
    FACTS,
    READS,
    Fact,
    Probe,
    ReadCluster,
    copied,
    described,
)
from orchestrator.databases.yugabytedb.database import YugabyteNodes
from orchestrator.model import Cluster, ClusterSpec, NodeSize, Volume
from orchestrator.parts import CheckedFact, CheckState
from orchestrator.powers import Network, Platform, World
from orchestrator.system import files, redaction, sql

NETWORK = "tierbench-first-run"
_GIB = 2**30


# ------------------------------------------------------------------ lines about the cluster itself


def _settled(probe: Probe) -> tuple[bool, str]:
    YugabyteNodes(probe.connect).settle(probe.cluster, probe.world)
    unread = probe.cluster.handle.unread.text()
    return unread is None, unread or "written out, quiet, and every page was read"


START = described(lambda _: (True, "all are up"), "start")
SETTLE = described(_settled, "settle")
COLD_COPY = described(copied, "cold-copy")
SECOND_COPY = described(copied, "second-copy")
TLS = described(lambda probe: (probe.value("SELECT 1 AS one") == 1, "answered"), "tls")


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
            cluster_spec, disks, False, (START, *facts, SETTLE), listen
        )
        # Twice, because a copy's own start changes the disks from which the next one starts.
        for fact in (COLD_COPY, SECOND_COPY):
            world.progress.step("starting again from the same disks")
            yield from trial.findings(cluster_spec, disks, True, (fact,))
        world.progress.step("starting a node with TLS")
        with_tls = {**cluster_spec.settings, "tls": "on"}
        single = replace(cluster_spec, nodes=1, replication_factor=1, settings=with_tls)
        yield from trial.findings(single, [secured], False, (TLS,))


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
        restored: bool,
        facts: Sequence[Fact],
        listen: Listen = nobody,
    ) -> Iterator[CheckedFact]:
        """The findings on this cluster; if it does not come up, the first is not confirmed."""
        volumes = [Volume(name, "", restored=restored) for name in disks]
        running = self.database.running(asked, volumes, self.network, self.world)
        with ExitStack() as up:
            try:
                cluster = up.enter_context(running)
            # Any error, because each line of the checklist shall be reported, whatever failed.
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
    fact: Fact, look: Callable[[], tuple[bool, str]], cluster: Cluster
) -> CheckedFact:
    try:
        is_true, seen = look()
        state: CheckState = "not confirmed"
        if is_true:
            state = "confirmed"
        checked = CheckedFact(fact.name, fact.claim, state, seen, fact.inferred)
    except Exception as error:
        checked = _fact_of_error(fact, error, "could not be looked at")
    # The findings are written to a file that users attach to issues.
    seen = checked.seen
    for endpoint in cluster.endpoints:
        if endpoint.password:
            seen = seen.replace(endpoint.password, "***")
    return replace(checked, seen=seen)


def _fact_of_error(fact: Fact, error: Exception, state: CheckState) -> CheckedFact:
    seen = f"{type(error).__name__}: {error}"
    if isinstance(error, errors.TierbenchError):
        seen = "\n".join(text for text in (error.what, error.evidence) if text)
    text = f"{seen}\n{fact.advice}".strip()
    return CheckedFact(fact.name, fact.claim, state, text, fact.inferred)


# ------------------------------------------------------------------ where it has passed


def passed(spec: ClusterSpec, platform: Platform, cache: Path) -> str:
    """A sentence with the day on which the checklist passed here; empty if it did not."""
    try:
        tag, file = _file(spec, platform, cache)
        if file is not None:
            content = json.loads(file.read_text(encoding="utf-8"))
        else:
            content = {}
    except (OSError, ValueError, errors.TierbenchError):
        return ""
    if not _complete(content.get("confirmed", ())):
        return ""
    day = datetime.datetime.fromtimestamp(content["passed_s"], datetime.UTC).date()
    return f"the database is YugabyteDB ({tag}): its first-run checklist passed here on {day}"


def kept(
    findings: Iterable[CheckedFact],
    spec: ClusterSpec,
    world: World,
    results: Path | None = None,
) -> Iterator[CheckedFact]:
    """Yields the findings, then keeps them and whether all that is needed was confirmed."""
    tag, file = _file(spec, world.platform, world.cache)
    # Before anything is looked at: a checklist that is interrupted has not passed.
    if file is not None:
        file.unlink(missing_ok=True)
    checked: list[CheckedFact] = []
    for finding in findings:
        checked.append(finding)
        yield finding
    world.progress.note(summary(checked))
    if results is not None:
        _write_report(results, checked, tag, world)
    confirmed = [finding.name for finding in checked if finding.state == "confirmed"]
    if file is None or not _complete(confirmed):
        world.progress.note(
            "DB=auto does not take YugabyteDB there: not every line that it needs is "
            "confirmed"
        )
        return
    files.make_folder(file.parent)
    content = {"image": tag, "confirmed": confirmed, "passed_s": world.clock.now()}
    files.write_json(file, content)
    world.progress.note(
        f"DB=auto takes YugabyteDB there from now on, as long as {tag} is this image"
    )


def _write_report(
    results: Path, findings: Sequence[CheckedFact], tag: str, world: World
) -> None:
    image_name = re.sub(r"[^A-Za-z0-9.-]+", "-", tag)
    report = results / f"first-run-{image_name}.txt"
    files.make_folder(results)
    files.write_text(report, _text(findings, tag, world))
    world.progress.note(
        f"{report} has all of it, to attach to an issue; no password is in it"
    )


def summary(findings: Sequence[CheckedFact]) -> str:
    """`17 of 19 confirmed, these differ: memory, leaders`."""
    differing = [finding.name for finding in findings if finding.state != "confirmed"]
    text = f"{len(findings) - len(differing)} of {len(findings)} confirmed"
    if differing:
        return f"{text}, these differ: {', '.join(differing)}"
    return text


def _text(findings: Sequence[CheckedFact], tag: str, world: World) -> str:
    """All lines with what was seen, and on what they were seen."""
    machine = world.machine.facts_told or world.machine.facts()
    platform = world.platform
    day = datetime.datetime.fromtimestamp(world.clock.now(), datetime.UTC).date()
    size = f"{machine.cpus} CPUs, {machine.memory_bytes} bytes"
    image_id = platform.images.id(tag)
    lines = [
        f"First run of {tag} ({image_id}) with tierbench {__version__}, {day}",
        f"Machine: {machine.system}, kernel {machine.kernel}, {size}",
        f"Engine: {dict(platform.facts())}",
        summary(findings),
    ]
    for finding in findings:
        inferred = ""
        if finding.inferred:
            inferred = " (inferred)"
        lines += ["", f"{finding.state} {finding.name}{inferred}: {finding.claim}"]
        lines += [f"    {line}" for line in finding.seen.splitlines()]
    return redaction.hidden("\n".join(lines)) + "\n"


def _complete(confirmed: Iterable[str]) -> bool:
    """False also if this version of tierbench has a line that an earlier checklist did not."""
    return needed() <= set(confirmed)


def _file(
    spec: ClusterSpec, platform: Platform, cache: Path
) -> tuple[str, Path | None]:
    """The image's tag, and the file for this image on this machine; None if the image is not here
    or the engine has no identity."""
    tag = image.chosen(settings.read(spec)[0], platform)
    # A tag may be given to another image later, so the image's own identity is the key.
    identity = platform.images.id(tag)
    machine = platform.facts().get("ID")
    if not identity or not machine:
        return tag, None
    key = hashlib.sha256(f"{machine}\n{identity}".encode()).hexdigest()[:16]
    return tag, cache / "first-runs" / f"{key}.json"
