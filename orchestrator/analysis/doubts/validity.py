"""The validity rule: which doubts exclude a run from every figure, delta and decision. Pure.

Only doubts that make a figure wrong, whatever it is (docs/METHOD.md, which says why no others do).
"""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator import tier
from orchestrator.facts import GeneratorFacts
from orchestrator.model import Doubt, Record
from orchestrator.units import format_number

TOTALS_PCT = 0.5
NOTED = ("clock set", "leftovers")  # in the record while the run went on

Doubts = Iterator[Doubt]


def excluding(record: Record) -> tuple[Doubt, ...]:
    """The doubts for which a finished run does not count; mostly none."""
    noted = (doubt for doubt in record.doubts if doubt.kind in NOTED)
    return (*noted, *shown(record))


def shown(record: Record) -> Doubts:
    """Those of them that the record shows beside what was noted in it."""
    for doubt in _shown(record):
        yield replace(doubt, run=record.run.number)


def _shown(record: Record) -> Doubts:
    if record.gate is not None and not record.gate.passed:
        bad = "; ".join(
            f"{named(c)} {c.verdict}" for c in record.gate.checks if not c.passed
        )
        yield _gate_not_passed(record.profile.tier.name, bad)
    if record.facts.get("limit_changes"):
        yield _limits_changed()
    facts = GeneratorFacts.read(record.facts.get("generator"))
    own = facts.sysbench_transactions
    kept = facts.recorded_transactions
    if own is None or kept is None:
        return
    least = min(abs(own - kept), abs(own - (kept - (facts.recorded_failures or 0.0))))
    if least > max(TOTALS_PCT / 100 * kept, 2.0 * record.workload.threads):
        yield _totals_differ(own, kept)


def named(check: tier.GateCheck) -> str:
    """A check with its disk, if the tier names several."""
    if check.disk:
        return f"{check.disk}: {check.limit}"
    return check.limit


def _gate_not_passed(tier_name: str, bad: str) -> Doubt:
    return Doubt(
        "gate not passed",
        f"the disk is not what {tier_name} declares: {bad}",
        advice="its figures are not compared; see docs/TIERS.md",
    )


def _limits_changed() -> Doubt:
    return Doubt(
        "limits changed",
        "the disk's limits were changed while this ran: its figures are not the tier's",
        advice="use it to see what the limit does, not to compare tiers",
    )


def _totals_differ(counted: float, recorded: float) -> Doubt:
    return Doubt(
        "totals differ",
        f"sysbench counted {format_number(counted)} transactions, "
        f"{format_number(recorded)} were kept one by one",
        advice="transactions were lost on the way: see the run's raw output",
    )
