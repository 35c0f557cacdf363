"""Proof by trial: whether changes of a run's limits confirm the cause that counters named. Pure.

`run/window/confirming.py` changes limits while a load runs. `trial_elasticities` tells how
throughput followed each of them. Here the cause is confirmed, rejected or left open, and put into
words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from orchestrator import facts
from orchestrator.analysis.conclusions import Bottleneck, Elasticity
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes.cause import cause_in_words
from orchestrator.analysis.telemetry.causes.trial_elasticities import (
    LATENCIES,
    MOST_RUNS,
    Trials,
    trials,
)
from orchestrator.analysis.telemetry.use import load_and_sessions
from orchestrator.texts import prose

# Elasticities: throughput follows a limit by half or more, or next to not at all
# (docs/research/RULES.md).
CONFIRMED = 0.5
REJECTED = 0.1
_SESSIONS: facts.TriedLimit = "sessions"
# A limit that is tried out → the cause that it is.
CAUSES: Mapping[facts.TriedLimit, facts.BottleneckCause] = {
    "IOPS": "iops_cap",
    "bandwidth": "bandwidth_cap",
    "disk latency": "latency_bound",
    "shared IOPS": "shared_cap",
    "shared bandwidth": "shared_cap",
    "machine's IOPS": "vm_cap",
    "machine's bandwidth": "vm_cap",
    "WAL disk's IOPS": "wal_disk_bound",
    "WAL disk's bandwidth": "wal_disk_bound",
    "WAL disk's latency": "wal_disk_bound",
    "node CPU": "cpu_bound",
    "client CPU": "client_bound",
    _SESSIONS: "few_sessions",
}
# Limits that can be lowered while a load runs, and not raised.
_ONLY_LOWERED: tuple[facts.TriedLimit, ...] = ("client CPU", _SESSIONS)
# Causes that name no limit: one that is confirmed takes their place.
_WITHOUT_LIMIT = ("unattributed", "in_cache")


def proven(bottleneck: Bottleneck, runs: Sequence[RunData]) -> Bottleneck:
    """The bottleneck with what trials of its runs' limits say of it; itself without trials.

    A cause that they reject is dropped. Where no cause was known, a limit that they confirm is the
    cause."""
    tried = trials(runs)
    if tried is None:
        return bottleneck
    followed = "throughput"
    if load_and_sessions.has_pace(runs[0].record.workload):
        followed = "speed of transactions"
    return concluded_from(tried, bottleneck, followed)


def concluded_from(tried: Trials, bottleneck: Bottleneck, followed: str) -> Bottleneck:
    """The bottleneck as concluded from trials, like `proven`.

    `followed`: what followed the limits, in words.
    """
    concluded = _concluded(bottleneck, tried)
    gains = [_sentence(elasticity, followed) for elasticity in tried.elasticities]
    changes = prose.listed(gains)
    text = f"{concluded.text} {changes}."
    faster_disk = bottleneck.faster_disk
    # What was said of the disk belongs to the cause that counters named.
    if concluded.cause != bottleneck.cause:
        faster_disk = ""
    return replace(
        bottleneck,
        verdict=concluded.cause,
        text=text,
        faster_disk=faster_disk,
        elasticities=tried.elasticities,
    )


# ------------------------------------------------------------------ what is concluded


class _Concluded(NamedTuple):
    cause: facts.BottleneckCause
    text: str


def _concluded(bottleneck: Bottleneck, tried: Trials) -> _Concluded:
    """The cases of docs/research/RULES.md, "Proof by trial"."""
    suspected = _suspected(bottleneck.cause, tried.elasticities)
    best = _best(tried)
    if suspected is None:
        return _without_a_suspect(bottleneck, best, tried)
    counters_say = f"Counters say {cause_in_words(bottleneck.cause)}"
    if suspected.value < REJECTED and suspected.high < CONFIRMED:
        rejected = f"{counters_say}, but trying it out rejects that."
        if not _is_limit(best, tried):
            return _Concluded("unattributed", rejected)
        return _by_trial(best, f"{rejected} By")
    if suspected.low >= REJECTED:
        part = " in part"
        if suspected.value >= CONFIRMED:
            part = ""
        confirmed = f"Trying it out confirms this{part}."
        return _Concluded(bottleneck.cause, f"{bottleneck.text} {confirmed}")
    if _is_limit(best, tried) and best.limit not in (suspected.limit, _SESSIONS):
        not_proven = f"{counters_say}, which trying it out does not prove."
        return _by_trial(best, f"{not_proven} By")
    not_decided = "Trying it out did not decide whether that is the limit."
    needed = _what_it_takes([suspected], tried)
    return _Concluded(bottleneck.cause, f"{bottleneck.text} {not_decided}{needed}")


def _suspected(
    cause: facts.BottleneckCause, tried: Sequence[Elasticity]
) -> Elasticity | None:
    """The elasticity of the limit that throughput follows most, of those that the cause names."""
    # What ran out of credit is at its IOPS cap from then on.
    limited = cause
    if cause == "burst_exhausted":
        limited = "iops_cap"
    suspects: list[Elasticity] = []
    for elasticity in tried:
        if CAUSES[elasticity.limit] == limited:
            suspects.append(elasticity)
    return max(suspects, key=_value, default=None)


def _value(elasticity: Elasticity) -> float:
    return elasticity.value


def _best(tried: Trials) -> Elasticity:
    """The tried limit that throughput follows most. Confirmed limits come first, except for the
    number of sessions."""
    # More sessions help wherever a wait is no queue, as the wait for a disk's latency. So other
    # limits that are confirmed come before the number of sessions.
    confirmed: list[Elasticity] = []
    for elasticity in tried.elasticities:
        if elasticity.limit != _SESSIONS and _is_followed(elasticity, tried):
            confirmed.append(elasticity)
    return max(confirmed or tried.elasticities, key=_value)


def _is_followed(elasticity: Elasticity, tried: Trials) -> bool:
    """Whether throughput follows the limit by half or more, and no further than it can."""
    return CONFIRMED <= elasticity.value <= tried.at_most


def _is_limit(elasticity: Elasticity, tried: Trials) -> bool:
    return _is_followed(elasticity, tried) and elasticity.low >= REJECTED


def _without_a_suspect(
    bottleneck: Bottleneck, best: Elasticity, tried: Trials
) -> _Concluded:
    """The limit that is confirmed, where counters named none."""
    # More sessions do more with data in memory, as the first sentence says: that is no other cause.
    only_sessions = bottleneck.cause == "in_cache" and best.limit == _SESSIONS
    if bottleneck.cause not in _WITHOUT_LIMIT or only_sessions:
        return _Concluded(bottleneck.cause, bottleneck.text)
    if _is_limit(best, tried):
        return _by_trial(best, "Its counters alone did not tell, but by")
    return _Concluded(bottleneck.cause, f"{bottleneck.text} {_none_found(tried)}")


def _none_found(tried: Trials) -> str:
    """A sentence if no limit was proven: each is excluded, or some are open."""
    still_open: list[Elasticity] = []
    for elasticity in tried.elasticities:
        if elasticity.high >= CONFIRMED:
            still_open.append(elasticity)
    if not still_open:
        return "Throughput follows none of the limits that were tried out."
    names = prose.listed([elasticity.limit for elasticity in still_open])
    not_decided = f"Trying it out did not decide whether the limit is among {names}."
    if len(still_open) == 1:
        not_decided = f"Trying it out did not decide whether the limit is {names}."
    return f"{not_decided}{_what_it_takes(still_open, tried)}"


def _what_it_takes(still_open: Sequence[Elasticity], tried: Trials) -> str:
    """How many runs it would take to prove the limit that throughput seems to follow most.

    Empty if it follows that limit by half, and not because of noise.
    """
    most = max(still_open, key=_value)
    needed = tried.runs_to_prove(most, REJECTED)
    if needed <= tried.runs:
        return ""
    if needed > MOST_RUNS:
        return f" More than {MOST_RUNS} such runs would be needed: measure for longer."
    return f" About {needed} such runs would decide it (`--repeats {needed}`)."


def _by_trial(best: Elasticity, begin: str) -> _Concluded:
    text = f"{begin} trial the limit is {best.limit}."
    return _Concluded(CAUSES[best.limit], text)


def _sentence(elasticity: Elasticity, followed: str) -> str:
    """What the change of a limit in the direction that can be tried gave."""
    change = _decisive_change(elasticity.limit)
    value = _gain_pct(elasticity.value, change.log_growth)
    interval = _interval(elasticity, change.log_growth)
    trial = f"{elasticity.limit} {change.text}"
    return f"{trial} gave {followed} {_signed(value)} % {interval}"


def _interval(elasticity: Elasticity, growth: float) -> str:
    ends = [_gain_pct(elasticity.low, growth), _gain_pct(elasticity.high, growth)]
    low, high = sorted(ends)
    return f"({_signed(low)} to {_signed(high)} %)"


class _DecisiveChange(NamedTuple):
    """A change of a limit, in words and as the logarithm of what it is multiplied by, inverse for
    latency."""

    text: str
    log_growth: float


def _decisive_change(limit: facts.TriedLimit) -> _DecisiveChange:
    if limit in LATENCIES:
        return _DecisiveChange("−25 %", -math.log(0.75))
    if limit in _ONLY_LOWERED:
        return _DecisiveChange("−25 %", math.log(0.75))
    return _DecisiveChange("+25 %", math.log(1.25))


def _gain_pct(elasticity: float, growth: float) -> float:
    return 100 * math.expm1(elasticity * growth)


def _signed(percent: float) -> str:
    return f"{percent:+.0f}".replace("-", "−")
