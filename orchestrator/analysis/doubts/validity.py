"""The validity rule: which doubts exclude a run from every figure, delta and decision. Pure.

Only doubts that make a figure wrong, whatever it is (docs/METHOD.md, which says why no others do).
"""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator import tier
from orchestrator.analysis.doubts import extension_records, hand_changes
from orchestrator.analysis.doubts.effects import excludes_the_run
from orchestrator.model import Doubt, Record
from orchestrator.units import format_number

# The generator's own total and the transactions kept one by one may differ by so much.
TOTALS_PCT = 0.5
# Or by so many a thread, of a short run: each has one under way at either end of the window.
UNDER_WAY = 2.0

Doubts = Iterator[Doubt]


def excluding(record: Record) -> tuple[Doubt, ...]:
    """The doubts for which a finished run does not count; mostly none."""
    # Those that were noted while the run went on come first: nothing that it left shows them.
    noted = [doubt for doubt in record.doubts if doubt.effect == "excludes"]
    return (*noted, *shown(record))


def shown(record: Record) -> Doubts:
    """The doubts that a record's content shows, without the doubts that were noted in the
    record."""
    doubts = (
        *_gate(record),
        *_limit_changes(record),
        *_totals(record),
        *extension_records.not_readable(record),
        *extension_records.excluding(record),
    )
    for doubt in doubts:
        yield replace(doubt, run=record.run.number)


def _gate(record: Record) -> Doubts:
    # The doubt `no truth gate` tells that no check was made, and makes no figure wrong.
    if record.gate is None or record.gate.passed:
        return
    failed = [check for check in record.gate.checks if not check.passed]
    words = [f"{named(check)} {check.verdict}" for check in failed]
    yield _gate_not_passed(record.profile.tier.name, "; ".join(words))


def _limit_changes(record: Record) -> Doubts:
    changes = hand_changes.in_words(record)
    if changes:
        yield _limits_changed(changes)


def _totals(record: Record) -> Doubts:
    facts = record.read_facts.generator
    counted = facts.sysbench_transactions
    recorded = facts.recorded_transactions
    if counted is None or recorded is None:
        return
    # The generator's total may hold those that failed, or not.
    without_failures = recorded - (facts.recorded_failures or 0.0)
    apart = min(abs(counted - recorded), abs(counted - without_failures))
    allowed = max(TOTALS_PCT / 100 * recorded, UNDER_WAY * record.workload.threads)
    if apart > allowed:
        yield _totals_differ(counted, recorded)


def named(check: tier.GateCheck) -> str:
    """A check with its disk, if the tier names several."""
    if check.disk:
        return f"{check.disk}: {check.limit}"
    return check.limit


def _gate_not_passed(tier_name: str, bad: str) -> Doubt:
    return excludes_the_run(
        "gate not passed",
        f"the disk is not what {tier_name} declares: {bad}",
        advice="its figures are not compared; see docs/TIERS.md",
    )


def _limits_changed(changes: str) -> Doubt:
    return excludes_the_run(
        "limits changed",
        f"a person set {changes}: its figures are not the tier's",
        advice="use it to see what the limit does, not to compare tiers",
    )


def _totals_differ(counted: float, recorded: float) -> Doubt:
    return excludes_the_run(
        "totals differ",
        f"sysbench counted {format_number(counted)} transactions, but "
        f"{format_number(recorded)} were recorded one by one",
        advice="transactions were lost on the way: see the run's raw output",
    )
