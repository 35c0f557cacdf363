"""Doubts about the disks of a finished run. Pure."""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from orchestrator.analysis import results
from orchestrator.analysis.doubts.validity import Reasons, named
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import conservation
from orchestrator.analysis.telemetry.counters import WAL_WRITTEN_BYTES, WRITTEN_BYTES
from orchestrator.analysis.telemetry.disk_demand import BASE_TOLERANCE, overheads
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.facts import GateWord, group
from orchestrator.model import DISK_DEVICE
from orchestrator.tier import GateCheck
from orchestrator.units import counted, format_bytes, format_change, format_number, listed

APART_PCT = 2.0
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


def out_of_reach(run: RunData, _: Values) -> Reasons:
    if limits := ", ".join(named(check) for check in _checks(run, "not reachable")):
        yield (
            f"no queue depth that can be had here reaches the declared limit: {limits}",
            "nothing that runs here can reach it either; compare on a disk that answers sooner",
        )


def bursting(run: RunData, _: Values) -> Reasons:
    yield from _above_its_limit(run)
    if checks := _checks(run, "bursting"):
        disks = listed([*dict.fromkeys(check.disk for check in checks)])
        yield (
            f"{disks or 'the disk'} was above its base rate when it was checked, on burst credit "
            "of unknown size: its figures may be the burst's, not what the tier sustains",
            "use up the credit first (`--drain`), or measure for longer than the burst lasts",
        )


def _above_its_limit(run: RunData) -> Reasons:
    """By the mean of the whole run, where no counter was sampled."""
    limit = run.record.profile.tier.limits.iops
    if limit is None or not run.telemetry.empty:
        return
    for figure in run.record.measurements:
        node_iops = figure.value if figure.metric == "disk_iops" and figure.scope != "all" else 0.0
        if node_iops > (1 + BASE_TOLERANCE) * limit:
            yield (
                f"a node's disk did {format_number(node_iops)} IOPS on average, above the "
                f"{format_number(limit)} of {run.record.profile.tier.name}: only burst credit or a "
                "cache does that, so its figures may not be what the tier sustains",
                "compare with the bucket empty, or over longer than the burst lasts",
            )


def _checks(run: RunData, verdict: GateWord) -> list[GateCheck]:
    gate = run.record.gate
    return [check for check in gate.checks if check.verdict == verdict] if gate else []


def counts(run: RunData, _: Values) -> Reasons:
    """Telemetry's IOPS are the kernel's count; the tier charges what the disk served."""
    for disk, own in _disks(run).items():
        for way in ("read", "write"):
            count = own.get(way)
            if isinstance(count, Mapping) and count["apart_pct"] > APART_PCT:
                yield (
                    f"{disk}: the kernel counted {count['kernel']:,.0f} {way}s and the disk served "
                    f"{count['served']:,.0f}, {count['apart_pct']:.1f} % apart",
                    "trust the disk's own count; see `disks` among the run's facts",
                )


def slow_host(run: RunData, _: Values) -> Reasons:
    for disk, own in _disks(run).items():
        over_pct, late_s = own.get("over_pct", 0.0), own.get("late_s", 0.0)
        if over_pct <= OVER_PCT and late_s <= LATE_S:
            continue
        yield (
            f"{disk}: for {over_pct:.1f} % of requests this machine alone took longer than the "
            f"tier's latency, and answers woke {late_s * 1e6:.0f} µs late on average",
            "stop what else uses this machine's disk and CPU, or take a faster machine",
        )


def host_errors(run: RunData, _: Values) -> Reasons:
    for disk, own in _disks(run).items():
        if failed := group(own, "end").get("host_errors"):
            yield (
                f"{disk}: this machine could not store {counted(int(failed), 'request')} and "
                "answered with an error at once, where the tier would have written",
                "make room on the machine's disk that has the images, or look at its health",
            )


def overhead(run: RunData, _: Values) -> Reasons:
    for disk in _disks(run):
        for way, cost in overheads(run.record, disk).items():
            if cost.ios < OVERHEAD_IOS or cost.off_pct is None:
                continue
            if abs(cost.off_pct) > OVERHEAD_PCT:
                yield (
                    f"{disk}: loop device and FUSE cost {cost.overhead_us:.0f} µs per {way} in the "
                    f"window, and {cost.taken_off_us:.0f} µs are taken off: that is "
                    f"{format_change(cost.off_pct)} in the time of a {way}",
                    "repeat on a machine that does nothing else; it is measured anew at each start",
                )


def credit_unknown(run: RunData, _: Values) -> Reasons:
    for node, buckets in group(run.record.facts, "burst_credit").items():
        for name, bucket in buckets.items():
            if bucket["state"] == "unknown":
                yield (
                    f"{node}: how much burst credit for {name} its disk had when the window began "
                    f"is not known: {bucket['least_pct']:.0f} to {bucket['most_pct']:.0f} % of a "
                    "full bucket",
                    "use up the credit first (`--drain`), or measure for longer than it lasts",
                )


def shared(run: RunData, _: Values) -> Reasons:
    shares = [
        (", ".join(node.name for node in nodes), disk, "each node")
        for disk, nodes in results.by_disk(run.record.nodes).items()
        if len(nodes) > 1
    ]
    uses_of = _wal_uses(run).items()
    shares += [(listed(uses), disk, "each") for disk, uses in uses_of if len(uses) > 1]
    for names, disk, whom in shares:
        yield (
            f"{names} share the disk {disk[-1]}: the figures of each are the whole disk's",
            f"give {whom} a disk of its own (`disks`, docs/TIERS.md)",
        )


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


