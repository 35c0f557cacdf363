"""Doubts by what one tier differs from itself, measured under two names (`--aa`). Pure."""

import math
from collections.abc import Sequence

from orchestrator.analysis.conclusions import Delta
from orchestrator.analysis.doubts.effects import is_only_told
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.model import Doubt
from orchestrator.units import format_change


def noise_floor(deltas: Sequence[Delta], floor: Sequence[Delta]) -> Doubts:
    """Doubts about one tier that was measured under two names (`--aa`).

    `floor`: the change of the twin against the baseline.
    """
    for equal in floor:
        if _tells_apart(equal):
            yield _equal_tiers_told_apart(_words(equal), equal.verdict)
    within: list[str] = []
    for equal in floor:
        difference = format_change(equal.change_pct)
        for delta in deltas:
            if _is_within(delta, equal):
                within.append(
                    f"{_words(delta)}, where equal tiers differed by {difference}"
                )
    if within:
        yield _below_the_noise_floor(within)


def _tells_apart(delta: Delta) -> bool:
    return delta.verdict in ("better", "worse")


def _is_within(delta: Delta, equal: Delta) -> bool:
    """Whether a change that counts is no larger than that of one tier under two names."""
    if not _tells_apart(delta):
        return False
    # The noise of one figure says nothing of another one.
    figure = (delta.workload, delta.metric, delta.scope)
    if figure != (equal.workload, equal.metric, equal.scope):
        return False
    return _size(delta) <= _size(equal)


def _size(delta: Delta) -> float:
    """How large a change is."""
    # The size is a logarithm, so that a ratio and its inverse are equally large.
    ratio = 1 + delta.change_pct / 100
    if ratio > 0:
        return abs(math.log(ratio))
    return math.inf


def _words(delta: Delta) -> str:
    scope = ""
    if delta.scope != "all":
        scope = f" of {delta.scope}"
    sides = f"{delta.contender} against {delta.baseline}, {delta.workload}"
    return f"{sides}, {delta.metric}{scope} {format_change(delta.change_pct)}"


# ------------------------------------------------------------------ in words


def _equal_tiers_told_apart(change: str, verdict: str) -> Doubt:
    return is_only_told(
        "equal tiers told apart",
        "this campaign found a difference between two names of one tier: "
        f"{change}, {verdict}",
        advice="something other than the tier changed between runs. Look for drift in the "
        "charts, and for other work on the machine. Then measure with more repetitions",
    )


def _below_the_noise_floor(changes: Sequence[str]) -> Doubt:
    return is_only_told(
        "below the noise floor",
        f"no larger than the difference between equal tiers: {'; '.join(changes)}",
        advice="do not act on these changes; more repetitions narrow both intervals",
    )
