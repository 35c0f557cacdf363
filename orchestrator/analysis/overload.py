"""Whether work in open loop was served as fast as it came in, and one rate for all tiers. Pure.

What fell due in the window and did not end in it is what the queue grew by: if that goes on,
latency is the length of a queue that grows, and so of the time for which one measures. Such a tier
is overloaded at that rate, which is a verdict of its own: its latency is compared with nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from orchestrator.analysis import results
from orchestrator.analysis.figures.transactions import CHANCE
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry import resources
from orchestrator.model import Note, Plan, Profile, Record, Workload
from orchestrator.planning import load_points, plan
from orchestrator.units import format_quantity, listed

BEHIND = 0.01  # of what was asked for: less is the queue of a moment
PER_THREAD = 2  # transactions that a thread may owe without being behind
_DIGITS = 3  # of the rate: more would claim to know the capacity better than it is known


# ------------------------------------------------------------------ one run


def grew(record: Record) -> tuple[float, float] | None:
    """Offered and served (1/s), if the queue grew in the window by 1 % of what was offered, and by
    more than each thread may owe; else None."""
    offered = results.value_of(record, "offered_per_s")
    served = results.value_of(record, "served_per_s")
    if offered is None or served is None:
        return None
    owed = (offered - served) * record.workload.measure_s
    most = max(BEHIND * offered * record.workload.measure_s, PER_THREAD * record.workload.threads)
    return (offered, served) if owed > most else None


def not_begun(record: Record) -> tuple[float, float] | None:
    """What was due and had not begun at the end, and all that was due, if that is as much; by the
    built-in generator's count over the whole run."""
    facts = results.generator(record)
    owed, begun = facts.unstarted, facts.recorded_transactions
    if not owed or begun is None:
        return None
    due = owed + begun
    behind = owed >= BEHIND * due and owed > PER_THREAD * record.workload.threads
    return (owed, due) if behind else None


def not_served(record: Record) -> tuple[float, float] | None:
    """The share served and the rate asked for, if BenchBase served less than chance explains; it
    counts nothing else."""
    facts = results.generator(record)
    served, rate = facts.served_of_asked, facts.arrival_rate_per_s
    if served is None or not rate:
        return None
    chance = CHANCE / math.sqrt(rate * record.workload.measure_s)
    return (served, rate) if 1 - served > max(BEHIND, chance) else None


def at_a_rate(record: Record) -> bool:
    """Whether transactions were due at a rate of their own, whatever the tier did."""
    return resources.paced(record) and not record.workload.thinks


def overloaded(record: Record) -> bool:
    return at_a_rate(record) and any((grew(record), not_begun(record), not_served(record)))


# ------------------------------------------------------------------ one tier

State = Literal["serves it", "overloaded", "at times"]


def state(runs: Sequence[RunData]) -> State:
    """Of a tier at one rate. Proven overloaded are two or more runs without exception."""
    behind = [overloaded(run.record) for run in runs]
    if not any(behind):
        return "serves it"
    return "overloaded" if all(behind) and len(behind) > 1 else "at times"


@dataclass(frozen=True)
class Overload:
    """The tiers of a workload in open loop that do not serve its rate: proven, or without
    proof (in some runs, in the only one, or with this machine as the limit). `asked`: whether it is
    in open loop at all."""

    asked: bool = False
    always: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()

    @property
    def tiers(self) -> tuple[str, ...]:
        return (*self.always, *self.unproven)

    def without_proof_of(self, tiers: Collection[str]) -> Overload:
        """The same where nothing is proven of `tiers`, because the machine held them back."""
        proven = tuple(tier for tier in self.always if tier not in tiers)
        more = tuple(tier for tier in self.always if tier in tiers)
        return replace(self, always=proven, unproven=(*self.unproven, *more))

    def obstacle(self, left: Sequence[str]) -> str:
        """Why no decision can be made on the tiers that are `left`; or an empty text."""
        if not self.tiers or len(left) > 1 or (left and not self.unproven):
            return ""
        if self.unproven:
            some = f"{listed(self.unproven)} did not serve the rate asked for in every run"
            return (
                f"{some}; whether a disk's limit is the reason is not proven: ask for a lower rate"
            )
        return (
            f"every tier is overloaded at the rate asked for ({listed(self.always)}), so there is "
            "no latency to compare: ask for a lower one"
        )

    def remarks(self) -> list[str]:
        depends = "latency there depends on how long was measured and is not compared"
        said = []
        if self.always:
            verb = "is" if len(self.always) == 1 else "are"
            said.append(f"Overloaded at this rate {verb} {listed(self.always)}: {depends}")
        if self.unproven:
            names = listed(self.unproven)
            said.append(f"{names} did not serve the rate in every run, without proof: {depends}")
        return said


