"""The validity rule: which doubts exclude a run from every figure, delta and decision. Pure.

Only doubts that make a figure wrong, whatever it is (docs/METHOD.md, which says why no others do).
"""

from collections.abc import Callable, Iterator

from orchestrator.facts import DoubtKind, GeneratorFacts
from orchestrator.model import Doubt, Record
from orchestrator.tier import GateCheck
from orchestrator.units import format_number

TOTALS_PCT = 0.5

Reasons = Iterator[tuple[str, str]]  # text, advice


def excluding(record: Record) -> tuple[Doubt, ...]:
    """The doubts for which a finished run does not count; mostly none."""
    return (
        *(doubt for doubt in record.doubts if doubt.kind in NOTED),
        *(
            Doubt(kind, text, advice, record.run.number)
            for kind, check in CHECKS.items()
            for text, advice in check(record)
        ),
    )


def _failed_gate(record: Record) -> Reasons:
    gate = record.gate
    if gate is not None and not gate.passed:
        bad = "; ".join(f"{named(c)} {c.verdict}" for c in gate.checks if not c.passed)
        yield (
            f"the disk is not what {record.profile.tier.name} declares: {bad}",
            "its figures are not compared; see docs/TIERS.md",
        )


def _limits_changed(record: Record) -> Reasons:
    if record.facts.get("limit_changes"):
        yield (
            "the disk's limits were changed while this ran: its figures are not the tier's",
            "use it to see what the limit does, not to compare tiers",
        )


def _totals(record: Record) -> Reasons:
    facts = GeneratorFacts.read(record.facts.get("generator"))
    own, kept = facts.sysbench_transactions, facts.recorded_transactions
    if own is None or kept is None:
        return
    least = min(abs(own - kept), abs(own - (kept - (facts.recorded_failures or 0.0))))
    if least > max(TOTALS_PCT / 100 * kept, 2.0 * record.workload.threads):
        yield (
            f"sysbench counted {format_number(own)} transactions, {format_number(kept)} were kept "
            "one by one",
            "transactions were lost on the way: see the run's raw output",
        )


def named(check: GateCheck) -> str:
    """A check with its disk, if the tier names several."""
    return f"{check.disk}: {check.limit}" if check.disk else check.limit


# Noted in the record while the run went on.
NOTED: tuple[DoubtKind, ...] = ("clock set", "leftovers")
# Found in the record.
CHECKS: dict[DoubtKind, Callable[[Record], Reasons]] = {
    "gate not passed": _failed_gate,
    "limits changed": _limits_changed,
    "totals differ": _totals,
}
EXCLUDING: tuple[DoubtKind, ...] = (*NOTED, *CHECKS)
