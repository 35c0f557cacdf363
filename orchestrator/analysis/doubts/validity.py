"""The validity rule: which doubts exclude a run from every figure, delta and decision. Pure.

Only doubts that make a figure wrong, whatever it is (docs/METHOD.md, which says why no others do).
"""

from collections.abc import Iterator

from orchestrator import tier, units
from orchestrator.facts import DoubtKind, GeneratorFacts
from orchestrator.keys.strict_yaml import shipped
from orchestrator.model import Doubt, Record

TOTALS_PCT = 0.5
NOTED = ("clock set", "leftovers")  # in the record while the run went on

Doubts = Iterator[Doubt]
_WORDS = units.Words()


def doubt(
    kind: DoubtKind, case: str = "", run: int | None = None, **values: object
) -> Doubt:
    """In the words of doubts.yaml, with these values in their braces; `case`: as it is in brackets
    there, of a kind that has several."""
    said = shipped(__package__, "doubts.yaml")[f"{kind} ({case})" if case else kind]
    text, advice = (_WORDS.format(said[part], **values) for part in ("text", "advice"))
    return Doubt(kind, text, advice, run)


def excluding(record: Record) -> tuple[Doubt, ...]:
    """The doubts for which a finished run does not count; mostly none."""
    noted = (doubt for doubt in record.doubts if doubt.kind in NOTED)
    return (*noted, *shown(record))


def shown(record: Record) -> Doubts:
    """Those of them that the record shows beside what was noted in it."""
    run = record.run.number
    if record.gate is not None and not record.gate.passed:
        bad = "; ".join(
            f"{named(c)} {c.verdict}" for c in record.gate.checks if not c.passed
        )
        yield doubt("gate not passed", run=run, tier=record.profile.tier.name, bad=bad)
    if record.facts.get("limit_changes"):
        yield doubt("limits changed", run=run)
    facts = GeneratorFacts.read(record.facts.get("generator"))
    own, kept = facts.sysbench_transactions, facts.recorded_transactions
    if own is None or kept is None:
        return
    least = min(abs(own - kept), abs(own - (kept - (facts.recorded_failures or 0.0))))
    if least > max(TOTALS_PCT / 100 * kept, 2.0 * record.workload.threads):
        yield doubt("totals differ", run=run, own=own, kept=kept)


def named(check: tier.GateCheck) -> str:
    """A check with its disk, if the tier names several."""
    return f"{check.disk}: {check.limit}" if check.disk else check.limit
