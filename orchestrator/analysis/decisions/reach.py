"""How far each kind of doubt reaches into a decision. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from orchestrator.facts import DoubtKind
from orchestrator.model import Doubt, Plan
from orchestrator.units import counted

Reach = Literal["forbids", "limits", "none"]

# Figures of such a run make its tier look better than it is, or all tiers alike.
_FORBID: tuple[DoubtKind, ...] = (
    "burst credit left",
    "bursting disk",
    "commits not durable",
    "failures",
)
# The figures hold, but for less than a buyer may think: said in the answer's own sentence.
_LIMIT: tuple[DoubtKind, ...] = (
    *("rehearsal", "none tier", "cgroup tier", "unlike disks", "fewer nodes"),
    *("limit not verified", "gate failed afterwards", "another disk than declared", "host cache"),
    *("burst credit unknown", "shared disk", "host slower than the tier"),
    *("short window", "few checkpoints", "data fits in the cache"),
    *("host saturated", "machine shared", "leaders moved", "whole tables read"),
    *("not compared", "connection pooler", "disks not counted"),
)
# These stand with the figures: they widen intervals, exclude a run, or tell of its measurement.
_NONE: tuple[DoubtKind, ...] = (
    *("published figures", "one repetition", "missing cell", "emulated tier", "VM caps the disk"),
    *("one disk of several", "unlike runs", "old price", "equal tiers told apart"),
    *("below the noise floor", "leftovers", "teardown", "clock set", "no truth gate"),
    *("gate not passed", "old truth gate", "limits changed", "counts differ", "shared blocks"),
    *("disk not quiet", "gate drift", "no gate afterwards", "overhead differs", "copied volume"),
    *("warm-up given up", "unsteady throughput", "client busy", "telemetry gaps", "retries"),
    *("few transactions", "overload", "Little's law", "think time's ceiling", "clients apart"),
    *("totals differ", "another build", "consistency not checked", "facts not read"),
    "not restored",
)
REACH: Mapping[DoubtKind, Reach] = {
    **dict.fromkeys(_FORBID, "forbids"),
    **dict.fromkeys(_LIMIT, "limits"),
    **dict.fromkeys(_NONE, "none"),
}


def of_tiers(
    plan: Plan, doubts: Iterable[Doubt], workloads: Iterable[str]
) -> dict[str, tuple[Doubt, ...]]:
    """Tier → the doubts about its runs of `workloads`; "" → those about the whole campaign."""
    names = set(workloads)
    tier_of = {run.number: run.profile for run in plan.runs if run.workload in names}
    found: dict[str, tuple[Doubt, ...]] = {}
    for doubt in doubts:
        if doubt.run is None or doubt.run in tier_of:
            tier = "" if doubt.run is None else tier_of[doubt.run]
            found[tier] = (*found.get(tier, ()), doubt)
    return found


def forbidding(doubts: Iterable[Doubt]) -> Doubt | None:
    """The first for which nothing is concluded in a tier's favour."""
    return next((doubt for doubt in doubts if REACH[doubt.kind] == "forbids"), None)


def limiting(doubts: Iterable[Doubt]) -> list[str]:
    """What limits an answer: `short window (3 runs)`."""
    runs: dict[DoubtKind, set[int]] = {}
    for doubt in doubts:
        if REACH[doubt.kind] == "limits":
            runs.setdefault(doubt.kind, set()).update([] if doubt.run is None else [doubt.run])
    return [f"{kind} ({counted(len(of), 'run')})" if of else kind for kind, of in runs.items()]
