"""Doubts about the disks of a finished run. Pure."""

from collections.abc import Mapping, Sequence
from statistics import median

from orchestrator import model, units
from orchestrator.analysis import results
from orchestrator.analysis.doubts.effects import (
    forbids_a_conclusion,
    is_only_told,
    limits_the_answer,
)
from orchestrator.analysis.doubts.validity import Doubts, named
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import conservation, disk_demand, resources
from orchestrator.analysis.telemetry.counters import WAL_WRITTEN_BYTES, WRITTEN_BYTES
from orchestrator.facts import GateWord, group
from orchestrator.model import Doubt
from orchestrator.tier import GateCheck
from orchestrator.units import format_bytes, format_change, format_number, listed

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
    limits = ", ".join(named(check) for check in _checks(run, "not reachable"))
    if limits:
        yield _limit_not_verified(limits)
    yield from _above_its_limit(run)
    checks = _checks(run, "bursting")
    if checks:
        disks = [*dict.fromkeys(check.disk or "the disk" for check in checks)]
        yield _bursting_in_the_gate(disks)


def _above_its_limit(run: RunData) -> Doubts:
    """By the mean of the whole run, where no counter was sampled."""
    tier = run.record.profile.tier
    every = run.record.measurements
    limit = tier.limits.iops
    if limit is None or not run.telemetry.empty:
        return
    for node_iops in (
        m.value for m in every if m.metric == "disk_iops" and m.scope != "all"
    ):
        if node_iops > (1 + disk_demand.BASE_TOLERANCE) * limit:
            yield _bursting_by_the_mean(node_iops, limit, tier.name)


def _checks(run: RunData, verdict: GateWord) -> list[GateCheck]:
    gate = run.record.gate
    if gate:
        return [check for check in gate.checks if check.verdict == verdict]
    return []


def served(run: RunData, _: resources.Values) -> Doubts:
    """By what the servers of emulated disks counted. Telemetry's IOPS are the kernel's count; the
    tier charges what the disk served."""
    for disk, own in group(run.record.facts, "disks").items():
        for way in ("read", "write"):
            count = own.get(way)
            if isinstance(count, Mapping) and count["apart_pct"] > APART_PCT:
                yield _counts_differ(
                    disk, way, count["kernel"], count["served"], count["apart_pct"]
                )
        over_pct = own.get("over_pct", 0.0)
        late_s = own.get("late_s", 0.0)
        if over_pct > OVER_PCT or late_s > LATE_S:
            yield _host_slower_than_the_tier(disk, over_pct, late_s)
        failed = group(own, "end").get("host_errors")
        if failed:
            yield _host_errors(disk, int(failed))
        if run.record.profile.tier.disk.in_memory:
            continue  # it has no latency that the way to it is a part of
        for way, cost in disk_demand.overheads(run.record, disk).items():
            if cost.ios >= OVERHEAD_IOS and abs(cost.off_pct or 0.0) > OVERHEAD_PCT:
                yield _overhead_differs(disk, way, cost)


def credit_unknown(run: RunData, _: resources.Values) -> Doubts:
    for node, buckets in group(run.record.facts, "burst_credit").items():
        for name, bucket in buckets.items():
            if bucket["state"] == "unknown":
                yield _burst_credit_unknown(
                    node, name, bucket["least_pct"], bucket["most_pct"]
                )


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
        yield _shared_disk(names, disk[-1], whom)


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
    if gate:
        measured = group(gate.device, "disks")
    else:
        measured = {}
    for path in measured:
        if group(measured, path).get("host_cache") == "shows":
            yield _host_cache(path)


def copies(run: RunData, _: resources.Values) -> Doubts:
    """Whether each disk was written what copies take. Of the nodes one can be told from the others
    where each has a copy of all rows and a disk of its own. Where it is known to the byte what
    copies take: all disks against the payload, then each disk against its node's own account."""
    cluster = run.record.profile.cluster
    of_disks = conservation.written(run)
    copies = cluster.replication_factor
    moved = sum(of_disks.values())
    if cluster.nodes == len(of_disks) == copies >= ALIKE_FROM:
        usual = median(of_disks.values())
        for node, written in of_disks.items():
            if usual >= LEAST_LOG_BYTES and written < MISSING_SHARE * usual:
                yield _replica_missing(node, written, usual, copies)
    given = conservation.payload(run, "written")
    if given and of_disks and moved < (1 - APART_PCT / 100) * copies * given:
        yield _data_in_memory(moved, copies, given)
    whole = conservation.of_copies(run)
    together = "all disks together"
    if whole:
        must = {together: whole, **conservation.of_node(run)}
    else:
        must = {}
    for where, wanted in must.items():
        written = {together: moved, **of_disks}.get(where, 0.0)
        if wanted and abs(off_pct := 100 * (written / wanted - 1)) > COPIES_PCT:
            yield _copies_differ(where, written, wanted, off_pct)


