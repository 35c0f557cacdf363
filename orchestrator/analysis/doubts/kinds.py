"""Every kind of doubt: what finds it in a run, and what it does to a decision. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from orchestrator.analysis import results
from orchestrator.analysis.doubts import disk_checks, load_checks, run_checks, validity
from orchestrator.analysis.doubts.campaign_checks import CAMPAIGN_CHECKS
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry import resources
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.facts import DoubtKind
from orchestrator.model import Doubt, Plan
from orchestrator.units import counted, gathered

# excludes: the run enters no figure and no decision (`validity`).
# forbids: its figures make a tier look better than it is, or all tiers alike, so nothing is
#     concluded in the tier's favour.
# limits: the figures hold, but for less than a buyer may think: said in the answer's own sentence.
# none: it stands with the figures: it widens intervals, or tells of their measurement.
Effect = Literal["excludes", "forbids", "limits", "none"]


class Kind(NamedTuple):
    effect: Effect
    check: Callable[[RunData, Values], validity.Reasons] | None = None


# fmt: off
_CAMPAIGN_LIMITS: tuple[DoubtKind, ...] = (
    "rehearsal", "none tier", "cgroup tier", "unlike disks", "fewer nodes",
    "gate failed afterwards", "not compared", "gone on despite",
)
_CAMPAIGN_NONE: tuple[DoubtKind, ...] = (
    "published figures", "one repetition", "missing cell", "emulated tier", "VM caps the disk",
    "one disk of several", "unlike runs", "old price", "equal tiers told apart",
    "below the noise floor", "teardown", "gate drift", "no gate afterwards", "not restored",
    "out of order",
)
# fmt: on
KINDS: Mapping[DoubtKind, Kind] = {
    # Of a finished run, in the order in which they are told.
    "no truth gate": Kind("none", run_checks.no_gate),
    "old truth gate": Kind("none", run_checks.old_gate),
    "warm-up given up": Kind("none", run_checks.given_up),
    "unsteady throughput": Kind("none", run_checks.unsteady),
    "short window": Kind("limits", run_checks.short),
    "few checkpoints": Kind("limits", load_checks.few_checkpoints),
    "data fits in the cache": Kind("limits", run_checks.cached),
    "client busy": Kind("none", load_checks.client_busy),
    "clients apart": Kind("none", load_checks.clients_apart),
    "host saturated": Kind("limits", run_checks.host_saturated),
    "machine shared": Kind("limits", run_checks.others_busy),
    "telemetry gaps": Kind("none", run_checks.no_telemetry),
    "failures": Kind("forbids", run_checks.failures),
    "retries": Kind("none", run_checks.retries),
    "few transactions": Kind("none", run_checks.few_transactions),
    "burst credit left": Kind("forbids", run_checks.burst_credit),
    "overload": Kind("none", load_checks.overloaded),
    "Little's law": Kind("none", run_checks.little),
    "think time's ceiling": Kind("none", run_checks.ceiling),
    "commits not durable": Kind("forbids", run_checks.not_durable),
    "another build": Kind("none", run_checks.other_build),
    "consistency not checked": Kind("none", load_checks.not_checked),
    "facts not read": Kind("none", run_checks.not_read),
    "leaders moved": Kind("limits", run_checks.leaders_moved),
    "whole tables read": Kind("limits", run_checks.whole_tables),
    "connection pooler": Kind("limits", run_checks.pooler),
    "others at work": Kind("limits", run_checks.others_at_work),
    # Of its disks.
    "limit not verified": Kind("limits", disk_checks.out_of_reach),
    "bursting disk": Kind("forbids", disk_checks.bursting),
    "counts differ": Kind("none", disk_checks.counts),
    "host slower than the tier": Kind("limits", disk_checks.slow_host),
    "host errors": Kind("forbids", disk_checks.host_errors),
    "overhead differs": Kind("none", disk_checks.overhead),
    "shared disk": Kind("limits", disk_checks.shared),
    "host cache": Kind("limits", disk_checks.host_cache),
    "another disk than declared": Kind("limits", disk_checks.cloud),
    "burst credit unknown": Kind("limits", disk_checks.credit_unknown),
    "shared blocks": Kind("none", disk_checks.shared_blocks),
    "disk not quiet": Kind("none", disk_checks.not_quiet),
    "copied volume": Kind("none", disk_checks.copied_volume),
    "disks not counted": Kind("limits", disk_checks.not_counted),
    "replica missing": Kind("limits", disk_checks.replica_missing),
    "data in memory": Kind("limits", disk_checks.in_memory),
    # By the validity rule; then of the campaign, by `CAMPAIGN_CHECKS`, or noted during a run.
    **dict.fromkeys(validity.EXCLUDING, Kind("excludes")),
    **dict.fromkeys(_CAMPAIGN_LIMITS, Kind("limits")),
    **dict.fromkeys(_CAMPAIGN_NONE, Kind("none")),
}


def find(campaign: Results) -> tuple[Doubt, ...]:
    """Every doubt: about the campaign, then run by run, those that runs recorded included."""
    cpus = results.machine_cpus(campaign)
    doubts = [doubt for check in CAMPAIGN_CHECKS for doubt in check(campaign)]
    for run in sorted(campaign.runs, key=lambda run: run.record.run.number):
        doubts += run.record.doubts
        if run.record.outcome == "done":
            doubts += of_run(run, resources.total(run, cpus))
    return tuple(dict.fromkeys(doubts))


def of_run(run: RunData, values: Values) -> Iterator[Doubt]:
    """Doubts about a finished run beside its record's. `values`: of its nodes and the machine."""
    yield from (doubt for doubt in validity.excluding(run.record) if doubt.kind in validity.CHECKS)
    for name, kind in KINDS.items():
        for text, advice in kind.check(run, values) if kind.check else ():
            yield Doubt(name, text, advice, run.record.run.number)


def of_tiers(
    plan: Plan, doubts: Iterable[Doubt], workloads: Iterable[str]
) -> dict[str, list[Doubt]]:
    """Tier → the doubts about its runs of `workloads`; "" → those about the whole campaign."""
    names, tier_of = set(workloads), dict[int | None, str]({None: ""})
    tier_of |= {run.number: run.profile for run in plan.runs if run.workload in names}
    return gathered((tier_of[doubt.run], doubt) for doubt in doubts if doubt.run in tier_of)


def forbidding(doubts: Iterable[Doubt]) -> Doubt | None:
    """The first for which nothing is concluded in a tier's favour."""
    return next((doubt for doubt in doubts if KINDS[doubt.kind].effect == "forbids"), None)


def limiting(doubts: Iterable[Doubt]) -> list[str]:
    """What limits an answer: `short window (3 runs)`."""
    limits = ((of.kind, of.run) for of in doubts if KINDS[of.kind].effect == "limits")
    runs = {kind: {*numbers} - {None} for kind, numbers in gathered(limits).items()}
    return [f"{kind} ({counted(len(of), 'run')})" if of else kind for kind, of in runs.items()]
