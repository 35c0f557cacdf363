"""A campaign and its verdict, and what was asked of them: which tiers, of which workloads. Pure."""

from dataclasses import dataclass
from functools import cached_property

from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.headline_figures import HeadlineFigures
from orchestrator.analysis.conclusions import VariedWorkload, Verdict
from orchestrator.analysis.results import Results
from orchestrator.design import varied_workloads
from orchestrator.model import Objective, Profile, Workload


@dataclass(frozen=True)
class Asked:
    """Read by the modules that make parts of the answer."""

    campaign: Results
    verdict: Verdict

    @cached_property
    def figures(self) -> HeadlineFigures:
        """Values and changes by tier, workload and metric."""
        return HeadlineFigures(self.campaign, self.verdict)

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """The baseline first, then in the plan's order: the order of rows, legends and colours."""
        ordered: list[Profile] = []
        for profile in self.campaign.plan.profiles:
            if profile.name == self.verdict.baseline:
                ordered.insert(0, profile)
            else:
                ordered.append(profile)
        return tuple(ordered)

    @property
    def tiers(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(profile.name for profile in self.profiles)

    @cached_property
    def contenders(self) -> tuple[str, ...]:
        """What is compared with the baseline; none where one profile was measured alone."""
        names: list[str] = []
        for profile in self.campaign.plan.tiers:
            if profile.name != self.verdict.baseline:
                names.append(profile.name)
        return tuple(names)

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """What decisions are made on: workloads, the loads of a sweep together as one."""
        workloads = self.campaign.plan.workloads
        return tuple(
            dict.fromkeys(varied_workloads.decision_subject(load) for load in workloads)
        )

    @property
    def only_varied(self) -> VariedWorkload | None:
        """The factor of one workload, if its values are all that was asked about."""
        if self.verdict.sweeps or len(self.verdict.varied) != 1:
            return None
        (varied,) = self.verdict.varied
        if set(varied.workloads) != set(self.subjects):
            return None
        return varied

    @property
    def is_price_open(self) -> bool:
        """Whether a tier was chosen without prices that would name another one."""
        cluster = self.verdict.cluster
        if cluster is not None and cluster.tier and cluster.monthly_cost is not None:
            standings = dict(cluster.standings)
            del standings[cluster.tier]
            if set(standings.values()) <= {"not enough"}:
                return False
        return any(decision.without_prices for decision in self.verdict.decisions)

    def workload(self, subject: str) -> Workload | None:
        """The workload that a decision is on; None of the loads of a sweep, which are several."""
        for load in self.campaign.plan.workloads:
            if load.name == subject:
                return load
        return None

    def clauses(self, subject: str) -> tuple[Objective, ...]:
        """The SLO of a workload; none of the loads of a sweep, which has no offers."""
        load = self.workload(subject)
        if load is None:
            return ()
        return load.slo

    def is_met_by_none(self, subject: str) -> bool:
        """Whether every tier is proven to miss the SLO, so that more runs would name none."""
        decision = self.verdict.decision(subject)
        # Disks were hardly asked where the question is moot: another setting may bring an answer.
        if decision is None or not decision.slo or decision.moot:
            return False
        missing: set[str] = set()
        for offer in decision.offers:
            for result in offer.slo:
                # A clause of an open tier may be missed because this machine was the limit.
                if result.word == "missed" and offer.standing == "not enough":
                    missing.add(offer.tier)
        return len(missing) == len(self.campaign.plan.tiers)

    def headline(self, text: str) -> str:
        """The text with a capital at the start, unless a tier's name stands there."""
        return phrases.headline(text, frozenset(self.tiers))

    def opening(self, text: str) -> str:
        """A sentence with a capital at the start, unless a tier's name stands there."""
        return phrases.opening(text, frozenset(self.tiers))