def cloud(run: RunData, _: resources.Values) -> Doubts:
    cloud = group(run.record.facts, "tier", "cloud")
    for difference in cloud.get("differences", ()):
        yield _another_disk(difference)
    meant = run.record.profile.cluster.vm or ""
    types = results.identity(run.record).machine_types.values()
    for here in dict.fromkeys(
        (*str(cloud.get("machine") or "").split(", "), *map(str, types))
    ):
        # The catalog's name has the provider before the cloud's own.
        if meant and here and here.lower() != meant.rpartition("/")[2].lower():
            yield _another_machine(here, meant)


def not_counted(run: RunData, _: resources.Values) -> Doubts:
    said = group(run.record.facts, "database", "disks_not_counted")
    for node, what in said.items():
        yield _disks_not_counted(node, what)
    yield from _log_elsewhere(run)


def _log_elsewhere(run: RunData) -> Doubts:
    """A log that grows faster than the disks that count are written: no directory says so, because
    `pg_wal` may be a link, and a path another one outside of a container."""
    facts = results.database(run.record)
    record = run.record
    begin = record.phase("warm-up")
    measure = record.phase("measure")
    growth = run.telemetry.growth
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
    rate = log_bytes / (measure.end_s - begin.start_s)
    written = sum(filter(None, grown))
    if any(grown) and log_bytes > LEAST_LOG_BYTES and rate > LOG_OVER_WRITTEN * written:
        names = [node.name for node in nodes]
        yield _log_on_another_disk(names, rate, written)


def restored(run: RunData, _: resources.Values) -> Doubts:
    """How the data of this run came to its real disk. That volumes fetch a block when it is first
    read is documented by AWS, and by Azure that they copy in the background."""
    told = group(run.record.facts, "tier", "restored")
    if told.get("way") == "reflink":
        yield _shared_blocks()
    if told.get("quiet") is False:
        yield _disk_not_quiet()
    way = told.get("way")
    if way in ("snapshot", "claim"):
        yield _copied_volume(way)


DISK_CHECKS = (
    by_gate, served, shared, host_cache, cloud, credit_unknown, restored,
    not_counted, copies,
)  # fmt: skip


# ------------------------------------------------------------------ in words


def _limit_not_verified(limits: str) -> Doubt:
    return limits_the_answer(
        "limit not verified",
        f"no queue depth that can be had here reaches the declared limit: {limits}",
        advice="nothing that runs here can reach it either; compare on a disk that answers "
        "sooner",
    )


def _bursting_in_the_gate(disks: Sequence[str]) -> Doubt:
    return forbids_a_conclusion(
        "bursting disk",
        f"{listed(disks)} was above its base rate when it was checked, on burst credit of "
        "unknown size: its figures may be the burst's, not what the tier sustains",
        advice="use up the credit first (`--drain`), or measure for longer than the burst "
        "lasts",
    )


def _bursting_by_the_mean(iops: float, limit_iops: float, tier: str) -> Doubt:
    return forbids_a_conclusion(
        "bursting disk",
        f"a node's disk did {format_number(iops)} IOPS on average, above the "
        f"{format_number(limit_iops)} of {tier}: only burst credit or a cache does that, so "
        "its figures may not be what the tier sustains",
        advice="compare with the bucket empty, or over longer than the burst lasts",
    )


def _counts_differ(
    disk: str, way: str, kernel: float, served: float, apart_pct: float
) -> Doubt:
    """`kernel`, `served`: requests of this way ("read", "write") that each of them counted."""
    return is_only_told(
        "counts differ",
        f"{disk}: the kernel counted {kernel:,.0f} {way}s and the disk served "
        f"{served:,.0f}, {apart_pct:.1f} % apart",
        advice="trust the disk's own count; see `disks` among the run's facts",
    )


def _host_slower_than_the_tier(disk: str, over_pct: float, late_s: float) -> Doubt:
    return limits_the_answer(
        "host slower than the tier",
        f"{disk}: for {over_pct:.1f} % of requests this machine alone took longer than the "
        f"tier's latency, and answers woke {late_s * 1e6:.0f} µs late on average",
        advice="stop what else uses this machine's disk and CPU, or take a faster machine",
    )


def _host_errors(disk: str, requests: int) -> Doubt:
    failed = units.counted(requests, "request")
    return forbids_a_conclusion(
        "host errors",
        f"{disk}: this machine could not store {failed} and answered with an error at once, "
        "where the tier would have written",
        advice="make room on the machine's disk that has the images, or look at its health",
    )


def _overhead_differs(disk: str, way: str, cost: disk_demand.Overhead) -> Doubt:
    """Of a `cost` from which something is taken off."""
    return is_only_told(
        "overhead differs",
        f"{disk}: loop device and FUSE cost {cost.overhead_us:.0f} µs per {way} in the "
        f"window, and {cost.taken_off_us or 0.0:.0f} µs are taken off: that is "
        f"{format_change(cost.off_pct or 0.0)} in the time of a {way}",
        advice="repeat on a machine that does nothing else; it is measured anew at each "
        "start",
    )


