"""What a list of all that was found says of each, and which of them are asked for. Pure.

Each has a kind, a question and an answer, whether it is a campaign or what an extension keeps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from orchestrator.analysis import conclusions, results
from orchestrator.analysis.answers.record import Answer
from orchestrator.design import disk_matrix
from orchestrator.design.slo import format_objective
from orchestrator.model import Plan, Profile, Workload
from orchestrator.texts import prose

CampaignKind = Literal[
    "comparison",
    "one profile",
    "SLO",
    "disk matrix",
    "rehearsal",
    "published figures",
]
NOT_JUDGED = "not judged yet"


@dataclass(frozen=True)
class Entry:
    """A campaign, or what an extension keeps in its folder or in one of its own.

    `kind`: a `CampaignKind` or the extension's word, "" of what cannot be read. `answer`: a
    sentence; "" if there is none yet."""

    folder: str
    began_s: float | None  # Unix; None if unknown
    fault: str = ""  # why nothing more is known of it
    kind: str = ""
    question: str = ""
    answer: str = ""
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
    # Its files that were cut, and how many runs of its verdict are gone.
    left_out: tuple[str, ...] = ()

    @property
    def is_campaign(self) -> bool:
        """Whether it has runs of its own."""
        return self.kind in get_args(CampaignKind)

    def is_of(
        self,
        profile: str | None,
        workload: str | None,
        database: str | None,
        since_s: float | None,
    ) -> bool:
        """Whether the campaign has this profile, workload and database and began since then (Unix
        seconds).

        None means any. A broken folder matches unless it is too old.
        """
        # A campaign that began at an unknown moment cannot be said to be recent.
        if since_s is not None and (self.began_s is None or self.began_s < since_s):
            return False
        # What it has cannot be known, and who looks for it must learn that it is broken.
        if self.fault:
            return True
        if not _is_among(profile, self.profiles) or not _is_among(
            workload, self.workloads
        ):
            return False
        return _is_among(database, self.databases)


def _is_among(asked: str | None, names: Sequence[str]) -> bool:
    """Whether the name asked for is among `names`. None means any name."""
    return asked is None or asked in names


def entry(
    campaign: results.Results,
    folder: str,
    began_s: float | None,
    decisions: Sequence[conclusions.Decision],
    baselines: Sequence[str],
    answer: Answer | None = None,
) -> Entry:
    """The entry of a campaign in the list.

    `decisions` and `answer` are those of its verdict, if it has one.
    """
    plan = campaign.plan
    # A folder may have records of runs that its plan has no more.
    numbers = {run.number for run in plan.runs}
    return Entry(
        folder,
        began_s,
        name=plan.name,
        profiles=tuple(profile.name for profile in plan.profiles),
        workloads=tuple(load.name for load in plan.workloads),
        databases=tuple(_databases(plan)),
        scale=plan.scale,
        repetitions=plan.repeats.repetitions,
        done=sum(run.record.run.number in numbers for run in campaign.done),
        planned=len(plan.runs),
        kind=_kind(plan),
        question=plan.judging.question or _question(plan),
        answer=_answer(answer, decisions, plan),
        decisions=_decided(decisions, plan, answer),
        baselines=tuple(baselines),
        left_out=results.left_out(campaign),
    )


def with_lost_runs(listed: Entry, judged_runs: int) -> Entry:
    """Says so if the kept verdict is of more finished runs than have a record now."""
    if judged_runs <= listed.done:
        return listed
    lost = (
        f"its verdict is of {prose.counted(judged_runs, 'finished run')}, "
        f"and now there are {listed.done}"
    )
    return replace(listed, left_out=(*listed.left_out, lost))


def _decided(
    decisions: Sequence[conclusions.Decision],
    plan: Plan,
    answer: Answer | None = None,
) -> dict[str, str]:
    """Workload → its decision, and by which SLO, if that is not the plan's. Of disks that were
    measured alone nothing was to be decided."""
    is_of_disks_alone = answer is not None and answer.kind == "disks alone"
    phrases: dict[str, str] = {}
    for decision in decisions:
        text = phrase(decision, len(plan.profiles))
        if is_of_disks_alone:
            text = "measured"
        phrases[decision.workload] = text + _by_another_slo(decision, decisions, plan)
    return phrases


def _by_another_slo(
    decision: conclusions.Decision,
    decisions: Sequence[conclusions.Decision],
    plan: Plan,
) -> str:
    """Behind an answer, if it was not judged by the plan's SLO; else ""."""
    # A verdict without any SLO has nothing that could be another one's.
    for other in decisions:
        if other.slo and decision.slo not in _planned_slos(plan, decision.workload):
            clauses = ", ".join(decision.slo) or "none"
            return f", by another SLO than the plan's: {clauses}"
    return ""


def _planned_slos(plan: Plan, workload: str) -> list[tuple[str, ...]]:
    """For each load of that workload, variations included, the clauses of its SLO."""
    slos: list[tuple[str, ...]] = []
    for load in plan.workloads:
        varied = load.varied
        if load.name == workload or (varied is not None and varied.of == workload):
            slos.append(tuple(format_objective(clause) for clause in load.slo))
    return slos


def _kind(plan: Plan) -> CampaignKind:
    # Where figures come from is told before what was asked: who reads on must know it.
    for note in plan.notes:
        if note.kind == "rehearsal":
            return "rehearsal"
        if note.kind == "published figures":
            return "published figures"
    if all(disk_matrix.planned(load.options) for load in plan.workloads):
        return "disk matrix"
    # This comes before the number of tiers: an SLO is held against one profile alone too.
    if any(load.slo for load in plan.workloads):
        return "SLO"
    if len(plan.tiers) == 1:
        return "one profile"
    return "comparison"


def _question(plan: Plan) -> str:
    """`Which of premium and ultra for tpcc, with p99 < 20 ms?`, of a campaign without its own."""
    tiers = _named(plan.tiers)
    loads = _named(plan.workloads) + _with_its_slo(plan)
    if len(plan.tiers) == 1:
        return f"What does {tiers} do for {loads}?"
    return f"Which of {tiers} for {loads}?"


def _named(several: Sequence[Profile | Workload]) -> str:
    names: list[str] = []
    for profile_or_workload in several:
        names.append(profile_or_workload.name)
    return prose.listed(names)


def _with_its_slo(plan: Plan) -> str:
    """Each clause of the SLOs of all workloads, once; empty if there is none."""
    clauses: dict[str, None] = {}
    for load in plan.workloads:
        for objective in load.slo:
            clauses[format_objective(objective)] = None
    if not clauses:
        return ""
    return f", with {prose.listed(list(clauses))}"


def _answer(
    answer: Answer | None, decisions: Sequence[conclusions.Decision], plan: Plan
) -> str:
    """What the report begins with; of a verdict of an earlier version its decisions."""
    if answer is not None and answer.brief.what:
        for decision in decisions:
            behind = _by_another_slo(decision, decisions, plan)
            if behind:
                return answer.brief.what + behind
        return answer.brief.what
    decided: list[str] = []
    for load, words in _decided(decisions, plan).items():
        decided.append(f"{load}: {words}")
    return "; ".join(decided)


def _databases(plan: Plan) -> dict[str, None]:
    """What its workloads run on, each once, in the plan's order."""
    databases: dict[str, None] = {}
    for load in plan.workloads:
        for profile in plan.profiles:
            # A load that measures a disk alone says so itself, whatever the profile has.
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
