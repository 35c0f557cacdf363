"""What a contest of a campaign's runs has, whether it is of one load or of a sweep of loads. Pure.

The two kinds, and how each takes its figures from its runs, are in `measured_contests`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from orchestrator.analysis import comparability, metric_values, results
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.decisions import candidates
from orchestrator.analysis.decisions.awaited_ways import awaited_ways
from orchestrator.analysis.decisions.candidates import Candidate, Criterion
from orchestrator.analysis.decisions.contest_rules import (
    Circumstances,
    ContestRules,
    ContestRuns,
)
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.analysis.decisions.effort import RepetitionEffort
from orchestrator.analysis.doubts import by_effect
from orchestrator.analysis.overload import Overload
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.statistics import looks
from orchestrator.analysis.telemetry.causes.outside_causes import CEILING_PCT
from orchestrator.analysis.telemetry.use.load_and_sessions import (
    has_pace,
    of_ceiling_pct,
)
from orchestrator.design import boxed_work, used_profiles
from orchestrator.model import Doubt, Objective, Profile, Workload
from orchestrator.tier import WAYS, Way

# Tier and workload → what limited it.
Bottlenecks = Mapping[results.Cell, Bottleneck]


@dataclass(frozen=True)
class MeasuredContest(ABC):
    """What a contest of runs has, whether it is of one load or of several."""

    campaign: Results
    name: str
    loads: tuple[Workload, ...]
    bottlenecks: Bottlenecks
    doubts: Sequence[Doubt]

    # ---------------------------------------------------------------- as each kind has it

    @property
    @abstractmethod
    def slo(self) -> tuple[Objective, ...]:
        """What is held against it."""

    @property
    @abstractmethod
    def throughput(self) -> Criterion:
        """What every candidate must have."""

    @property
    @abstractmethod
    def latencies(self) -> tuple[Criterion, ...]:
        """And what else is known of candidates."""

    @property
    @abstractmethod
    def overload(self) -> Overload:
        """The tiers that do not serve the rate asked for, if one is."""

    @property
    @abstractmethod
    def judged_loads(self) -> tuple[Workload, ...]:
        """The loads whose runs have the figures that are judged."""

    @abstractmethod
    def candidate(self, profile: Profile) -> Candidate:
        """A tier with the figures that its runs have."""

    # ---------------------------------------------------------------- as both have it

    @property
    def least(self) -> Workload:
        return self.loads[0]

    @property
    def highest(self) -> Workload:
        return self.loads[-1]

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """The tiers of the plan, as the highest load uses them."""
        tiers = self.campaign.plan.tiers
        return tuple(used_profiles.as_used(profile, self.highest) for profile in tiers)

    def runs(self, profile: Profile, load: Workload) -> Sequence[RunData]:
        return results.finished(self.campaign, profile.name, load.name)

    def begun(self, profile: Profile, load: Workload) -> dict[int, float]:
        """The repetitions in which its run was planned to come before those of all other tiers."""
        # The plan decides, never what was measured: a factor that figures choose would prove
        # anything.
        first: dict[int, str] = {}
        for run in self.campaign.plan.runs:
            if run.workload == load.name:
                first.setdefault(run.repetition, run.profile)
        begun: dict[int, float] = {}
        for repetition, name in first.items():
            if name == profile.name:
                begun[repetition] = 1.0
        return begun

    def all_runs(self, load: Workload) -> list[RunData]:
        """The runs of all tiers under this load."""
        runs: list[RunData] = []
        for profile in self.profiles:
            runs += self.runs(profile, load)
        return runs

    @cached_property
    def usual(self) -> tuple[Criterion, tuple[Criterion, ...]]:
        """Throughput and latencies by what the runs count, and those of a rebuild or
        a slow disk."""
        rate = metric_values.rate_of(self.all_runs(self.least))
        throughput, latencies = candidates.COMPARED[rate]
        if self.highest.lost_after_s is not None:
            latencies = (*latencies, *candidates.REBUILD)
        if self.highest.slow:
            latencies = (*latencies, *candidates.SLOW_DISK)
        return throughput, latencies

    @cached_property
    def constant_latency(self) -> tuple[str, ...]:
        return candidates.without_tail(self.profiles)

    @property
    def compared_latencies(self) -> tuple[Criterion, ...]:
        """The latencies to compare, without p99 if an emulated disk has a constant latency."""
        if not self.constant_latency:
            return self.latencies
        # The p99 of a constant latency is no disk's.
        return tuple(latency for latency in self.latencies if not latency.is_tail)

    @property
    def at_ceiling(self) -> bool:
        """Whether think time holds the rate at its ceiling on every tier."""
        runs = self.all_runs(self.least)
        # A run without think time has no ceiling, and is at none.
        shares_pct = [of_ceiling_pct(run.record) or 0.0 for run in runs]
        return min(shares_pct, default=0.0) >= CEILING_PCT

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria. Where think time or an arrival rate sets the rate, only latency is one."""
        latencies = self.compared_latencies
        # A rate that is given is the same on every tier: it tells none from another.
        if self.at_ceiling or self.overload.asked:
            return latencies
        runs = self.all_runs(self.least)
        paced = any(has_pace(run.record.workload) for run in runs)
        return candidates.each_once(self.throughput, latencies, closed_loop=not paced)

    @property
    def obstacle(self) -> str:
        """Why the runs of a load may not be compared; the first there is, or an empty text."""
        for load in self.loads:
            obstacle = comparability.obstacle(self.all_runs(load))
            if obstacle:
                return obstacle
        return ""

    @property
    def window_s(self) -> float:
        """The window of all loads. 0 if windows differ, or last until work is done."""
        if len({load.measure_s for load in self.loads}) > 1:
            return 0.0
        if boxed_work.ends_with_work(self.highest):
            return 0.0
        return self.highest.measure_s

    def cause(self, profile: Profile) -> str:
        """What limited the tier at the highest load; empty if that was not told."""
        bottleneck = self.bottlenecks.get((profile.name, self.highest.name))
        if bottleneck is None:
            return ""
        return bottleneck.cause

    def awaited(self, profile: Profile) -> tuple[Way, ...]:
        """The directions in which the profile's sessions waited for the disk."""
        bottleneck = self.bottlenecks.get((profile.name, self.highest.name))
        if bottleneck is None:
            # What nobody saw is not taken for no waiting.
            return WAYS
        return awaited_ways(bottleneck.evidence)

    # ---------------------------------------------------------------- the contest

    @property
    def rules(self) -> ContestRules:
        plan = self.campaign.plan
        return ContestRules(
            plan.judging.margin_pct,
            self.criteria,
            p99_margin_pct=plan.judging.p99_margin_pct,
            slo=self.slo,
            share=looks.share(plan, self.highest.name),
        )

    @property
    def circumstances(self) -> Circumstances:
        names = [load.name for load in self.loads]
        return Circumstances(
            obstacle=self.obstacle,
            at_ceiling=self.at_ceiling,
            constant_latency=self.constant_latency,
            overload=self.overload,
            doubts=by_effect.of_tiers(self.campaign.plan, self.doubts, names),
            scale=self.campaign.small_scale,
        )

    def judged_runs(self, tiers: Sequence[Candidate]) -> ContestRuns:
        """These tiers' runs whose figures are judged."""
        numbers: set[int] = set()
        for tier in tiers:
            for load in self.judged_loads:
                for run in self.runs(tier.profile, load):
                    numbers.add(run.record.run.number)
        effort = RepetitionEffort.of_campaign(self.campaign, self.loads)
        return ContestRuns(frozenset(numbers), self.window_s, effort)

    def contest(self) -> Contest:
        planned: list[str] = []
        taking_part: list[Candidate] = []
        outside: list[Candidate] = []
        for profile in self.profiles:
            candidate = self.candidate(profile)
            # Its latency depends on how long was measured, so it is compared with nothing.
            if profile.name in self.overload.tiers:
                outside.append(candidate)
                continue
            planned.append(profile.name)
            if self.throughput in candidate.values:
                taking_part.append(candidate)
            else:
                outside.append(candidate)
        return make_contest(
            self.name,
            taking_part,
            planned,
            self.rules,
            self.circumstances,
            self.judged_runs(taking_part),
            outside=outside,
        )
