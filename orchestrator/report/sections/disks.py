"""The tiers as declared, as found, as fio measured them before use, and what they cost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator import units
from orchestrator.analysis.telemetry.use.emulation_overhead import Overhead, overheads
from orchestrator.design.latency_quantiles import described
from orchestrator.model import Profile
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Items,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    table_of,
)
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import reported_limits
from orchestrator.report.sections.found_disks import as_found
from orchestrator.report.sections.gates import runs_of_tier, table_of_gates
from orchestrator.report.wording import sentence
from orchestrator.texts import prose
from orchestrator.tier import (
    Burst,
    DiskKind,
    Latencies,
    Origin,
    Tier,
)


def section(index: ReportIndex) -> Section:
    """All that is known of the disks, from what was declared to where that was read."""
    return Section("disks", "The disk tiers", tuple(_parts(index)))


def _parts(index: ReportIndex) -> Iterator[Part]:
    yield Part("Declared, per disk", (_declared(index),))
    yield from as_found(index)
    yield from reported_limits.of_each_disk(index)
    title = "Disk check: fio on each tier's disk before it was used"
    yield Part(title, (table_of_gates(index),))
    yield from _overhead_parts(index)
    yield Part("Sources and prices", (_sources(index),))


# ------------------------------------------------------------------ declared

# A real disk is held to its limits by its provider, so nothing throttles it here.
HELD_BY: Mapping[DiskKind, str] = {
    "emulated": "emulated block device",
    "mounted": "real disk, not throttled",
    "storage-class": "volume of a StorageClass, not throttled",
    "existing": "not enforced: the disk of a cluster that others run",
    "none": "not limited",
    "dry": "nothing: a rehearsal, there was no disk",
}


def _declared(index: ReportIndex) -> Table:
    """A row for each disk of a tier: that of its data, all together, that of its WAL."""
    rows: list[Row] = []
    for profile in index.profiles:
        tier = profile.tier
        rows.append(_declared_row(profile.name, tier, _held_by(tier)))
        # The disks of all nodes may let through less together than the sum of theirs.
        if tier.shared:
            # All but the limits is as of a single disk.
            together = replace(tier, limits=tier.shared)
            held_by = "emulated limit of all disks together"
            rows.append(_declared_row(profile.name, together, held_by))
        # Commits wait for the log's disk alone, so what that declares counts as much.
        if tier.wal:
            held_by = f"for WAL: {_held_by(tier.wal)}"
            rows.append(_declared_row(profile.name, tier.wal, held_by))
        if tier.machine:
            both = replace(tier, limits=tier.machine.limits, latency=Latencies())
            rows.append(_declared_row(profile.name, both, _held_by_machine(tier)))
    return table_of(rows, ("Tier", "Burst", "Enforced by"))


def _held_by_machine(tier: Tier) -> str:
    """What holds the disks of data and log together to what their machine lets through."""
    assert tier.machine is not None
    vm = tier.machine.vm
    if tier.disk.is_real:
        return f"both disks together, by their machine ({vm})"
    return f"emulated limit of both disks together, as of their machine ({vm})"


def _declared_row(name: str, tier: Tier, held_by: str) -> dict[str, Cell | str]:
    row: dict[str, Cell | str] = {}
    row["Tier"] = Cell(name, detail=tier.title, tier=name)
    row["IOPS"] = wording.declared(tier.limits.iops, "")
    row["Bandwidth"] = wording.declared(tier.limits.bytes_per_s, "bytes/s")
    row["Read latency"] = wording.declared(tier.latency.read_s, "s")
    row["Write latency"] = wording.declared(tier.latency.write_s, "s")
    row["Burst"] = _burst(tier)
    row["Enforced by"] = held_by
    return row


def _held_by(tier: Tier) -> str:
    """`emulated block device`; with the mechanism, if that is not the kind's own."""
    # A mechanism may have another name than the kind of its disks, as one of an extension.
    disk = tier.disk
    if disk.enforcement == disk.kind:
        return HELD_BY[disk.kind]
    return f"{HELD_BY[disk.kind]} ({disk.enforcement})"


def _burst(tier: Tier) -> str:
    burst = tier.limits.burst
    if burst is not None:
        return _burst_in_words(burst)
    # Whether disks of others burst is theirs to know.
    if tier.disk.is_of_others:
        return "not modelled"
    return "none"


