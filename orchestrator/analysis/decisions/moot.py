"""What makes the question of a contest moot: the disks were hardly asked, whichever tier won. Pure.

It is told by the runs' doubts: more than half of the runs that are judged must have one. An SLO
that is met although this machine was the limit is met all the same."""

from collections.abc import Sequence

from orchestrator.analysis.conclusions import MootWord
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.telemetry.causes import HARNESS_CAUSES
from orchestrator.model import Objective

_CACHED = "data fits in the cache"
_SHORT = "short window"
_SATURATED = "host saturated"

# Where these are the limit, a tier is where it is by what its provider declares.
_DECLARED = frozenset({"iops_cap", "bandwidth_cap"})


def moot(
    named: Candidate, contest: Contest, slo: Sequence[Objective]
) -> tuple[MootWord, ...]:
    """`named`: the tier to buy; `slo`: what it was held against, at its load or at several."""
    words: list[MootWord] = []
    if _in_most_runs(_CACHED, contest):
        words.append("cached data")
    held_back = named.cause in HARNESS_CAUSES or _in_most_runs(_SATURATED, contest)
    if held_back and not slo:
        words.append("this machine")
    if _in_most_runs(_SHORT, contest):
        words.append("short windows")
    if _rests_on_assumed_latency(named, contest, slo):
        words.append("assumed latency")
    return tuple(words)


def _rests_on_assumed_latency(
    named: Candidate, contest: Contest, slo: Sequence[Objective]
) -> bool:
    """Whether the tier named, or another one beside it, would do better or worse if the real disks
    had other latencies than the emulated ones. Tiers that did not serve the rate count too."""
    if slo and _is_at_its_assumed_latency(named):
        return True
    for other in (*contest.candidates, *contest.outside):
        if _latency_ranks(named, other) and _may_differ(named, other):
            return True
    return False


def _is_at_its_assumed_latency(tier: Candidate) -> bool:
    """Whether an emulated latency that is our assumption limited it."""
    disk = tier.profile.tier
    is_assumed = disk.disk.kind == "emulated" and disk.latency.is_assumption
    return is_assumed and tier.cause == "latency_bound"


def _latency_ranks(named: Candidate, other: Candidate) -> bool:
    """Whether a latency limited the other tier, or the one named beside one that is not at a limit
    that its provider declares."""
    if other.cause == "latency_bound":
        return True
    return named.cause == "latency_bound" and other.cause not in _DECLARED


def _may_differ(named: Candidate, other: Candidate) -> bool:
    """Whether both are emulated at unlike latencies, of which one is our assumption."""
    tiers = (named.profile.tier, other.profile.tier)
    if any(tier.disk.kind != "emulated" for tier in tiers):
        return False
    first, second = (tier.latency for tier in tiers)
    are_alike = (first.read_s, first.write_s) == (second.read_s, second.write_s)
    return not are_alike and (first.is_assumption or second.is_assumption)


def _in_most_runs(kind: str, contest: Contest) -> bool:
    """Of those that are judged; runs of other tiers and loads enter no figure."""
    doubted: set[int | None] = set()
    for of_tier in contest.doubts.values():
        for doubt in of_tier:
            if doubt.kind == kind:
                doubted.add(doubt.run)
    judged = contest.judged_runs
    return 2 * len(judged & doubted) > len(judged)
