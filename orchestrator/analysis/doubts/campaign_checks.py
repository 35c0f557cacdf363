"""Doubts about a whole campaign, each with what to do about it. Pure."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import dropwhile, pairwise

from orchestrator.analysis import comparability, results
from orchestrator.analysis.conclusions import Delta
from orchestrator.analysis.doubts.validity import doubt
from orchestrator.analysis.results import Results
from orchestrator.facts import DoubtKind
from orchestrator.model import Doubt
from orchestrator.planning import costs, latency_quantiles, notes, rehearsal
from orchestrator.tier import DiskKind, Gate
from orchestrator.tier_catalog import prices
from orchestrator.units import format_change, format_quantity, gathered

GOOD_REPETITIONS = 5
OLD_PRICE_DAYS = 365
_RATE_PCT, _LATENCY_PCT = (
    5.0,
    15.0,
)  # what a gate allows, so a later one may differ by as much
_JITTER_S = 100e-6  # what the processor's waking alone may change of a latency
_RATES = ("iops_read", "iops_write", "iops_mixed", "bandwidth_read", "bandwidth_write")
_LATENCIES = ("latency_read", "latency_write")
_ALLOWED_PCT = dict.fromkeys(_RATES, _RATE_PCT) | dict.fromkeys(
    _LATENCIES, _LATENCY_PCT
)

_NOT_THE_REAL_DISK: dict[DiskKind, DoubtKind] = {
    "emulated": "emulated tier",
    "cgroup": "cgroup tier",
    "none": "none tier",
}


def rehearsed(campaign: Results) -> Iterator[Doubt]:
    """First of all: then there are no figures to doubt one by one."""
    cells = results.cells(campaign)
    if any(rehearsal.is_rehearsed(cell.profile, cell.workload) for cell in cells):
        yield Doubt("rehearsal", rehearsal.WARNING, rehearsal.ADVICE)


def published(campaign: Results) -> Iterator[Doubt]:
    """Instead of doubts that every gate, sample and raw file is missing."""
    for note in campaign.plan.notes:
        if note.kind == "published figures":
            yield doubt("published figures", text=note.text)


def cells(campaign: Results) -> Iterator[Doubt]:
    """That they were measured once, or not at all."""
    every = list(results.cells(campaign))
    if single := [cell.title for cell in every if len(cell.finished) == 1]:
        some = "" if campaign.plan.repetitions == 1 else "of some"
        case = "published" if campaign.published else some
        yield doubt(
            "one repetition", case, cells=", ".join(single), good=GOOD_REPETITIONS
        )
    for cell in (cell for cell in every if cell.missing):
        case, without = "published" if campaign.published else "", cell.without_figures
        told = partial(
            doubt, "missing cell", case, absent=campaign.absent, without=without
        )
        yield told(cell=cell.title, excluded=cell.excluded)


def not_the_real_disk(campaign: Results) -> Iterator[Doubt]:
    profiles = campaign.plan.tiers
    by_kind = gathered((profile.tier.disk.kind, profile) for profile in profiles)
    for disk, of_kind in by_kind.items():
        if disk in _NOT_THE_REAL_DISK:
            tails = gathered(
                (latency_quantiles.described(p.tier), p.name) for p in of_kind
            )
            said = [
                f"; latency of {', '.join(of)}: {tail}"
                for tail, of in tails.items()
                if tail
            ]
            names = ", ".join(profile.name for profile in of_kind)
            yield doubt(_NOT_THE_REAL_DISK[disk], tiers=names, tails="".join(said))
    if unlike := notes.unlike_disks(profiles):
        yield doubt("unlike disks", text=unlike)


def vm_caps(campaign: Results) -> Iterator[Doubt]:
    for profile in campaign.plan.tiers:
        for cap in profile.tier.origin.vm_caps:
            yield doubt("VM caps the disk", profile=profile.name, cap=cap)


def old_price(campaign: Results) -> Iterator[Doubt]:
    """A price of more than a year before the campaign began, or of no date."""
    began_s = results.began_s(campaign)
    if began_s is None:
        return
    today = datetime.fromtimestamp(began_s, UTC).date()
    with_vms, _, _ = costs.compare_prices(campaign.plan.tiers)
    for profile in campaign.plan.tiers:
        wal, cluster = profile.tier.wal, profile.cluster
        of_log = (f"{profile.name}'s WAL", wal.price if wal else None)
        of_vm = (f"{profile.name}'s machines", cluster.vm_price if with_vms else None)
        for name, price in ((profile.name, profile.tier.price), of_log, of_vm):
            read = prices.read_on(price.as_of) if price else None
            if price and (read is None or (today - read).days > OLD_PRICE_DAYS):
                yield doubt("old price", of=name, as_of=price.as_of, today=today)


def said_beforehand(campaign: Results) -> Iterator[Doubt]:
    for note in campaign.plan.notes:
        if note.kind in ("fewer nodes", "one disk of several", "gone on despite"):
            yield doubt(note.kind, text=note)
        elif note.kind == "nodes as asked":
            yield doubt("fewer nodes", "as asked", text=note)


def comparable(campaign: Results) -> Iterator[Doubt]:
    """That runs are not, or that it is not known."""
    of_loads = (
        (c.workload.name, run) for c in results.cells(campaign) for run in c.finished
    )
    for workload, runs in gathered(of_loads).items():
        if unlike := comparability.among(runs):
            yield doubt("unlike runs", workload=workload, unlike="; ".join(unlike))
    if unknown := comparability.not_known([run.record for run in campaign.done]):
        yield doubt("not compared", unknown="; ".join(unknown))


def noise_floor(deltas: Sequence[Delta], floor: Sequence[Delta]) -> Iterator[Doubt]:
    """Of one tier under two names (`--aa`). `floor`: the twin against the baseline."""
    for equal in floor:
        if equal.verdict in ("better", "worse"):
            yield doubt(
                "equal tiers told apart", change=_words(equal), verdict=equal.verdict
            )
    within = [
        f"{_words(delta)}, where equal tiers differed by {format_change(equal.change_pct)}"
        for equal in floor
        for delta in deltas
        if (delta.workload, delta.metric, delta.scope)
        == (equal.workload, equal.metric, equal.scope)
        and delta.verdict in ("better", "worse")
        and _size(delta) <= _size(equal)
    ]
    if within:
        yield doubt("below the noise floor", changes="; ".join(within))


def _size(delta: Delta) -> float:
    """Of a ratio and its inverse alike."""
    ratio = 1 + delta.change_pct / 100
    return abs(math.log(ratio)) if ratio > 0 else math.inf


def _words(delta: Delta) -> str:
    scope = "" if delta.scope == "all" else f" of {delta.scope}"
    sides = f"{delta.contender} against {delta.baseline}, {delta.workload}"
    return f"{sides}, {delta.metric}{scope} {format_change(delta.change_pct)}"


# ------------------------------------------------------------------ gates
# A real disk is checked before a tier's first run, after the last, and as often between as asked.


def gate_drift(campaign: Results) -> Iterator[Doubt]:
    """Each disk and quantity once, with the two gates furthest apart, from the first that passed:
    before it nothing was measured. What a disk does on burst credit is its credit, not the disk."""
    for tier, gates in _by_tier(campaign).items():
        seen = gathered(
            ((check.disk, check.limit), (gate.taken_s, check))
            for gate in dropwhile(lambda gate: not gate.passed, gates)
            for check in gate.checks
            if check.quantity in _ALLOWED_PCT and check.verdict != "bursting"
        )
        for (disk, limit), checks in seen.items():
            low, high = (
                pick(checks, key=lambda timed: timed[1].measured) for pick in (min, max)
            )
            (first_s, first), (then_s, then) = sorted(
                (low, high), key=lambda timed: timed[0]
            )
            most_pct = _ALLOWED_PCT[first.quantity or ""]
            if (
                first.measured <= 0
                or high[1].measured <= (1 + most_pct / 100) * low[1].measured
            ):
                continue
            if first.unit == "s" and high[1].measured - low[1].measured <= _JITTER_S:
                continue
            change_pct = 100 * (then.measured / first.measured - 1)
            figures = ", ".join(
                f"{format_quantity(check.measured, check.unit)} at {_time(time_s)}"
                for time_s, check in ((first_s, first), (then_s, then))
            )
            of = disk or tier
            yield doubt(
                "gate drift", disk=of, limit=limit, figures=figures, change=change_pct
            )


def gates_afterwards(campaign: Results) -> Iterator[Doubt]:
    """That one failed, or that none was taken."""
    real = {p.tier.name for p in campaign.plan.profiles if p.tier.disk.is_real}
    for tier, gates in _by_tier(campaign).items():
        done = (run for run in campaign.done if run.record.profile.tier.name == tier)
        timed = [
            (results.measured_window(run.record), run.record.run.number) for run in done
        ]
        windows = [(*window, number) for window, number in timed if window]
        for before, after in pairwise(gates):
            if not before.passed or after.passed:
                continue
            bad = "; ".join(
                f"{c.limit} {c.verdict}" for c in after.checks if not c.passed
            )
            times = {"before": _time(before.taken_s), "after": _time(after.taken_s)}
            for start_s, end_s, number in windows:
                if before.taken_s <= start_s and end_s <= after.taken_s:
                    yield doubt(
                        "gate failed afterwards",
                        "",
                        number,
                        tier=tier,
                        bad=bad,
                        **times,
                    )
        last_s = max((end_s for _, end_s, _ in windows), default=0.0)
        if tier in real and gates[-1].checks and gates[-1].taken_s < last_s:
            yield doubt("no gate afterwards", tier=tier)


def _by_tier(campaign: Results) -> dict[str, list[Gate]]:
    in_time = sorted(campaign.gates, key=lambda gate: gate.taken_s)
    return gathered((gate.tier, gate) for gate in in_time)


def _time(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


CAMPAIGN_CHECKS: tuple[Callable[[Results], Iterable[Doubt]], ...] = (
    rehearsed, published, cells, not_the_real_disk, vm_caps, old_price, said_beforehand, comparable,
    gate_drift, gates_afterwards,
)  # fmt: skip
