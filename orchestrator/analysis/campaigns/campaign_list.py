"""What a list of stored campaigns says of each, and which of them are asked for. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis import conclusions, results
from orchestrator.design.slo import format_objective
from orchestrator.model import Plan


@dataclass(frozen=True)
class Entry:
    """One folder."""

    folder: str
    began_s: float | None  # Unix; None if unknown
    fault: str = ""  # why nothing more is known of it
    name: str = ""
    profiles: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    scale: str = ""
    repetitions: int = 0
    done: int = 0
    planned: int = 0
    # Workload → one phrase, with the SLO of a verdict that answers another question than the plan's
    # (`analyze --slo`); empty if not judged yet.
    decisions: Mapping[str, str] | None = None
    baselines: tuple[str, ...] = ()  # names under which it was saved
    left_out: tuple[str, ...] = ()  # its files that were cut

    def is_of(
        self,
        profile: str | None,
        workload: str | None,
        database: str | None,
        since_s: float | None,
    ) -> bool:
        """None: any; `since_s`: Unix seconds. A broken folder is of all unless it is too old: what
        is in it cannot be known."""
        if since_s is not None and (self.began_s is None or self.began_s < since_s):
            return False
        if self.fault:
            return True
        return (
            _is_among(profile, self.profiles)
            and _is_among(workload, self.workloads)
            and _is_among(database, self.databases)
        )


def _is_among(asked: str | None, names: Sequence[str]) -> bool:
    """None: any name will do."""
    return asked is None or asked in names


def entry(
    campaign: results.Results,
    folder: str,
    began_s: float | None,
    decisions: Sequence[conclusions.Decision],
    baselines: Sequence[str],
) -> Entry:
    plan = campaign.plan
    numbers = {run.number for run in plan.runs}
    return Entry(
        folder,
        began_s,
        name=plan.name,
        profiles=tuple(profile.name for profile in plan.profiles),
        workloads=tuple(load.name for load in plan.workloads),
        databases=tuple(_databases(plan)),
        scale=plan.scale,
        repetitions=plan.repetitions,
        done=sum(run.record.run.number in numbers for run in campaign.done),
        planned=len(plan.runs),
        decisions=_decided(decisions, plan),
        baselines=tuple(baselines),
        left_out=results.left_out(campaign),
    )


def _decided(decisions: Sequence[conclusions.Decision], plan: Plan) -> dict[str, str]:
    """Workload → its decision, and by which SLO, if that is not the plan's."""
    has_slo = any(decision.slo for decision in decisions)
    phrases: dict[str, str] = {}
    for decision in decisions:
        text = phrase(decision, len(plan.profiles))
        if has_slo and decision.slo not in _planned_slos(plan, decision.workload):
            clauses = ", ".join(decision.slo) or "none"
            text = f"{text}, by another SLO than the plan's: {clauses}"
        phrases[decision.workload] = text
    return phrases


def _planned_slos(plan: Plan, workload: str) -> list[tuple[str, ...]]:
    """Of the workload of that name, or of all that vary it: the clauses of each."""
    slos: list[tuple[str, ...]] = []
    for load in plan.workloads:
        varied = load.varied
        if load.name == workload or (varied is not None and varied.of == workload):
            slos.append(tuple(format_objective(clause) for clause in load.slo))
    return slos


def _databases(plan: Plan) -> dict[str, None]:
    """What its workloads run on, each once, in the plan's order."""
    databases: dict[str, None] = {}
    for load in plan.workloads:
        for profile in plan.profiles:
            databases[load.database or profile.cluster.database] = None
    return databases


def phrase(decision: conclusions.Decision, tiers: int) -> str:
    """The tier and what decided, or that there is no answer. `tiers`: how many were compared."""
    if decision.tier is None:
        if tiers > 1:
            return "no answer"
        return "one tier"
    if decision.criterion:
        return f"{decision.tier} (by {decision.criterion})"
    return decision.tier
