"""Typed reasons to distrust a figure, each with what to do about it. Pure.

Kinds about the campaign are here, those about a single run in `run_checks`. Advice is for the
campaign at hand: what was already done is not advised again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from orchestrator.analysis import comparability, results
from orchestrator.analysis.doubts import gate_checks, run_checks
from orchestrator.analysis.results import Results
from orchestrator.analysis.telemetry import resources
from orchestrator.facts import DoubtKind, NoteKind
from orchestrator.model import Doubt, Profile
from orchestrator.planning import latency_quantiles, notes, rehearsal
from orchestrator.tier import DiskKind
from orchestrator.tier_catalog import prices

GOOD_REPETITIONS = 5
OLD_PRICE_DAYS = 365

_NOT_THE_REAL_DISK: dict[DiskKind, tuple[DoubtKind, str, str]] = {
    "emulated": (
        "emulated tier",
        "the disks of {} are emulated on this machine: limits are the tier's, absolute figures are "
        "this machine's",
        "use the differences between tiers; for absolute figures run on the provider's disks "
        "(`enforcement: mounted`)",
    ),
    "cgroup": (
        "cgroup tier",
        "the disks of {} are limited by control groups: neither the tier's latency nor its burst "
        "is there, and buffered writes may escape the limit",
        "use `enforcement: emulated` where FUSE and loop devices are to be had",
    ),
    "none": (
        "none tier",
        "the disks of {} are not limited: their figures say nothing about a tier",
        "use `enforcement: emulated`, or `mounted` on the tier's own disk",
    ),
}


def find(campaign: Results) -> tuple[Doubt, ...]:
    """Every doubt: about the campaign, then run by run, those that runs recorded included."""
    cpus = results.machine_cpus(campaign)
    doubts = [doubt for check in CAMPAIGN_CHECKS for doubt in check(campaign)]
    for run in sorted(campaign.runs, key=lambda run: run.record.run.number):
        doubts += run.record.doubts
        if run.record.outcome == "done":
            doubts += run_checks.doubts(run, resources.total(run, cpus))
    return tuple(dict.fromkeys(doubts))


def _rehearsed(campaign: Results) -> Iterator[Doubt]:
    """First of all: then there are no figures to doubt one by one."""
    cells = results.cells(campaign)
    if any(rehearsal.is_rehearsed(cell.profile, cell.workload) for cell in cells):
        yield Doubt("rehearsal", rehearsal.WARNING, rehearsal.ADVICE)


def _published(campaign: Results) -> Iterator[Doubt]:
    """Instead of doubts that every gate, sample and raw file is missing."""
    for note in campaign.plan.notes:
        if note.kind == "published figures":
            yield Doubt(
                "published figures",
                note.text,
                "hold them against the source; `tierbench compare` measures such a plan here",
            )


def _one_repetition(campaign: Results) -> Iterator[Doubt]:
    single = [cell.title for cell in results.cells(campaign) if len(cell.finished) == 1]
    if not single:
        return
    if results.was_published(campaign.plan):
        text = "each published cell has one value: a difference cannot be told from chance"
        advice = "ask its authors for every repetition, or repeat it"
        yield Doubt("one repetition", text, advice)
        return
    if campaign.plan.repetitions == 1:
        text = "every cell was measured once: a difference cannot be told from chance"
    else:
        text = f"only one repetition finished of {', '.join(single)}: it has no interval"
    yield Doubt("one repetition", text, f"repeat with REPEATS={GOOD_REPETITIONS}")


def _missing_cells(campaign: Results) -> Iterator[Doubt]:
    for cell in results.cells(campaign):
        if cell.missing:
            left_out = "and is left out of every comparison"
            if results.was_published(campaign.plan):
                what, advice = "was not published", "what it would have shown is not known"
            else:
                what = f"has {cell.without_figures}"
                why = "why its runs were excluded" if cell.excluded else "its run's failure"
                advice = f"see {why}, then run the campaign again"
            yield Doubt("missing cell", f"{cell.title} {what} {left_out}", advice)


def _not_the_real_disk(campaign: Results) -> Iterator[Doubt]:
    profiles = campaign.plan.tiers
    by_kind: dict[DiskKind, list[str]] = {}
    for profile in profiles:
        by_kind.setdefault(profile.tier.disk.kind, []).append(profile.name)
    for disk, names in by_kind.items():
        if disk in _NOT_THE_REAL_DISK:
            kind, text, advice = _NOT_THE_REAL_DISK[disk]
            latency = _latency_words(profiles) if disk == "emulated" else ""
            yield Doubt(kind, text.format(", ".join(names)) + latency, advice)
    if unlike := notes.unlike_disks(profiles):
        yield Doubt("unlike disks", unlike, "give all profiles the same `enforcement`")


def _latency_words(profiles: Iterable[Profile]) -> str:
    """Whether emulated latencies have a tail: `; latency of premium, ultra: constant …`."""
    names_of: dict[str, list[str]] = {}
    for profile in profiles:
        if words := latency_quantiles.described(profile.tier):
            names_of.setdefault(words, []).append(profile.name)
    return "".join(f"; latency of {', '.join(names)}: {w}" for w, names in names_of.items())


def _vm_caps(campaign: Results) -> Iterator[Doubt]:
    for profile in campaign.plan.tiers:
        for cap in profile.tier.origin.vm_caps:
            yield Doubt(
                "VM caps the disk",
                f"{profile.name}: {cap}",
                "what is bought above it is lost: take a larger VM, or a smaller disk",
            )


def _old_price(campaign: Results) -> Iterator[Doubt]:
    """A price of more than a year before the campaign began, or of no date."""
    began_s = results.began_s(campaign)
    if began_s is None:
        return
    today = datetime.fromtimestamp(began_s, UTC).date()
    for profile in campaign.plan.tiers:
        price = profile.tier.price
        if price is None:
            continue
        read = prices.read_on(price.as_of)
        if read is None or (today - read).days > OLD_PRICE_DAYS:
            yield Doubt(
                "old price",
                f"the price of {profile.name} is as of {price.as_of}, the campaign of {today}",
                "`tierbench prices update` asks the provider; or give `price` in the profile",
            )


_OF_NOTES: dict[NoteKind, tuple[DoubtKind, str]] = {
    "fewer nodes": (
        "fewer nodes",
        "run on a machine with two cores per node, or set NODES to start them here",
    ),
    "nodes as asked": ("fewer nodes", "leave NODES out on a machine with two cores per node"),
    "one disk of several": (
        "one disk of several",
        "give each disk a profile of its own (`path`) and compare them",
    ),
}


def _said_beforehand(campaign: Results) -> Iterator[Doubt]:
    for note in campaign.plan.notes:
        if note.kind in _OF_NOTES:
            kind, advice = _OF_NOTES[note.kind]
            yield Doubt(kind, str(note), advice)


def _unlike_runs(campaign: Results) -> Iterator[Doubt]:
    for workload in campaign.plan.workloads:
        cells = [cell for cell in results.cells(campaign) if cell.workload is workload]
        if unlike := comparability.among([run for cell in cells for run in cell.finished]):
            yield Doubt(
                "unlike runs",
                f"runs of {workload.name} differ in more than the tier, so they are not compared: "
                f"{'; '.join(unlike)}",
                "make the profiles equal in everything but `tier`, and run them in one campaign",
            )


def _not_compared(campaign: Results) -> Iterator[Doubt]:
    records = [run.record for run in campaign.runs if run.record.outcome == "done"]
    if unknown := comparability.not_known(records):
        yield Doubt(
            "not compared",
            "clusters that others run may differ in more than their disks, because not all of them "
            f"told it: {'; '.join(unknown)}",
            "declare the same `node_exporters`, `masters` and `tservers` for each of them",
        )


CAMPAIGN_CHECKS: tuple[Callable[[Results], Iterable[Doubt]], ...] = (
    _rehearsed,
    _published,
    _one_repetition,
    _missing_cells,
    _not_the_real_disk,
    _vm_caps,
    _old_price,
    _said_beforehand,
    _unlike_runs,
    _not_compared,
    *gate_checks.GATE_CHECKS,
)
