"""What makes the question of a contest moot: the disks were hardly asked, whichever tier won. Pure.

It is told by the runs' doubts: more than half of the runs that are judged must have one."""

from collections.abc import Sequence

from orchestrator.analysis.conclusions import MootWord
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.doubts import by_effect
from orchestrator.analysis.telemetry.causes.node_cause import HARNESS_CAUSES
from orchestrator.facts import DoubtKind, known_doubt_kind
from orchestrator.model import Objective
from orchestrator.tier import WAYS

# A tier that has one of these limits is where it is by what its provider declares.
_DECLARED = frozenset({"iops_cap", "bandwidth_cap"})
# These may be a disk's latency: of the data, or of the log.
_BY_LATENCY = frozenset({"latency_bound", "wal_disk_bound"})


def moot(
    named: Candidate, contest: Contest, slo: Sequence[Objective]
) -> tuple[MootWord, ...]:
    """`named`: the tier to buy; `slo`: what it was held against, at its load or at several."""
    words: list[MootWord] = []
    if _is_made_up(contest):
        words.append("made-up figures")
    if _in_most_runs("data fits in the cache", contest):
        words.append("cached data")
    # An SLO that is met although this machine was the limit is met all the same.
    if not slo and _is_held_back(named, contest):
        words.append("this machine")
    if _in_most_runs("short window", contest):
        words.append("short windows")
    if _rests_on_assumed_latency(named, contest, slo):
        words.append("assumed latency")
    return tuple(words)


def _is_made_up(contest: Contest) -> bool:
    """Whether a model made the figures: what follows from them is an example."""
    return any(
        known_doubt_kind(doubt.kind) == "rehearsal"
        for doubt in contest.circumstances.doubts.get("", ())
    )


def _is_held_back(named: Candidate, contest: Contest) -> bool:
    """Whether this machine or its load generator was the limit."""
    if named.cause in HARNESS_CAUSES:
        return True
    return _in_most_runs("host saturated", contest)


def _rests_on_assumed_latency(
    named: Candidate, contest: Contest, slo: Sequence[Objective]
) -> bool:
    """Whether the tier named, or another one beside it, would do better or worse if the real disks
    had other latencies than the emulated ones."""
    if slo and _is_at_its_assumed_latency(named):
        return True
    # Another latency might have let a tier serve the rate: those that did not count too.
    for other in (*contest.candidates, *contest.outside):
        if _order_rests_on_latency(named, other) and _may_differ(named, other):
            return True
    return False


def _is_at_its_assumed_latency(tier: Candidate) -> bool:
    """Whether an emulated latency that is our assumption limited it."""
    disk = tier.profile.tier
    if not disk.disk.holds_limits or tier.cause not in _BY_LATENCY:
        return False
    return any(disk.awaited_latency(way).is_assumption(way) for way in tier.awaited)


def _order_rests_on_latency(named: Candidate, other: Candidate) -> bool:
    """Whether the order of the two tiers may rest on a disk's latency."""
    if other.cause in _BY_LATENCY:
        return True
    # A rival at a declared cap stays where it is, whatever latency the real disks have.
    return named.cause in _BY_LATENCY and other.cause not in _DECLARED


def _may_differ(named: Candidate, other: Candidate) -> bool:
    """Whether both are emulated, and in a direction that is waited for at unlike latencies, of
    which one is our assumption."""
    for tier in (named, other):
        if not tier.profile.tier.disk.holds_limits:
            return False
    for way in WAYS:
        first = named.profile.tier.awaited_latency(way)
        second = other.profile.tier.awaited_latency(way)
        is_awaited = way in named.awaited or way in other.awaited
        is_assumed = first.is_assumption(way) or second.is_assumption(way)
        # Equal assumptions favour neither tier, and one that nobody waits for decides nothing.
        if is_awaited and is_assumed and first.seconds(way) != second.seconds(way):
            return True
    return False


def _in_most_runs(kind: DoubtKind, contest: Contest) -> bool:
    """Whether most of the judged runs have this doubt. Other runs enter no figure."""
    doubted: set[int] = set()
    for tier_doubts in contest.circumstances.doubts.values():
        for doubt in tier_doubts:
            if known_doubt_kind(doubt.kind) == kind and doubt.run is not None:
                doubted.add(doubt.run)
    return by_effect.are_most(doubted, contest.runs.numbers)
