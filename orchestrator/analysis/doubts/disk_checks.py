"""Doubts about the disks of a finished run. Pure."""

from collections.abc import Mapping
from functools import partial
from statistics import median

from orchestrator import model, units
from orchestrator.analysis import results
from orchestrator.analysis.doubts.validity import Doubts, doubt, named
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import conservation, disk_demand, resources
from orchestrator.analysis.telemetry.counters import WAL_WRITTEN_BYTES, WRITTEN_BYTES
from orchestrator.facts import GateWord, group
from orchestrator.tier import GateCheck

APART_PCT = 2.0
COPIES_PCT = 1.0
OVER_PCT = 5.0  # of requests; a gate, of seconds, allows more
LATE_S = 150e-6
# How much longer the overhead in a window may make requests, beyond what is taken off: what a gate
# allows the latency. Each sum of the kernel is in ms, so a mean needs some requests.
OVERHEAD_PCT = 15.0
OVERHEAD_IOS = 1_000
# Each byte of a log is written, a durable one's before its commit is answered, others' when the
# kernel writes them back. Load may differ between warm-up and window.
LOG_OVER_WRITTEN = 2.0
WRITTEN_BACK_S = 60.0
ALIKE_FROM = 3  # nodes of which one can be told from the others
MISSING_SHARE = 0.6
LEAST_LOG_BYTES = 16 * 2**20


def by_gate(run: RunData, _: resources.Values) -> Doubts:
    if limits := ", ".join(named(check) for check in _checks(run, "not reachable")):
        yield doubt("limit not verified", limits=limits)
    yield from _above_its_limit(run)
    if checks := _checks(run, "bursting"):
        disks = [*dict.fromkeys(check.disk or "the disk" for check in checks)]
        yield doubt("bursting disk", disks=disks)


def _above_its_limit(run: RunData) -> Doubts:
    """By the mean of the whole run, where no counter was sampled."""
    tier, every = run.record.profile.tier, run.record.measurements
    limit = tier.limits.iops
    if limit is None or not run.telemetry.empty:
        return
    for node_iops in (
        m.value for m in every if m.metric == "disk_iops" and m.scope != "all"
    ):
        if node_iops > (1 + disk_demand.BASE_TOLERANCE) * limit:
            yield doubt(
                "bursting disk",
                "by the mean",
                iops=node_iops,
                limit=limit,
                tier=tier.name,
            )


def _checks(run: RunData, verdict: GateWord) -> list[GateCheck]:
    gate = run.record.gate
    return [check for check in gate.checks if check.verdict == verdict] if gate else []


def served(run: RunData, _: resources.Values) -> Doubts:
    """By what the servers of emulated disks counted. Telemetry's IOPS are the kernel's count; the
    tier charges what the disk served."""
    for disk, own in group(run.record.facts, "disks").items():
        for way in ("read", "write"):
            count = own.get(way)
            if isinstance(count, Mapping) and count["apart_pct"] > APART_PCT:
                yield doubt("counts differ", disk=disk, way=way, **count)
        over_pct, late_s = own.get("over_pct", 0.0), own.get("late_s", 0.0)
        if over_pct > OVER_PCT or late_s > LATE_S:
            late_us = late_s * 1e6
            yield doubt(
                "host slower than the tier",
                disk=disk,
                over_pct=over_pct,
                late_us=late_us,
            )
        if failed := group(own, "end").get("host_errors"):
            yield doubt(
                "host errors", disk=disk, failed=units.counted(int(failed), "request")
            )
        if run.record.profile.tier.disk.in_memory:
            continue  # it has no latency that the way to it is a part of
        for way, cost in disk_demand.overheads(run.record, disk).items():
            if cost.ios >= OVERHEAD_IOS and abs(cost.off_pct or 0.0) > OVERHEAD_PCT:
                yield doubt("overhead differs", disk=disk, way=way, **vars(cost))


def credit_unknown(run: RunData, _: resources.Values) -> Doubts:
    for node, buckets in group(run.record.facts, "burst_credit").items():
        for name, bucket in buckets.items():
            if bucket["state"] == "unknown":
                yield doubt("burst credit unknown", node=node, name=name, **bucket)


def shared(run: RunData, _: resources.Values) -> Doubts:
    shares = [
        (", ".join(node.name for node in nodes), disk, "each node")
        for disk, nodes in results.by_disk(run.record.nodes).items()
        if len(nodes) > 1
    ]
    uses_of = _wal_uses(run).items()
    shares += [
        (units.listed(uses), disk, "each") for disk, uses in uses_of if len(uses) > 1
    ]
    for names, disk, whom in shares:
        yield doubt("shared disk", names=names, disk=disk[-1], whom=whom)


