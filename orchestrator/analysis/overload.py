"""Whether work in open loop was served as fast as it came in. Pure.

What fell due in the window and did not end in it is what the queue grew by. Such a tier is
overloaded at that rate, which is a verdict of its own: its latency is compared with nothing."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from orchestrator import metrics
from orchestrator.analysis import metric_values, results
from orchestrator.analysis.statistics.arrivals import CHANCE
from orchestrator.analysis.telemetry.use import load_and_sessions
from orchestrator.design import slow_disks
from orchestrator.model import Record
from orchestrator.texts.prose import listed
from orchestrator.units import format_number

BEHIND = 0.01  # share of what was asked for: less is the queue of a moment
PER_THREAD = 2  # transactions that a thread may owe without being behind


def grew(record: Record) -> tuple[float, float] | None:
    """Offered and served (1/s), if the queue grew by more than BEHIND and PER_THREAD; else None."""
    offered_per_s = metric_values.value_of(record, "offered_per_s")
    served_per_s = metric_values.value_of(record, "served_per_s")
    if offered_per_s is None or served_per_s is None:
        return None
    load = record.workload
    owed = (offered_per_s - served_per_s) * load.measure_s
    brief_queue = BEHIND * offered_per_s * load.measure_s
    if owed > max(brief_queue, PER_THREAD * load.threads):
        return (offered_per_s, served_per_s)
    return None


def not_begun(record: Record) -> tuple[float, float] | None:
    """What was due and had not begun at the end, and all that was due, if that is as much; by the
    built-in generator's count over the whole run."""
    facts = results.generator(record)
    owed = facts.unstarted
    begun = facts.recorded_transactions
    if not owed or begun is None:
        return None
    due = owed + begun
    behind = owed >= BEHIND * due and owed > PER_THREAD * record.workload.threads
    if behind:
        return (owed, due)
    return None


def not_served(record: Record) -> tuple[float, float] | None:
    """Share served and rate (1/s) asked for, if BenchBase served less than chance explains."""
    facts = results.generator(record)
    served = facts.served_of_asked
    rate = facts.arrival_rate_per_s
    if served is None or not rate:
        return None
    # Arrivals at random: their number varies by its root.
    chance = CHANCE / math.sqrt(rate * record.workload.measure_s)
    if 1 - served > max(BEHIND, chance):
        return (served, rate)
    return None


def only_with_slow_disk(record: Record) -> bool:
    """Whether a disk was slow in the window, and the rate served before, as far as is known."""
    load = record.workload
    slow = slow_disks.slow_time(load.slow, load.measure_s)
    if slow is None:
        return False
    rate_per_s = load.options.get("arrival_rate")
    before_per_s = metric_values.value_of(
        record, "throughput_per_s", slow_disks.BEFORE_SLOW_SCOPE
    )
    if not rate_per_s or before_per_s is None:
        return True
    due = float(rate_per_s) * slow.begin_s
    owed = due - before_per_s * slow.begin_s
    by_chance = CHANCE * math.sqrt(due)
    return owed <= max(BEHIND * due, by_chance, PER_THREAD * load.threads)


def at_a_rate(record: Record) -> bool:
    """Whether transactions were due at a rate of their own, whatever the tier did."""
    return load_and_sessions.has_pace(record.workload) and not record.workload.thinks


def overloaded(record: Record) -> bool:
    if not at_a_rate(record):
        return False
    behind = grew(record) or not_begun(record) or not_served(record)
    return behind is not None


State = Literal["serves it", "overloaded", "at times"]


def state(runs: Sequence[results.RunData]) -> State:
    """The state of a tier at one rate. It is proven overloaded if all of two or more runs are."""
    behind = [overloaded(run.record) for run in runs]
    if not any(behind):
        return "serves it"
    # One run proves nothing: something else may have slowed it down.
    if all(behind) and len(behind) > 1:
        return "overloaded"
    return "at times"


