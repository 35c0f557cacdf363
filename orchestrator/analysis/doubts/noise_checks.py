"""Kinds of doubt that a campaign gives which measured one tier under two names (`--aa`). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from orchestrator.analysis.conclusions import Delta
from orchestrator.model import Doubt
from orchestrator.units import format_change


def doubts(deltas: Sequence[Delta], floor: Sequence[Delta]) -> Iterator[Doubt]:
    """`floor`: the twin against the baseline, wherever both have figures."""
    for equal in floor:
        if equal.verdict in ("better", "worse"):
            yield Doubt(
                "equal tiers told apart",
                f"this campaign told two equal tiers apart: {_words(equal)}, "
                f"{equal.verdict}, although both names are of one tier",
                "something else than the tier changed between runs: look for drift in the charts "
                "and for what else the machine did, and measure again with more repetitions",
            )
    within = [
        f"{_words(delta)}, where equal tiers differed by {format_change(equal.change_pct)}"
        for equal in floor
        for delta in deltas
        if _of_one(delta, equal)
        and delta.verdict in ("better", "worse")
        and _size(delta) <= _size(equal)
    ]
    if within:
        yield Doubt(
            "below the noise floor",
            f"no larger than what equal tiers differed by: {'; '.join(within)}",
            "do not act on it: more repetitions narrow both",
        )


def _of_one(delta: Delta, equal: Delta) -> bool:
    keys = [(one.workload, one.metric, one.scope) for one in (delta, equal)]
    return keys[0] == keys[1]


def _size(delta: Delta) -> float:
    """Of a ratio and its inverse alike."""
    ratio = 1 + delta.change_pct / 100
    return abs(math.log(ratio)) if ratio > 0 else math.inf


def _words(delta: Delta) -> str:
    scope = "" if delta.scope == "all" else f" of {delta.scope}"
    return (
        f"{delta.contender} against {delta.baseline}, {delta.workload}, {delta.metric}{scope} "
        f"{format_change(delta.change_pct)}"
    )