def _burst_in_words(burst: Burst) -> str:
    rates: list[str] = []
    if burst.iops is not None:
        rates.append(units.format_quantity(burst.iops, "IOPS"))
    if burst.bytes_per_s is not None:
        rates.append(units.format_quantity(burst.bytes_per_s, "bytes/s"))
    most = prose.listed(rates)
    # A burst without end is bought as the disk's own limits, so this one ends.
    lasts = units.format_seconds(burst.duration_s)
    # A short run may see nothing but the burst if the bucket is full.
    credit = units.format_quantity(burst.start_pct, "%")
    return f"up to {most} for {lasts}, credit {credit} at the start"


# ------------------------------------------------------------------ overhead of emulation


def _overhead_parts(index: ReportIndex) -> Iterator[Part]:
    """One row of each tier for its reads, and one for its writes; nothing without counters."""
    rows: list[Row] = []
    for profile in index.profiles:
        rows.extend(_overhead_rows(index, profile.name))
    if rows:
        about = Paragraph(
            "Loop device and FUSE take time of their own, which is measured at the start. It is "
            "taken off the latency of an emulated disk. In the windows: how much longer requests "
            "took for the kernel than for the disk, on average. With many in flight, much of that "
            "is waiting in the loop device's queue."
        )
        table = table_of(rows, ("Tier", "Requests"))
        yield Part("Overhead of emulation", (about, table))


def _overhead_rows(index: ReportIndex, profile: str) -> Iterator[Row]:
    reads: list[Overhead] = []
    writes: list[Overhead] = []
    for run in runs_of_tier(index, profile):
        for disk in run.record.read_facts.disks:
            counted = overheads(run.record, disk)
            # A window without reads, or without writes, has no overhead of them.
            if "read" in counted:
                reads.append(counted["read"])
            if "write" in counted:
                writes.append(counted["write"])
    if reads:
        yield _overhead_row(profile, "reads", reads)
    if writes:
        yield _overhead_row(profile, "writes", writes)


def _overhead_row(
    profile: str, requests: str, windows: Sequence[Overhead]
) -> dict[str, Cell | str]:
    """The overhead in all windows of all its disks, from the least to the most."""
    row: dict[str, Cell | str] = {"Tier": Cell(profile, tier=profile)}
    row["Requests"] = requests
    # Taken off is what it costs without load; under load it costs more, or less.
    row["Taken off, µs"] = _range(window.taken_off_us for window in windows)
    row["In the windows, µs"] = _range(window.overhead_us for window in windows)
    row["Change in a request's time, at most"] = _widest_change(windows)
    row["In flight"] = _range(window.queue_depth for window in windows)
    return row


def _widest_change(windows: Iterable[Overhead]) -> str:
    changes_pct: list[float] = []
    for window in windows:
        if window.off_pct is not None:
            changes_pct.append(window.off_pct)
    if not changes_pct:
        return ""
    # The worst counts in either direction: requests may also take less time than they should.
    return units.format_change(max(changes_pct, key=abs))


def _range(values: Iterable[float | None]) -> str:
    """`1.5 to 3`, without those that are not known; `1.5` if all are alike."""
    present = [value for value in values if value is not None]
    if not present:
        return ""
    low = units.format_number(round(min(present), 1))
    high = units.format_number(round(max(present), 1))
    if low == high:
        return low
    return f"{low} to {high}"


# ------------------------------------------------------------------ sources and prices


def _sources(index: ReportIndex) -> Items:
    """Where each tier's limits and price were read, with the notes on them."""
    rows: list[Paragraph] = []
    for profile in index.profiles:
        texts = [sentence(text) for text in _about_origin(profile) if text]
        rows.append(Paragraph(" ".join(texts), lead=profile.name))
    return Items(tuple(rows))


def _about_origin(profile: Profile) -> Iterator[str]:
    """May hold empty texts."""
    tier = profile.tier
    yield f"limits: {_source(tier.origin)}"
    latency = described(tier)
    # An emulated disk alone has a latency of ours.
    if latency:
        yield f"latency: {latency}"
    yield tier.origin.notes.strip()
    # The machine's own caps may bind before those of the disk.
    for cap in tier.origin.vm_caps:
        yield cap.text
    yield f"price of a disk: {wording.price(tier.price)}"
    if tier.wal:
        yield f"price of a disk for WAL: {wording.price(tier.wal.price)}"


def _source(origin: Origin) -> str:
    if not origin.source:
        return "source not stated"
    if not origin.as_of:
        return origin.source
    return f"{origin.source}, as of {origin.as_of}"