def host_cache(run: RunData, _: Values) -> Reasons:
    gate = run.record.gate
    measured = group(gate.device, "disks") if gate else {}
    for path in measured:
        if group(measured, path).get("host_cache") == "shows":
            yield (
                f"a region of {path} that was read twice came faster than the disk's cap the "
                "second time: a cache of the host answers for the disk",
                "turn host caching off for this disk, or read all figures as those of the cache",
            )


def replica_missing(run: RunData, _: Values) -> Reasons:
    """Where each node has a copy of all rows and a disk of its own."""
    cluster, of_disks = run.record.profile.cluster, conservation.written(run)
    copies = cluster.replication_factor
    if not cluster.nodes == len(of_disks) == copies >= ALIKE_FROM:
        return
    usual = median(of_disks.values())
    for node, written in of_disks.items():
        if usual >= LEAST_LOG_BYTES and written < MISSING_SHARE * usual:
            yield (
                f"{node} wrote {format_bytes(written)}, the nodes' median is {format_bytes(usual)},"
                f" and each should have one of {copies} copies: a copy may be missing or behind",
                "see the log of that node; a copy that is behind makes writes look cheaper",
            )


def in_memory(run: RunData, _: Values) -> Reasons:
    given, written = conservation.payload(run).get("written"), conservation.written(run)
    copies = run.record.profile.cluster.replication_factor
    if given and written and sum(written.values()) < (1 - APART_PCT / 100) * copies * given:
        yield (
            f"{format_bytes(sum(written.values()))} were written to the disks, less than "
            f"{copies} × the {format_bytes(given)} that were loaded: the rest was still in memory, "
            "or a copy is missing",
            "measure for longer, so that what memory can hold matters less",
        )


def cloud(run: RunData, _: Values) -> Reasons:
    cloud = group(run.record.facts, "tier", "cloud")
    for difference in cloud.get("differences", ()):
        yield difference, "correct the profile, or the disk; compare only what was bought"
    meant = run.record.profile.cluster.vm or ""
    types = results.identity(run.record).machine_types.values()
    for here in dict.fromkeys((*str(cloud.get("machine") or "").split(", "), *map(str, types))):
        # The catalog's name has the provider before the cloud's own.
        if meant and here and here.lower() != meant.rpartition("/")[2].lower():
            yield (
                f"a machine of the nodes is a {here}, and the profile says {meant}",
                "correct `vm` in the profile, or take the machine that is meant: its caps bind too",
            )


def not_counted(run: RunData, _: Values) -> Reasons:
    said = group(run.record.facts, "database", "disks_not_counted")
    for text in (*(f"{node}: {what}" for node, what in said.items()), *_log_elsewhere(run)):
        yield (
            f"{text}: figures of the disks are not all that the database asked of them",
            "name the device of the data in `existing.devices`, and let node_exporter see the "
            "mounts of all directories",
        )


def _log_elsewhere(run: RunData) -> Iterator[str]:
    """A log that grows faster than the disks that count are written: no directory says so, because
    `pg_wal` may be a link, and a path another one outside of a container."""
    facts, record = results.database(run.record), run.record
    begin, measure, growth = record.phase("warm-up"), record.phase("measure"), run.telemetry.growth
    nodes = [node for node in record.nodes if DISK_DEVICE in node.sources]
    if facts.more.get("flavour") == "postgresql":
        nodes = nodes[:1]  # the log that is read is its
    log_bytes = facts.counter("wal_bytes")
    if not (nodes and begin and measure and growth and log_bytes):
        return
    if not facts.durable and measure.duration_s < WRITTEN_BACK_S:
        return
    grown = [growth.per_s(n.name, m) for n in nodes for m in (WRITTEN_BYTES, WAL_WRITTEN_BYTES)]
    rate, written = log_bytes / (measure.end_s - begin.start_s), sum(filter(None, grown))
    if any(grown) and log_bytes > LEAST_LOG_BYTES and rate > LOG_OVER_WRITTEN * written:
        names = listed([node.name for node in nodes])
        yield (
            f"{names}: the database's log grew by {format_bytes(rate)}/s, and "
            f"{format_bytes(written)}/s were written to the disks that count"
        )


def shared_blocks(run: RunData, _: Values) -> Reasons:
    if _restored(run).get("way") == "reflink":
        yield (
            "the data were restored as reflinks: the first write to each block finds it shared and "
            "takes another, so a run that writes asks more of the disk than the database does",
            "say `snapshots: copy` for runs that write (docs/TIERS.md)",
        )


def copied_volume(run: RunData, _: Values) -> Reasons:
    """Documented by AWS (a block is fetched when first read) and Azure (a background copy)."""
    if (way := _restored(run).get("way")) in ("snapshot", "claim"):
        yield (
            f"the volumes were copies of a {way}: all data were read once before, but a cloud may "
            "go on filling such a disk in the background, and it is slower until that is done",
            "say `snapshots: none`, so that each run loads, to see if that matters",
        )


def not_quiet(run: RunData, _: Values) -> Reasons:
    if _restored(run).get("quiet") is False:
        yield (
            "when the run began, the disk was still busy with something else",
            "see what else uses it, such as a trim or a check of a RAID",
        )


def _restored(run: RunData) -> Mapping[str, Any]:
    """How the data of this run came to its real disk."""
    return group(run.record.facts, "tier", "restored")


def _disks(run: RunData) -> Mapping[str, Mapping[str, Any]]:
    return group(run.record.facts, "disks")
