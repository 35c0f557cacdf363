"""The validity rule: which doubts exclude a run from every figure, delta and decision. Pure.

Only doubts that make a figure wrong, whatever it is (docs/METHOD.md, which says why no others do).
"""

from collections.abc import Callable, Iterator

from orchestrator.facts import DoubtKind, GeneratorFacts
from orchestrator.keys.strict_yaml import shipped
from orchestrator.model import Doubt, Record
from orchestrator.tier import GateCheck
from orchestrator.units import format_number

TOTALS_PCT = 0.5

Reasons = Iterator[tuple[str, str]]  # text, advice


def reason(name: str, /, **values: object) -> tuple[str, str]:
    """Text and advice of doubts.yaml with these values in their braces. `name`: the kind of the
    doubt, and in brackets the case if it has several."""
    said = shipped(__package__, "doubts.yaml")[name]
    return said["text"].format(**values), said["advice"].format(**values)


def doubt(kind: DoubtKind, case: str = "", run: int | None = None, **values: object) -> Doubt:
    """In the words of doubts.yaml; `case`: as it is in brackets there."""
    return Doubt(kind, *reason(f"{kind} ({case})" if case else kind, **values), run)


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
        yield reason("gate not passed", tier=record.profile.tier.name, bad=bad)


def _limits_changed(record: Record) -> Reasons:
    if record.facts.get("limit_changes"):
        yield reason("limits changed")


def _totals(record: Record) -> Reasons:
    facts = GeneratorFacts.read(record.facts.get("generator"))
    own, kept = facts.sysbench_transactions, facts.recorded_transactions
    if own is None or kept is None:
        return
    least = min(abs(own - kept), abs(own - (kept - (facts.recorded_failures or 0.0))))
    if least > max(TOTALS_PCT / 100 * kept, 2.0 * record.workload.threads):
        yield reason("totals differ", own=format_number(own), kept=format_number(kept))


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
