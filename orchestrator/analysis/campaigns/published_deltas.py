"""The changes that a study printed against those that this program makes of its figures. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from orchestrator.analysis.conclusions import Verdict
from orchestrator.planning.published_study import PublishedDelta


@dataclass(frozen=True)
class Reproduced:
    """`change_pct`: ours, with as many digits as were printed; None if there is none."""

    printed: PublishedDelta
    change_pct: Decimal | None

    @property
    def agrees(self) -> bool:
        return self.change_pct == self.printed.change_pct

    def __str__(self) -> str:
        one = self.printed
        ours = "no such change" if self.change_pct is None else f"{self.change_pct:+} %"
        return (
            f"{one.tier}, {one.workload}, {one.metric}: printed {one.change_pct:+} %, "
            f"and its figures make {ours}"
        )


def reproduced(printed: Sequence[PublishedDelta], verdict: Verdict) -> tuple[Reproduced, ...]:
    """Each printed change beside ours, in the same order."""
    ours = {(d.workload, d.contender, d.metric, d.scope): d.change_pct for d in verdict.deltas}
    return tuple(
        Reproduced(one, _as_printed(ours.get((one.workload, one.tier, one.metric, one.scope)), one))
        for one in printed
    )


def _as_printed(change_pct: float | None, printed: PublishedDelta) -> Decimal | None:
    """Rounded as the printed one was, halves away from zero."""
    if change_pct is None:
        return None
    digits = Decimal(1).scaleb(int(printed.change_pct.as_tuple().exponent))
    return Decimal(repr(change_pct)).quantize(digits, ROUND_HALF_UP) + 0  # no minus zero