NO_RATE = Overload()


def of_workload(runs: Mapping[str, Sequence[RunData]]) -> Overload:
    """`runs`: the finished ones of each tier."""
    every = [run for of_tier in runs.values() for run in of_tier]
    if not every or not all(at_a_rate(run.record) for run in every):
        return NO_RATE
    states = {tier: state(of_tier) for tier, of_tier in runs.items()}
    always = tuple(tier for tier, word in states.items() if word == "overloaded")
    return Overload(True, always, tuple(tier for tier, w in states.items() if w == "at times"))


# ------------------------------------------------------------------ two tiers


@dataclass(frozen=True)
class LatencyOutcome:
    """A comparison of latencies that overload decides, or prevents. `sides`: the tiers that do not
    serve the rate in every run."""

    word: Literal["better", "worse", "inconclusive"]
    reason: str
    sides: tuple[str, ...]


def between(
    baseline: str, left: Sequence[RunData], contender: str, right: Sequence[RunData]
) -> LatencyOutcome | None:
    """None where both serve what they were asked for, or nobody asked."""
    found = of_workload({baseline: left, contender: right})
    if not found.tiers:
        return None
    if found.unproven or len(found.always) > 1:
        reason = f"{_words(baseline, left)}; {_words(contender, right)}: latencies cannot be told"
        return LatencyOutcome("inconclusive", f"{reason} apart", found.tiers)
    word: Literal["better", "worse"] = "better" if baseline in found.always else "worse"
    sides = (_words(baseline, left), _words(contender, right))
    overloaded_side, other = sides if word == "better" else sides[::-1]
    reason = f"{overloaded_side}, so its latency depends on how long was measured; {other}"
    return LatencyOutcome(word, reason, found.tiers)


def _words(tier: str, runs: Sequence[RunData]) -> str:
    words = {"serves it": "serves the rate", "overloaded": "is overloaded"}
    text = f"{tier} {words.get(state(runs), 'did not serve the rate in every run')}"
    flows = [
        [results.value_of(run.record, name) for run in runs]
        for name in ("served_per_s", "offered_per_s")
    ]
    means = [sum(v) / len(v) for values in flows if (v := [x for x in values if x is not None])]
    if len(means) < 2:
        return text
    served, offered = (format_quantity(value, "1/s") for value in means)
    return f"{text} ({served} of {offered})"


# ------------------------------------------------------------------ all tiers at one rate


def plan_at_same_rate(campaign: Results) -> Plan | None:
    """What follows once the capacity of each tier is measured: the plan with each workload once
    more, at its share of the slowest tier's capacity; None if none was asked for, or it is there
    already. Capacity is the median throughput of a tier's finished closed-loop runs. A tier without
    one is left out, which a note says."""
    made = campaign.plan
    share_pct = made.latency_at_pct
    if share_pct is None or any(one.point is not None for one in made.workloads):
        return None
    cells: list[tuple[Workload, list[Profile]]] = []
    notes: list[Note] = []
    for workload in made.workloads:
        capacities = dict(_capacities(campaign, workload))
        text = f"left out of {workload.name} at the same rate, because no run of it found this "
        left_out = [one.name for one in made.profiles if one.name not in capacities]
        notes += [Note("other", f"{text}tier's capacity", name) for name in left_out]
        if capacities:
            found = [one for one in made.profiles if one.name in capacities]
            rate = float(f"{share_pct / 100 * min(capacities.values()):.{_DIGITS}g}")
            cells.append((load_points.at(workload, "same rate", "rate", rate), found))
    return plan.followed_by(made, cells, notes)


def _capacities(campaign: Results, workload: Workload) -> Iterator[tuple[str, float]]:
    """Tier → transactions/s of those with figures."""
    for profile in campaign.plan.profiles:
        runs = results.finished(campaign, profile.name, workload.name)
        rates = [results.value_of(run.record, "throughput_per_s") for run in runs]
        if found := [rate for rate in rates if rate]:
            yield profile.name, median(found)
