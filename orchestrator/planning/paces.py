"""How fast the parts of a campaign go: as this machine was seen to, else by default. Pure.

A default is as measured elsewhere, or from a named source: `paces.yaml` has them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import ClusterSpec, Workload
from orchestrator.tier import Tier
from orchestrator.units import format_number

# The factor by which bytes may exceed those seen, and the seen rate is still taken.
_FARTHEST = 4.0
# Names of timed steps, besides the loading of a data set (`load_of`).
AROUND_RUN = "start and stop"
GATES = "gate"
RESTORE = "restore"


@dataclass(frozen=True)
class Span:
    """Seconds, at least and at most."""

    least_s: float = 0.0
    most_s: float = 0.0

    def __add__(self, other: "Span") -> "Span":
        return Span(self.least_s + other.least_s, self.most_s + other.most_s)

    def times(self, least: float, most: float) -> "Span":
        return Span(self.least_s * least, self.most_s * most)


@dataclass(frozen=True)
class Pace:
    """How long one byte, or one time, takes."""

    span: Span
    # The source of that time.
    source: str
    # The most bytes, or times, seen at once; infinite for a default.
    amount: float = math.inf

    @property
    def rate(self) -> str:
        """The pace of bytes in words: how many in a second."""
        # 1 / s is bytes in a second, of which 1e6 are 1 MB.
        slowest = format_number(1e-6 / self.span.most_s)
        if not self.span.least_s:
            return f"{slowest} MB/s or more: {self.source}"
        fastest = format_number(1e-6 / self.span.least_s)
        return f"{slowest} to {fastest} MB/s: {self.source}"


# The name under which it is kept how long something took here (`kept_as`) → its pace.
Learnt = Mapping[str, Pace]


# ------------------------------------------------------------------ defaults


def _pace_of_times(shipped_pace: Mapping[str, Any]) -> Pace:
    span = Span(shipped_pace["least_s"], shipped_pace["most_s"])
    return Pace(span, shipped_pace["source"])


def _pace_of_bytes(shipped_pace: Mapping[str, Any]) -> Pace:
    # The highest rate is the shortest time, so least and most change places.
    span = Span(1 / shipped_pace["most_per_s"], 1 / shipped_pace["least_per_s"])
    return Pace(span, shipped_pace["source"])


_PACES = shipped(__package__, "paces.yaml")
# Database → how long it takes to load a byte of tables.
LOADING = {
    database: _pace_of_bytes(shipped_pace)
    for database, shipped_pace in _PACES["loading"].items()
}
# Database → what comes around a run: disks, database and clients start and stop.
AROUND = {
    database: _pace_of_times(shipped_pace)
    for database, shipped_pace in _PACES["around"].items()
}
FURTHER_NODE = _pace_of_times(_PACES["further node"]).span
ONE_GATE = _pace_of_times(_PACES["gate"])
RESTORING = _pace_of_times(_PACES["restoring"])


# ------------------------------------------------------------------ what was seen here


def load_of(workload: Workload) -> str:
    """What loading its data set is called in `kept_as`."""
    return f"load {workload.dataset.family}"


def kept_as(
    what: str, tier: Tier, platform: str, cluster: ClusterSpec | None = None
) -> str:
    """The name under which it is kept how long `what` took here."""
    disk = tier.name
    # Images lie on this machine's disk, whatever the limits of their tier: those that
    # are loaded or copied without limits have one name for all tiers.
    if not tier.disk.is_real and what not in (AROUND_RUN, GATES):
        disk = tier.disk.kind
    if cluster is None:
        return f"{what}: {disk}, {platform}"
    shape = f"{cluster.nodes}+{cluster.clients}"
    return f"{what}: {cluster.database} {shape}, {disk}, {platform}"


def pace_of(learnt: Learnt, name: str, default: Pace, amount: float = 1.0) -> Pace:
    """The pace that was learnt here, else the default.

    For an amount much larger than was seen it is no narrower than the default, because such an
    amount may not fit a cache in which the smaller one did.
    """
    seen = learnt.get(name)
    if seen is None:
        return default
    if amount <= _FARTHEST * seen.amount:
        return seen
    least_s = min(seen.span.least_s, default.span.least_s)
    most_s = max(seen.span.most_s, default.span.most_s)
    source = f"{default.source}; of less data {seen.source}"
    return Pace(Span(least_s, most_s), source)
