"""A contest made of a campaign's runs: of a workload at one load, or of a sweep of loads. Pure.

A sweep is compared at its ends: throughput at its highest load, where most is asked of the tiers,
and latency at its least, where the queue is shortest. Which load of it meets the SLO, `load_sweeps`
tells. What both kinds have is in `measured_contest`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator.analysis import metric_values, overload
from orchestrator.analysis.decisions import candidates
from orchestrator.analysis.decisions.candidates import Candidate, Criterion
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.measured_contest import (
    Bottlenecks,
    MeasuredContest,
)
from orchestrator.analysis.overload import NO_RATE, Overload
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry.causes.node_cause import NOT_THE_TIER
from orchestrator.model import Doubt, Objective, Profile, Workload


def of_loads(
    campaign: Results,
    name: str,
    loads: Sequence[Workload],
    bottlenecks: Bottlenecks,
    doubts: Sequence[Doubt],
) -> Contest:
    """`name`: of the workload, or of the one that a sweep varies; `loads`: in rising order."""
    if len(loads) > 1:
        return SweptContest(campaign, name, tuple(loads), bottlenecks, doubts).contest()
    return PlainContest(campaign, name, tuple(loads), bottlenecks, doubts).contest()


@dataclass(frozen=True)
class PlainContest(MeasuredContest):
    """The contest of one load, whose runs have all the figures."""

    @property
    def slo(self) -> tuple[Objective, ...]:
        return self.least.slo

    @property
    def throughput(self) -> Criterion:
        return self.usual[0]

    @property
    def latencies(self) -> tuple[Criterion, ...]:
        return self.usual[1]

    @cached_property
    def overload(self) -> Overload:
        """The tiers that do not serve the rate; not proven of those that this machine held back."""
        runs: dict[str, Sequence[RunData]] = {}
        held_back: set[str] = set()
        for profile in self.profiles:
            runs[profile.name] = self.runs(profile, self.least)
            # A faster machine might have served the rate on this disk.
            if self.cause(profile) in NOT_THE_TIER:
                held_back.add(profile.name)
        return overload.of_workload(runs).without_proof_of(held_back)

    @property
    def judged_loads(self) -> tuple[Workload, ...]:
        return self.loads

    def candidate(self, profile: Profile) -> Candidate:
        candidate = Candidate.of_runs(
            profile,
            self.runs(profile, self.least),
            (self.throughput, *self.latencies),
            (*self.slo, candidates.FAILED),
            self.cause(profile),
        )
        begun = self.begun(profile, self.least)
        return replace(
            candidate,
            first=dict.fromkeys(candidate.values, begun),
            awaited=self.awaited(profile),
        )


@dataclass(frozen=True)
class SweptContest(MeasuredContest):
    """The contest at the two ends of a sweep.

    Its SLO is tested at each load by `load_sweeps`, not here.
    """

    @property
    def slo(self) -> tuple[Objective, ...]:
        return ()

    # The two ends are chosen before anything is measured. The best of several loads would be the
    # luckiest, and more so for a flat curve.
    @cached_property
    def throughput(self) -> Criterion:
        return candidates.at_highest_load(self.usual[0], self.highest)

    @cached_property
    def latencies(self) -> tuple[Criterion, ...]:
        return candidates.at_least_load(self.usual[1], self.least)

    @property
    def overload(self) -> Overload:
        # `load_sweeps` looks for it at each load.
        return NO_RATE

    @property
    def judged_loads(self) -> tuple[Workload, ...]:
        """Its ends; with an SLO, which is held against each load, all of them."""
        if self.least.slo:
            return self.loads
        return (self.least, self.highest)

    @cached_property
    def is_behind(self) -> bool:
        """Whether the least rate of a sweep is not served: latency there compares nothing."""
        runs = self.all_runs(self.least)
        return any(overload.overloaded(run.record) for run in runs)

    def candidate(self, profile: Profile) -> Candidate:
        """The candidate, with the repetitions that both ends have."""
        at_least, at_highest = metric_values.in_common(
            self.runs(profile, self.least), self.runs(profile, self.highest)
        )
        latencies: tuple[Criterion, ...] = ()
        if not self.is_behind:
            latencies = self.latencies
        rate_candidate = Candidate.of_runs(
            profile, at_highest, (self.throughput,), cause=self.cause(profile)
        )
        latency_candidate = Candidate.of_runs(profile, at_least, latencies)
        # Each load has blocks of its own.
        first = dict.fromkeys(rate_candidate.values, self.begun(profile, self.highest))
        first |= dict.fromkeys(
            latency_candidate.values, self.begun(profile, self.least)
        )
        values = {**rate_candidate.values, **latency_candidate.values}
        return replace(
            rate_candidate, values=values, first=first, awaited=self.awaited(profile)
        )
