"""Every kind of doubt: what finds it in a run, and what doubts do to a decision. Pure."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from orchestrator.analysis import results
from orchestrator.analysis.doubts import (
    campaign_checks,
    disk_checks,
    run_checks,
    validity,
)
from orchestrator.analysis.telemetry import resources
from orchestrator.model import Doubt, Plan
from orchestrator.units import counted, gathered

# What finds them in a finished run, in the order in which they are told.
RUN_CHECKS: tuple[Callable[[results.RunData, resources.Values], Iterable[Doubt]], ...] = (
    run_checks.truth_gate, run_checks.windows, run_checks.few_checkpoints, run_checks.cached,
    run_checks.client_busy, run_checks.clients_apart, run_checks.machine, run_checks.no_telemetry,
    run_checks.transactions, run_checks.burst_credit, run_checks.overloaded, run_checks.little,
    run_checks.ceiling, run_checks.database, run_checks.not_checked, run_checks.whole_tables,
    run_checks.others_at_work,
    *disk_checks.DISK_CHECKS,
)  # fmt: skip


def find(campaign: results.Results) -> tuple[Doubt, ...]:
    """Every doubt: about the campaign, then run by run, those that runs recorded included."""
    cpus = results.machine_cpus(campaign)
    doubts = [
        doubt for check in campaign_checks.CAMPAIGN_CHECKS for doubt in check(campaign)
    ]
    for run in sorted(campaign.runs, key=lambda run: run.record.run.number):
        doubts += run.record.doubts
        if run.record.outcome == "done":
            doubts += of_run(run, resources.total(run, cpus))
    return tuple(dict.fromkeys(doubts))


def of_run(run: results.RunData, values: resources.Values) -> Iterator[Doubt]:
    """Doubts about a finished run beside its record's. `values`: of its nodes and the machine."""
    yield from validity.shown(run.record)
    for check in RUN_CHECKS:
        yield from (
            replace(doubt, run=run.record.run.number) for doubt in check(run, values)
        )


def of_tiers(
    plan: Plan, doubts: Iterable[Doubt], workloads: list[str]
) -> dict[str, list[Doubt]]:
    """Tier → the doubts about its runs of `workloads`; "" → those about the whole campaign."""
    names = set(workloads)
    tier_of = dict[int | None, str]({None: ""})
    tier_of |= {run.number: run.profile for run in plan.runs if run.workload in names}
    return gathered(
        (tier_of[doubt.run], doubt) for doubt in doubts if doubt.run in tier_of
    )


def forbidding(doubts: Iterable[Doubt]) -> Doubt | None:
    """The first for which nothing is concluded in a tier's favour."""
    for doubt in doubts:
        if doubt.effect == "forbids":
            return doubt
    return None


def limiting(doubts: Iterable[Doubt]) -> list[str]:
    """What limits an answer: `short window (3 runs)`."""
    runs_of: dict[str, set[int]] = {}
    for doubt in doubts:
        if doubt.effect == "limits":
            runs = runs_of.setdefault(doubt.kind, set())
            if doubt.run is not None:
                runs.add(doubt.run)
    return [_with_its_runs(kind, runs) for kind, runs in runs_of.items()]


def _with_its_runs(kind: str, runs: set[int]) -> str:
    if runs:
        return f"{kind} ({counted(len(runs), 'run')})"
    return kind
