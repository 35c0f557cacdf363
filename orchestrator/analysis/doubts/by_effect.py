"""What doubts do to an answer: sorted by tier and by effect, and the runs that they limit. Pure."""

from collections.abc import Iterable, Set

from orchestrator.model import Doubt, Plan
from orchestrator.texts.prose import counted


def of_tiers(
    plan: Plan, doubts: Iterable[Doubt], workloads: list[str]
) -> dict[str, list[Doubt]]:
    """Tier → the doubts about its runs of `workloads`; "" → those about the whole campaign."""
    tier_of: dict[int | None, str] = {None: ""}
    for run in plan.runs:
        if run.workload in workloads:
            tier_of[run.number] = run.profile
    doubts_by_tier: dict[str, list[Doubt]] = {}
    for doubt in doubts:
        if doubt.run in tier_of:
            tier = tier_of[doubt.run]
            doubts_by_tier.setdefault(tier, []).append(doubt)
    return doubts_by_tier


def forbidding(doubts: Iterable[Doubt]) -> Doubt | None:
    """The first for which nothing is concluded in a tier's favour."""
    for doubt in doubts:
        if doubt.effect == "forbids":
            return doubt
    return None


def limiting(doubts: Iterable[Doubt]) -> list[str]:
    """The kinds that limit an answer, with how many runs each is about: `short window (3 runs)`."""
    texts: list[str] = []
    for kind, runs in runs_limited(doubts).items():
        texts.append(_with_its_runs(kind, runs))
    return texts


def runs_limited(doubts: Iterable[Doubt]) -> dict[str, set[int]]:
    """Kind that limits an answer → the runs it is about; none of a doubt about the campaign."""
    runs_of: dict[str, set[int]] = {}
    for doubt in doubts:
        if doubt.effect == "limits":
            runs = runs_of.setdefault(doubt.kind, set())
            if doubt.run is not None:
                runs.add(doubt.run)
    return runs_of


def are_most(doubted: Set[int], runs: Set[int]) -> bool:
    """Whether more than half of the runs are doubted."""
    return 2 * len(runs & doubted) > len(runs)


def _with_its_runs(kind: str, runs: set[int]) -> str:
    if runs:
        return f"{kind} ({counted(len(runs), 'run')})"
    return kind
