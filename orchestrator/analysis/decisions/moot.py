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
    return tuple(words)


def _in_most_runs(kind: str, contest: Contest) -> bool:
    runs: set[int] = set()
    for of_tier in contest.doubts.values():
        for doubt in of_tier:
            if doubt.kind == kind and doubt.run is not None:
                runs.add(doubt.run)
    measured = sum(len(tier.numbers) for tier in contest.candidates)
    return 2 * len(runs) > measured
