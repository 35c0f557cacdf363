"""How long one of something takes: defaults, and what this machine was seen to take instead. Pure.

A default is as measured, or from a named source, with where it is from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.model import ClusterSpec, Workload
from orchestrator.planning.plan import EXISTING
from orchestrator.tier import Tier

_FARTHEST = 4.0  # times as many bytes as were seen, for which their rate is still taken


@dataclass(frozen=True)
class Span:
    """Seconds, at least and at most."""

    least_s: float = 0.0
    most_s: float = 0.0

    def __add__(self, other: Span) -> Span:
        return Span(self.least_s + other.least_s, self.most_s + other.most_s)

    def times(self, least: float, most: float) -> Span:
        return Span(self.least_s * least, self.most_s * most)


@dataclass(frozen=True)
class Pace:
    """How long one takes: a byte, or one time. `source`: where that is known from; `amount`: the
    most that was seen at once."""

    one: Span
    source: str
    amount: float = math.inf

    @property
    def rate(self) -> str:
        """Of bytes: how many in a second."""
        fastest = f"to {1e-6 / self.one.least_s:.3g} MB/s" if self.one.least_s else "MB/s or more"
        return f"{1e-6 / self.one.most_s:.3g} {fastest}: {self.source}"


def _loaded(fastest: float, slowest: float, source: str) -> Pace:
    """`fastest`, `slowest`: bytes a second."""
    return Pace(Span(1 / fastest, 1 / slowest), f"default, {source}")


# Loading 4 warehouses took 3.8 s alone on a machine with two cores (docs/WORKLOADS.md), 31 s
# and more when eight programs shared it. YugabyteDB's documentation: 1,000 warehouses in 3.5 h on
# three c5d.4xlarge.
LOADING = {
    "postgresql": _loaded(110e6, 10e6, "measured on two cores, idle and busy"),
    "yugabytedb": _loaded(50e6, 8e6, "the slowest by its documentation"),
    EXISTING: _loaded(110e6, 8e6, "of both databases"),
}
# Of a run with one node and one client: start and stop disks, database and clients. PostgreSQL took
# 4.1 to 7.7 s on two cores while eight programs shared them, once 15.7 s, and making a copy of 0.5
# GB ready 3.3 to 6.8 s, most of it not for its bytes. yugabyted's own waits are 180 s.
AROUND = {
    "postgresql": Pace(Span(2.0, 15.0), "default, measured on two busy cores"),
    "yugabytedb": Pace(Span(10.0, 180.0), "default, at most yugabyted's longest wait"),
    EXISTING: Pace(Span(1.0, 15.0), "default, as of PostgreSQL"),
}
FURTHER_NODE = Span(1.0, 5.0)  # the same, for each further node
# Four gates took 14 to 20 s on two cores that eight programs shared, and passed the first time.
ONE_GATE = Pace(Span(7.5, 2 * 25.0), "default, measured on two busy cores, two tries at most")
# Disks without limits start from a copy on the disk of the machine, others over what is kept.
RESTORING = Pace(Span(0.0, 1e-8), "assumed")

Learnt = Mapping[str, Pace]
AROUND_RUN, GATES, RESTORE = "start and stop", "gate", "restore"


def load_of(workload: Workload) -> str:
    """What loading its data set is called in `kept_as`."""
    return f"load {workload.dataset.family}"


def kept_as(what: str, tier: Tier, platform: str, cluster: ClusterSpec | None = None) -> str:
    """Under which name it is kept how long `what` took here. Images are loaded and copied alike for
    every tier."""
    alike = not tier.disk.is_real and what not in (AROUND_RUN, GATES)
    of = f"{cluster.database} {cluster.nodes}+{cluster.clients}, " if cluster else ""
    return f"{what}: {of}{tier.disk.kind if alike else tier.name}, {platform}"


def known(learnt: Learnt, name: str, default: Pace, amount: float = 1.0) -> Pace:
    """As seen here; of much more than was seen, no narrower than the default."""
    seen = learnt.get(name)
    if seen is None or amount <= _FARTHEST * seen.amount:
        return seen or default
    both = [seen.one, default.one]
    wide = Span(min(one.least_s for one in both), max(one.most_s for one in both))
    return Pace(wide, f"{default.source}; of less data {seen.source}")
