"""Doubts about truth gates: none before a run, a long time before it, or unlike ones. Pure.

A gate says what a disk is, before anything is measured on it. A real disk is checked before
a tier's first run, after the last, and as often between as asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import dropwhile, pairwise
from operator import attrgetter

from orchestrator.analysis import results
from orchestrator.analysis.doubts.effects import is_only_told, limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.facts import GateQuantity
from orchestrator.model import Doubt
from orchestrator.tier import Gate, GateCheck
from orchestrator.units import (
    format_change,
    format_quantity,
    format_seconds,
    gathered,
)

GATE_AGE_S = 24 * 3600.0
# A gate is kept while nothing that it depends on changes.
KEPT_GATE_AGE_S = 7 * GATE_AGE_S
# Deviation that a gate allows, so a later one may differ by as much.
_RATE_PCT = 5.0
_LATENCY_PCT = 15.0
_JITTER_S = 100e-6  # what the processor's waking alone may change of a latency
_ALLOWED_PCT: Mapping[GateQuantity | None, float] = {
    "iops_read": _RATE_PCT,
    "iops_write": _RATE_PCT,
    "iops_mixed": _RATE_PCT,
    "bandwidth_read": _RATE_PCT,
    "bandwidth_write": _RATE_PCT,
    "latency_read": _LATENCY_PCT,
    "latency_write": _LATENCY_PCT,
}


# ------------------------------------------------------------------ of a run


def truth_gate(run: RunData, _: Totals) -> Doubts:
    """A doubt if there was no disk check, or if it was long before the run."""
    if _lacks_gate(run):
        yield _without_gate(run)
        return
    gate = run.record.gate
    window = results.measured_window(run.record)
    if gate is None or window is None:
        return
    most_s = GATE_AGE_S
    if gate.reused:
        most_s = KEPT_GATE_AGE_S
    age_s = window[0] - gate.taken_s
    if age_s > most_s:
        yield _old_truth_gate(age_s, run.record.profile.name)


def _lacks_gate(run: RunData) -> bool:
    """Whether nothing was measured of its disk, although it has one with limits."""
    gate = run.record.gate
    if gate is None:
        return True
    disk = run.record.profile.tier.disk
    # A disk without limits has nothing to check.
    return not gate.checks and disk.has_limits


def _without_gate(run: RunData) -> Doubt:
    profile = run.record.profile
    if profile.tier.disk.is_of_others:
        return _no_truth_gate_of_others(profile.tier.name)
    return _no_truth_gate(profile.tier.name, profile.name)


# ------------------------------------------------------------------ over a campaign


@dataclass(frozen=True)
class _GateReading:
    """What one gate measured of one disk and quantity."""

    taken_s: float
    check: GateCheck

    @property
    def measured(self) -> float:
        return self.check.measured

    @property
    def words(self) -> str:
        figure = format_quantity(self.measured, self.check.unit)
        return f"{figure} at {_time(self.taken_s)}"


_by_measured = attrgetter("measured")
_by_time = attrgetter("taken_s")


def gate_drift(campaign: Results) -> Doubts:
    """Each disk and quantity once, with the two gates furthest apart."""
    for tier, gates in _by_tier(campaign).items():
        for readings in _readings(gates):
            low = min(readings, key=_by_measured)
            high = max(readings, key=_by_measured)
            if _have_drifted(low, high):
                first, then = sorted((low, high), key=_by_time)
                yield _drift(tier, first, then)


def _readings(gates: Sequence[Gate]) -> Iterator[list[_GateReading]]:
    """For each disk and quantity, its readings in the order of time."""
    by_quantity: dict[tuple[str, GateQuantity | None], list[_GateReading]] = {}
    have_keys = _have_keys(gates)
    # Readings begin with the first that passed: nothing was measured before it.
    for gate in dropwhile(_has_failed, gates):
        for check in gate.checks:
            # What a disk does on burst credit is its credit, not the disk.
            if check.quantity not in _ALLOWED_PCT or check.verdict == "bursting":
                continue
            disk = check.disk
            if have_keys:
                disk = check.disk_key
            readings = by_quantity.setdefault((disk, check.quantity), [])
            readings.append(_GateReading(gate.taken_s, check))
    yield from by_quantity.values()


def _have_keys(gates: Sequence[Gate]) -> bool:
    """Whether each check has the key of its disk. Gates of earlier releases have its title
    alone."""
    for gate in gates:
        for check in gate.checks:
            if not check.disk_key:
                return False
    return True


def _has_failed(gate: Gate) -> bool:
    return not gate.passed


def _have_drifted(low: _GateReading, high: _GateReading) -> bool:
    first, _ = sorted((low, high), key=_by_time)
    most_pct = _ALLOWED_PCT[first.check.quantity]
    # A change in % needs a first reading above zero.
    if first.measured <= 0:
        return False
    if high.measured <= (1 + most_pct / 100) * low.measured:
        return False
    # What the processor's waking changes is more than 15 % of a short latency.
    is_latency = first.check.unit == "s"
    return not is_latency or high.measured - low.measured > _JITTER_S


def _drift(tier: str, first: _GateReading, then: _GateReading) -> Doubt:
    change_pct = 100 * (then.measured / first.measured - 1)
    # A check names its own disk only where a tier has several.
    disk = first.check.disk or tier
    figures = f"{first.words}, {then.words}"
    return _gate_drift(disk, first.check.limit, figures, change_pct)


@dataclass(frozen=True)
class _Window:
    run: int
    start_s: float
    end_s: float


def gates_afterwards(campaign: Results) -> Doubts:
    """Doubts about checks after the runs: one failed, or none was made."""
    profiles = campaign.plan.profiles
    real = {profile.tier.name for profile in profiles if profile.tier.disk.is_real}
    for tier, gates in _by_tier(campaign).items():
        windows = list(_windows(campaign, tier))
        for before, after in pairwise(gates):
            # No run begins behind a failed check, so only those behind a passed one are in doubt.
            if before.passed and not after.passed:
                yield from _failed_between(tier, before, after, windows)
        # An emulated disk is ours, and does not change behind our back.
        if tier in real and _is_before_the_last(gates[-1], windows):
            yield _no_gate_afterwards(tier)


def _is_before_the_last(gate: Gate, windows: Sequence[_Window]) -> bool:
    """Whether a gate that measured something was taken before the last window ended."""
    last_s = max([window.end_s for window in windows], default=0.0)
    return bool(gate.checks) and gate.taken_s < last_s


def _windows(campaign: Results, tier: str) -> Iterator[_Window]:
    for run in campaign.done:
        window = results.measured_window(run.record)
        if run.record.profile.tier.name == tier and window:
            start_s, end_s = window
            yield _Window(run.record.run.number, start_s, end_s)


def _failed_between(
    tier: str, before: Gate, after: Gate, windows: Sequence[_Window]
) -> Doubts:
    """Doubts about runs that were measured between a passed check and a failed check."""
    failed = [check for check in after.checks if not check.passed]
    bad = "; ".join([f"{check.limit} {check.verdict}" for check in failed])
    before_time = _time(before.taken_s)
    after_time = _time(after.taken_s)
    # It may have changed before, in or behind any of the runs between the two.
    for window in windows:
        if before.taken_s <= window.start_s and window.end_s <= after.taken_s:
            yield _gate_failed_afterwards(
                window.run, tier, before_time, after_time, bad
            )


def _by_tier(campaign: Results) -> dict[str, list[Gate]]:
    in_time = sorted(campaign.gates, key=_by_time)
    return gathered((gate.tier, gate) for gate in in_time)


def _time(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


# ------------------------------------------------------------------ in words


def _no_truth_gate(tier: str, profile: str) -> Doubt:
    return is_only_told(
        "no truth gate",
        _nothing_says_what_it_is(tier),
        advice=f"run `tierbench calibrate --profile {profile}`",
    )


def _no_truth_gate_of_others(tier: str) -> Doubt:
    return is_only_told(
        "no truth gate",
        _nothing_says_what_it_is(tier),
        advice="run fio on the nodes' own disks: those of a cluster that others run are "
        "not measured",
    )


def _nothing_says_what_it_is(tier: str) -> str:
    return f"no disk check was made, so the disk may not be what {tier} declares"


def _old_truth_gate(age_s: float, profile: str) -> Doubt:
    return is_only_told(
        "old truth gate",
        f"the disk check was made {format_seconds(age_s)} before the measured window",
        advice=f"run `tierbench calibrate --profile {profile}` first",
    )


def _gate_drift(disk: str, limit: str, figures: str, change_pct: float) -> Doubt:
    return is_only_told(
        "gate drift",
        f"the disk of {disk} changed while it was used: {limit}: {figures} "
        f"({format_change(change_pct)})",
        advice="runs between the two disk checks are not alike (see gates.json). Use "
        "`--gate-every` to find out when the disk changed, and ask the provider",
    )


def _gate_failed_afterwards(
    run: int, tier: str, before: str, after: str, bad: str
) -> Doubt:
    """`before`, `after`: when the two gates were taken, in words."""
    return limits_the_answer(
        "gate failed afterwards",
        f"the disk of {tier} passed its check at {before} and failed it at {after}: {bad}",
        "repeat this run: whether its disk was already different is not known",
        run,
    )


def _no_gate_afterwards(tier: str) -> Doubt:
    return is_only_told(
        "no gate afterwards",
        f"the disk of {tier} was not checked after its last run. Whether it had changed by "
        "then is not known",
        advice=f"`tierbench calibrate --profile {tier}` checks it now",
    )
