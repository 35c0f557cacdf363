"""Kinds of doubt that several truth gates of one campaign give, or the disks of several runs. Pure.

A real disk is checked before a tier's first run, after the last, and as often between as asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise

from orchestrator.analysis import results
from orchestrator.analysis.results import Results, RunData
from orchestrator.model import Doubt
from orchestrator.tier import Gate, GateCheck
from orchestrator.units import format_change, format_quantity

_RATE_PCT, _LATENCY_PCT = 5.0, 15.0  # what a gate allows
_JITTER_S = 100e-6  # what the processor's waking alone may change of a latency
_COMPARED = {
    **dict.fromkeys(("iops_read", "iops_write", "iops_mixed"), _RATE_PCT),
    **dict.fromkeys(("bandwidth_read", "bandwidth_write"), _RATE_PCT),
    **dict.fromkeys(("latency_read", "latency_write"), _LATENCY_PCT),
}


def _drift(campaign: Results) -> Iterator[Doubt]:
    """Each disk and quantity once, with the two gates that are furthest apart. What a disk does on
    burst credit is not compared: that is its credit, not the disk."""
    for tier, gates in _by_tier(campaign).items():
        seen: dict[tuple[str, str], list[tuple[float, GateCheck]]] = {}
        for gate in gates:
            for check in gate.checks:
                if check.quantity in _COMPARED and check.verdict != "bursting":
                    seen.setdefault((check.disk, check.limit), []).append((gate.taken_s, check))
        for (disk, limit), checks in seen.items():
            low, high = (pick(checks, key=lambda one: one[1].measured) for pick in (min, max))
            (first_s, first), (then_s, then) = sorted((low, high), key=lambda one: one[0])
            most_pct = _COMPARED[first.quantity or ""]
            if first.measured <= 0 or high[1].measured <= (1 + most_pct / 100) * low[1].measured:
                continue
            if first.unit == "s" and high[1].measured - low[1].measured <= _JITTER_S:
                continue
            change = format_change(100 * (then.measured / first.measured - 1))
            figures = [
                f"{format_quantity(check.measured, check.unit)} at {_time(time_s)}"
                for time_s, check in ((first_s, first), (then_s, then))
            ]
            yield Doubt(
                "gate drift",
                f"the disk of {disk or tier} changed while it was used: {limit}: "
                f"{', '.join(figures)} ({change})",
                "runs between the two gates are not alike: see gates.json, use `--gate-every` to "
                "find out when, and ask the provider",
            )


def _failed_afterwards(campaign: Results) -> Iterator[Doubt]:
    for tier, gates in _by_tier(campaign).items():
        for before, after in pairwise(gates):
            if not before.passed or after.passed:
                continue
            bad = "; ".join(f"{c.limit} {c.verdict}" for c in after.checks if not c.passed)
            for run in _done(campaign, tier):
                window = results.measured_window(run.record)
                if window and before.taken_s <= window[0] and window[1] <= after.taken_s:
                    yield Doubt(
                        "gate failed afterwards",
                        f"the disk of {tier} passed its gate at {_time(before.taken_s)} and not at "
                        f"{_time(after.taken_s)}: {bad}",
                        "it is not known which disk this run met: repeat it",
                        run.record.run.number,
                    )


def _none_afterwards(campaign: Results) -> Iterator[Doubt]:
    real = {p.tier.name for p in campaign.plan.profiles if p.tier.disk.is_real}
    for tier, gates in _by_tier(campaign).items():
        windows = [results.measured_window(run.record) for run in _done(campaign, tier)]
        last_s = max((window[1] for window in windows if window), default=0.0)
        if tier in real and gates[-1].checks and gates[-1].taken_s < last_s:
            yield Doubt(
                "no gate afterwards",
                f"the disk of {tier} was not checked after its last run: whether it was still what "
                "it had been is not known",
                f"`make calibrate PROFILE={tier}` says what it is now",
            )


def _by_tier(campaign: Results) -> dict[str, list[Gate]]:
    found: dict[str, list[Gate]] = {}
    for gate in sorted(campaign.gates, key=lambda gate: gate.taken_s):
        found.setdefault(gate.tier, []).append(gate)
    return found


def _done(campaign: Results, tier: str) -> list[RunData]:
    return [
        run
        for run in campaign.runs
        if run.record.outcome == "done" and run.record.profile.tier.name == tier
    ]


def _time(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


GATE_CHECKS: tuple[Callable[[Results], Iterable[Doubt]], ...] = (
    _drift,
    _failed_afterwards,
    _none_afterwards,
)