def _wal_uses(run: RunData) -> Mapping[tuple[str, ...], list[str]]:
    """Disks that hold WAL (machine, device), with all that is on them."""
    nodes = [node for node in run.record.nodes if node.role == "database"]
    wal = {(results.place(node), node.wal_device) for node in nodes if node.wal_device}
    uses: dict[tuple[str, ...], list[str]] = {disk: [] for disk in sorted(wal)}
    for node in nodes:
        for device, text in ((node.device, "data"), (node.wal_device, "WAL")):
            if device and (results.place(node), device) in uses:
                uses[results.place(node), device].append(f"{node.name}'s {text}")
    return uses


def host_cache(run: RunData, _: resources.Values) -> Doubts:
    gate = run.record.gate
    measured = group(gate.device, "disks") if gate else {}
    for path in measured:
        if group(measured, path).get("host_cache") == "shows":
            yield doubt("host cache", path=path)


def copies(run: RunData, _: resources.Values) -> Doubts:
    """Whether each disk was written what copies take. Of the nodes one can be told from the others
    where each has a copy of all rows and a disk of its own. Where it is known to the byte what
    copies take: all disks against the payload, then each disk against its node's own account."""
    cluster, of_disks = run.record.profile.cluster, conservation.written(run)
    copies, moved = cluster.replication_factor, sum(of_disks.values())
    if cluster.nodes == len(of_disks) == copies >= ALIKE_FROM:
        usual = median(of_disks.values())
        for node, written in of_disks.items():
            if usual >= LEAST_LOG_BYTES and written < MISSING_SHARE * usual:
                told = partial(doubt, "replica missing", copies=copies, usual=usual)
                yield told(node=node, written=written)
    given = conservation.payload(run, "written")
    if given and of_disks and moved < (1 - APART_PCT / 100) * copies * given:
        yield doubt("data in memory", copies=copies, written=moved, given=given)
    whole, together = conservation.of_copies(run), "all disks together"
    must = {together: whole, **conservation.of_node(run)} if whole else {}
    for where, wanted in must.items():
        written = {together: moved, **of_disks}.get(where, 0.0)
        if wanted and abs(off_pct := 100 * (written / wanted - 1)) > COPIES_PCT:
            yield doubt(
                "copies differ",
                where=where,
                off=off_pct,
                written=written,
                wanted=wanted,
            )


def cloud(run: RunData, _: resources.Values) -> Doubts:
    cloud = group(run.record.facts, "tier", "cloud")
    for difference in cloud.get("differences", ()):
        yield doubt("another disk than declared", difference=difference)
    meant = run.record.profile.cluster.vm or ""
    types = results.identity(run.record).machine_types.values()
    for here in dict.fromkeys(
        (*str(cloud.get("machine") or "").split(", "), *map(str, types))
    ):
        # The catalog's name has the provider before the cloud's own.
        if meant and here and here.lower() != meant.rpartition("/")[2].lower():
            yield doubt("another disk than declared", "machine", here=here, meant=meant)


def not_counted(run: RunData, _: resources.Values) -> Doubts:
    said = group(run.record.facts, "database", "disks_not_counted")
    for node, what in said.items():
        yield doubt("disks not counted", text=f"{node}: {what}")
    yield from _log_elsewhere(run)


def _log_elsewhere(run: RunData) -> Doubts:
    """A log that grows faster than the disks that count are written: no directory says so, because
    `pg_wal` may be a link, and a path another one outside of a container."""
    facts, record = results.database(run.record), run.record
    begin, measure, growth = (
        record.phase("warm-up"),
        record.phase("measure"),
        run.telemetry.growth,
    )
    nodes = [node for node in record.nodes if model.DISK_DEVICE in node.sources]
    if facts.more.get("flavour") == "postgresql":
        nodes = nodes[:1]  # the log that is read is its
    log_bytes = facts.counter("wal_bytes")
    if not (nodes and begin and measure and growth and log_bytes):
        return
    if not facts.durable and measure.duration_s < WRITTEN_BACK_S:
        return
    grown = [
        growth.per_s(n.name, m)
        for n in nodes
        for m in (WRITTEN_BYTES, WAL_WRITTEN_BYTES)
    ]
    rate, written = (
        log_bytes / (measure.end_s - begin.start_s),
        sum(filter(None, grown)),
    )
    if any(grown) and log_bytes > LEAST_LOG_BYTES and rate > LOG_OVER_WRITTEN * written:
        names = [node.name for node in nodes]
        yield doubt("disks not counted", "log", names=names, grew=rate, written=written)


def restored(run: RunData, _: resources.Values) -> Doubts:
    """How the data of this run came to its real disk. That volumes fetch a block when it is first
    read is documented by AWS, and by Azure that they copy in the background."""
    told = group(run.record.facts, "tier", "restored")
    if told.get("way") == "reflink":
        yield doubt("shared blocks")
    if told.get("quiet") is False:
        yield doubt("disk not quiet")
    if (way := told.get("way")) in ("snapshot", "claim"):
        yield doubt("copied volume", way=way)


DISK_CHECKS = (
    by_gate, served, shared, host_cache, cloud, credit_unknown, restored,
    not_counted, copies,
)  # fmt: skip