def _burst_credit_unknown(
    node: str, name: str, least_pct: float, most_pct: float
) -> Doubt:
    """`name`: of the bucket, "IOPS" or "bytes"; `least_pct`, `most_pct`: what it had."""
    return limits_the_answer(
        "burst credit unknown",
        f"{node}: how much burst credit for {name} its disk had when the window began is not "
        f"known: {least_pct:.0f} to {most_pct:.0f} % of a full bucket",
        advice="use up the credit first (`--drain`), or measure for longer than it lasts",
    )


def _shared_disk(names: str, disk: str, whom: str) -> Doubt:
    """`whom`: who should have a disk of its own: "each node" or "each"."""
    return limits_the_answer(
        "shared disk",
        f"{names} share the disk {disk}: the figures of each are the whole disk's",
        advice=f"give {whom} a disk of its own (`disks`, docs/TIERS.md)",
    )


def _host_cache(path: str) -> Doubt:
    return limits_the_answer(
        "host cache",
        f"a region of {path} that was read twice came faster than the disk's cap the second "
        "time: a cache of the host answers for the disk",
        advice="turn host caching off for this disk, or read all figures as those of the "
        "cache",
    )


def _another_disk(difference: str) -> Doubt:
    return limits_the_answer(
        "another disk than declared",
        difference,
        advice="correct the profile, or the disk; compare only what was bought",
    )


def _another_machine(here: str, meant: str) -> Doubt:
    return limits_the_answer(
        "another disk than declared",
        f"a machine of the nodes is a {here}, and the profile says {meant}",
        advice="correct `vm` in the profile, or take the machine that is meant: its caps "
        "bind too",
    )


_NAME_THE_DEVICE = (
    "name the device of the data in `existing.devices`, and let node_exporter see the mounts "
    "of all directories"
)


def _disks_not_counted(node: str, what: str) -> Doubt:
    return limits_the_answer(
        "disks not counted",
        f"{node}: {what}: figures of the disks are not all that the database asked of them",
        advice=_NAME_THE_DEVICE,
    )


def _log_on_another_disk(
    nodes: Sequence[str], log_bytes_per_s: float, written_bytes_per_s: float
) -> Doubt:
    return limits_the_answer(
        "disks not counted",
        f"{listed(nodes)}: the database's log grew by {format_bytes(log_bytes_per_s)}/s, and "
        f"{format_bytes(written_bytes_per_s)}/s were written to the disks that count: "
        "figures of the disks are not all that the database asked of them",
        advice=_NAME_THE_DEVICE,
    )


def _shared_blocks() -> Doubt:
    return is_only_told(
        "shared blocks",
        "the data were restored as reflinks: the first write to each block finds it shared "
        "and takes another, so a run that writes asks more of the disk than the database "
        "does",
        advice="say `snapshots: copy` for runs that write (docs/TIERS.md)",
    )


def _disk_not_quiet() -> Doubt:
    return is_only_told(
        "disk not quiet",
        "when the run began, the disk was still busy with something else",
        advice="see what else uses it, such as a trim or a check of a RAID",
    )


def _copied_volume(way: str) -> Doubt:
    """`way`: what volumes were copied from, "snapshot" or "claim"."""
    return is_only_told(
        "copied volume",
        f"the volumes were copies of a {way}: all data were read once before, but a cloud "
        "may go on filling such a disk in the background, and it is slower until that is "
        "done",
        advice="say `snapshots: none`, so that each run loads, to see if that matters",
    )


def _replica_missing(
    node: str, written_bytes: float, usual_bytes: float, copies: int
) -> Doubt:
    return limits_the_answer(
        "replica missing",
        f"{node} wrote {format_bytes(written_bytes)}, the nodes' median is "
        f"{format_bytes(usual_bytes)}, and each should have one of {copies} copies: a copy "
        "may be missing or behind",
        advice="see the log of that node; a copy that is behind makes writes look cheaper",
    )


def _data_in_memory(written_bytes: float, copies: int, given_bytes: float) -> Doubt:
    return limits_the_answer(
        "data in memory",
        f"{format_bytes(written_bytes)} were written to the disks, less than {copies} × the "
        f"{format_bytes(given_bytes)} that were loaded: the rest was still in memory, or a "
        "copy is missing",
        advice="measure for longer, so that what memory can hold matters less",
    )


def _copies_differ(
    where: str, written_bytes: float, wanted_bytes: float, off_pct: float
) -> Doubt:
    return limits_the_answer(
        "copies differ",
        f"{where}: {format_bytes(written_bytes)} were written, {format_change(off_pct)} "
        f"against the {format_bytes(wanted_bytes)} that copies and checksums take",
        advice="more: something else wrote to the disk; less: it was still in memory, a copy "
        "is missing, or a counter lies; with little data the file system's own writes are as "
        "much",
    )