@dataclass(frozen=True)
class Overload:
    """The tiers that do not serve the rate of a workload in open loop (`asked`).

    It is proven, or without proof: in some runs, in the only one, or with this machine as the
    limit. `slow_disk`: those that are overloaded served the rate before a disk was slow.
    """

    asked: bool
    slow_disk: bool
    always: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()

    @property
    def tiers(self) -> tuple[str, ...]:
        return (*self.always, *self.unproven)

    def without_proof_of(self, tiers: Collection[str]) -> Self:
        """The states where nothing is proven of `tiers`, because the machine held them back."""
        proven = tuple(tier for tier in self.always if tier not in tiers)
        more = tuple(tier for tier in self.always if tier in tiers)
        return replace(self, always=proven, unproven=(*self.unproven, *more))

    def obstacle(self, left: Sequence[str]) -> str:
        """Why no decision can be made on the tiers that are `left`; or an empty text."""
        if not self.tiers or len(left) > 1 or (left and not self.unproven):
            return ""
        if self.unproven:
            return self._not_served_in_every_run()
        return self._overloaded_on_every_tier()

    @property
    def circumstance(self) -> str:
        """What goes behind the rate in a sentence; mostly nothing."""
        if self.slow_disk:
            return " with a slow disk"
        return ""

    def _not_served_in_every_run(self) -> str:
        return (
            f"{listed(self.unproven)} did not serve the rate asked for{self.circumstance} in "
            "every run. It is not proven that a disk's limit is the reason. "
            f"{self._advice}"
        )

    def _overloaded_on_every_tier(self) -> str:
        return (
            f"every tier is overloaded at the rate asked for{self.circumstance} "
            f"({listed(self.always)}), so no latency can be compared. {self._advice}"
        )

    @property
    def _advice(self) -> str:
        if self.slow_disk:
            return "Measure for longer after the slow disk, or ask for a lower rate"
        return "Ask for a lower rate"


NO_RATE = Overload(asked=False, slow_disk=False)


def of_workload(runs: Mapping[str, Sequence[results.RunData]]) -> Overload:
    """`runs`: the finished ones of each tier."""
    records: list[Record] = []
    for runs_of_tier in runs.values():
        records += [run.record for run in runs_of_tier]
    if not records or not all(at_a_rate(record) for record in records):
        return NO_RATE
    states = {tier: state(runs_of_tier) for tier, runs_of_tier in runs.items()}
    return Overload(
        asked=True,
        always=_in_state(states, "overloaded"),
        unproven=_in_state(states, "at times"),
        slow_disk=_is_by_slow_disk(records),
    )


def _is_by_slow_disk(records: Sequence[Record]) -> bool:
    behind = [record for record in records if overloaded(record)]
    return bool(behind) and all(only_with_slow_disk(record) for record in behind)


def _in_state(states: Mapping[str, State], word: State) -> tuple[str, ...]:
    return tuple(tier for tier, state in states.items() if state == word)


@dataclass(frozen=True)
class LatencyOutcome:
    """A comparison of latencies that overload decides. `sides`: the tiers that are overloaded."""

    word: Literal["better", "worse", "inconclusive"]
    reason: str
    sides: tuple[str, ...]


def between(
    baseline: str,
    left: Sequence[results.RunData],
    contender: str,
    right: Sequence[results.RunData],
) -> LatencyOutcome | None:
    """How latencies compare if a side is overloaded.

    None if both serve what they were asked for, or if no rate was asked.
    """
    overload = of_workload({baseline: left, contender: right})
    if not overload.tiers:
        return None
    first = _words(baseline, left)
    second = _words(contender, right)
    if overload.unproven or len(overload.always) > 1:
        reason = f"{first}; {second}: latencies cannot be told apart"
        return LatencyOutcome("inconclusive", reason, overload.tiers)
    # While a queue grows latency grows too, so it is longer than where the rate is served.
    depends = "so its latency depends on how long was measured"
    if baseline in overload.always:
        return LatencyOutcome("better", f"{first}, {depends}; {second}", overload.tiers)
    return LatencyOutcome("worse", f"{second}, {depends}; {first}", overload.tiers)


def _words(tier: str, runs: Sequence[results.RunData]) -> str:
    text = f"{tier} {_STATES[state(runs)]}"
    served_per_s = metric_values.mean_of(runs, "served_per_s")
    offered_per_s = metric_values.mean_of(runs, "offered_per_s")
    if served_per_s and offered_per_s:
        offered = metrics.value_in_words("offered_per_s", offered_per_s)
        return f"{text} ({format_number(served_per_s)} of {offered})"
    return text


_STATES: Mapping[State, str] = {
    "serves it": "serves the rate",
    "overloaded": "is overloaded",
    "at times": "did not serve the rate in every run",
}
