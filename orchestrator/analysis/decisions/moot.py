"""What makes the question of a contest moot: the disks were hardly asked, whichever tier won. Pure.

It is told by the runs' doubts, of which more than half of the runs must have one. An SLO that is
met although this machine was the limit is met all the same."""

from orchestrator.analysis.conclusions import MootWord
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.telemetry.causes import HARNESS_CAUSES

_CACHED = "data fits in the cache"
_SHORT = "short window"
_SATURATED = "host saturated"


def moot(named: Candidate, contest: Contest) -> tuple[MootWord, ...]:
    """`named`: the tier to buy."""
    words: list[MootWord] = []
    if _in_most_runs(_CACHED, contest):
        words.append("cached data")
    held_back = named.cause in HARNESS_CAUSES or _in_most_runs(_SATURATED, contest)
    if held_back and not contest.slo:
        words.append("this machine")
    if _in_most_runs(_SHORT, contest):
        words.append("short windows")
    if _rests_on_assumed_latency(named, contest):
        words.append("assumed latency")
    return tuple(words)


def _rests_on_assumed_latency(named: Candidate, contest: Contest) -> bool:
    """Whether another tier, which its latency limited, would do better or worse beside the one
    named if the real disks had other latencies than the emulated ones.

    A tier that its IOPS or bytes limited is where it is by what its provider declares.
    """
    for other in contest.candidates:
        if other.cause == "latency_bound" and _may_differ(named, other):
            return True
    return False


def _may_differ(named: Candidate, other: Candidate) -> bool:
    """Whether both are emulated at unlike latencies, of which one is our assumption."""
    tiers = (named.profile.tier, other.profile.tier)
    if any(tier.disk.kind != "emulated" for tier in tiers):
        return False
    first, second = (tier.latency for tier in tiers)
    are_alike = (first.read_s, first.write_s) == (second.read_s, second.write_s)
    return not are_alike and (first.is_assumption or second.is_assumption)


def _in_most_runs(kind: str, contest: Contest) -> bool:
    runs: set[int] = set()
    for of_tier in contest.doubts.values():
        for doubt in of_tier:
            if doubt.kind == kind and doubt.run is not None:
                runs.add(doubt.run)
    measured = sum(len(tier.numbers) for tier in contest.candidates)
    return 2 * len(runs) > measured
