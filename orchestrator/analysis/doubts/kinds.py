"""All checks of a campaign and its runs. Pure.

A check looks for one thing that limits what figures say, and yields a doubt for each place where
it finds it. `find` makes all checks; `by_effect` says what their doubts do to an answer.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from orchestrator.analysis import results
from orchestrator.analysis.doubts import (
    burst_checks,
    campaign_checks,
    checkpoint_checks,
    client_checks,
    database_checks,
    disk_checks,
    extension_checks,
    gate_checks,
    machine_checks,
    pace_checks,
    price_checks,
    provider_checks,
    transaction_checks,
    validity,
    window_checks,
    written_checks,
)
from orchestrator.analysis.telemetry.use import all_nodes
from orchestrator.model import Doubt

RunCheck = Callable[[results.RunData, all_nodes.Totals], Iterable[Doubt]]
CampaignCheck = Callable[[results.Results], Iterable[Doubt]]

# Checks are made, and their doubts shown, in the order of these lists.
CAMPAIGN_CHECKS: tuple[CampaignCheck, ...] = (
    campaign_checks.rehearsed,
    campaign_checks.cells,
    campaign_checks.not_the_real_disk,
    campaign_checks.vm_caps,
    price_checks.old_price,
    price_checks.unverified_price,
    campaign_checks.said_beforehand,
    campaign_checks.comparable,
    gate_checks.gate_drift,
    gate_checks.gates_afterwards,
)
# Checks of the disks of a finished run.
DISK_CHECKS: tuple[RunCheck, ...] = (
    disk_checks.not_verified,
    burst_checks.above_its_limit,
    burst_checks.bursting_in_the_gate,
    disk_checks.served,
    disk_checks.shared,
    disk_checks.host_cache,
    provider_checks.cloud,
    burst_checks.credit_unknown,
    provider_checks.restored,
    written_checks.not_counted,
    written_checks.copies,
)
# Checks of everything in a finished run, its disks included.
RUN_CHECKS: tuple[RunCheck, ...] = (
    gate_checks.truth_gate,
    window_checks.windows,
    checkpoint_checks.few_checkpoints,
    database_checks.cached,
    client_checks.client_busy,
    client_checks.clients_apart,
    machine_checks.machine,
    machine_checks.no_telemetry,
    transaction_checks.transactions,
    burst_checks.credit_left,
    pace_checks.overloaded,
    transaction_checks.little,
    pace_checks.ceiling,
    database_checks.database,
    database_checks.not_checked,
    database_checks.whole_tables,
    database_checks.others_at_work,
    *DISK_CHECKS,
    extension_checks.brought,
    extension_checks.missing,
)


def find(campaign: results.Results) -> tuple[Doubt, ...]:
    """All doubts about a campaign: first of the whole, then run by run.

    Those that a run recorded while it went on are among them. None stands twice.
    """
    doubts: list[Doubt] = []
    for check in CAMPAIGN_CHECKS:
        doubts += check(campaign)
    cpus = results.machine_cpus(campaign)
    for run in sorted(campaign.runs, key=_number):
        doubts += run.record.doubts
        # A run that failed has no figures to doubt, only what was noted in it.
        if run.record.outcome == "done":
            totals = all_nodes.total(run, cpus)
            doubts += of_run(run, totals)
    # What a run recorded while it went on may be what its record shows too.
    without_repeats = dict.fromkeys(doubts)
    return tuple(without_repeats)


def _number(run: results.RunData) -> int:
    return run.record.run.number


def of_run(run: results.RunData, values: all_nodes.Totals) -> Iterator[Doubt]:
    """Doubts about a finished run, without those that it recorded.

    `values`: what its nodes and the machine used.
    """
    yield from validity.shown(run.record)
    for check in RUN_CHECKS:
        for doubt in check(run, values):
            yield replace(doubt, run=_number(run))
