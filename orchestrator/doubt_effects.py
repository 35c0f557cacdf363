"""What a doubt does to a verdict of which only the kind is known, as in results of format 2.

Later results have the effect itself, which the function that raises a doubt says
(`analysis/doubts/effects.py`).
"""

from collections.abc import Mapping

from orchestrator.facts import DoubtEffect, DoubtKind

# The run's figures are wrong, whatever they are (docs/METHOD.md, "Which runs count").
_EXCLUDING: tuple[DoubtKind, ...] = (
    "clock set",
    "leftovers",
    "gate not passed",
    "limits changed",
    "totals differ",
    "doubts not readable",
)
# The run's figures make a tier look better than it is, or all tiers alike.
_FORBIDDING: tuple[DoubtKind, ...] = (
    "failures",
    "burst credit left",
    "commits not durable",
    "bursting disk",
    "host errors",
)
# The figures hold, but for less than a buyer may think.
_LIMITING: tuple[DoubtKind, ...] = (
    # doubts of the campaign
    "rehearsal",
    "none tier",
    "unlike disks",
    "fewer nodes",
    "gate failed afterwards",
    "not compared",
    "gone on despite",
    # doubts of a run
    "short window",
    "short rebuild",
    "not recovered",
    "few checkpoints",
    "data fits in the cache",
    "limited by this machine",
    "host saturated",
    "machine shared",
    "leaders moved",
    "commits not synced",
    "few tablets",
    "whole tables read",
    "connection pooler",
    "others at work",
    # doubts of its disks
    "limit not verified",
    "host slower than the tier",
    "shared disk",
    "host cache",
    "another disk than declared",
    "burst credit unknown",
    "disks not counted",
    "replica missing",
    "data in memory",
)
# They widen intervals, or tell of the measurement.
_TOLD: tuple[DoubtKind, ...] = (
    # doubts of the campaign
    "published figures",
    "one repetition",
    "missing cell",
    "emulated tier",
    "VM caps the disk",
    "one disk of several",
    "unlike runs",
    "old price",
    "price not verified",
    "equal tiers told apart",
    "below the noise floor",
    "teardown",
    "gate drift",
    "no gate afterwards",
    "not restored",
    "out of order",
    # doubts of a run
    "no truth gate",
    "old truth gate",
    "warm-up given up",
    "unsteady throughput",
    "client busy",
    "clients apart",
    "telemetry gaps",
    "retries",
    "few transactions",
    "overload",
    "Little's law",
    "think time's ceiling",
    "another build",
    "consistency not checked",
    "facts not read",
    "one address for several nodes",
    "extension missing",
    # doubts of its disks
    "counts differ",
    "overhead differs",
    "shared blocks",
    "disk not quiet",
    "copied volume",
    "WAL disk not declared",
)

DOUBT_EFFECTS: Mapping[str, DoubtEffect] = {
    **dict.fromkeys(_EXCLUDING, "excludes"),
    **dict.fromkeys(_FORBIDDING, "forbids"),
    **dict.fromkeys(_LIMITING, "limits"),
    **dict.fromkeys(_TOLD, "told"),
}


def effect_of_doubt(kind: str) -> DoubtEffect:
    """The effect of a doubt of which only the kind is known; an unknown kind excludes."""
    return DOUBT_EFFECTS.get(kind, "excludes")
