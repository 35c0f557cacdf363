"""Rehearsals: campaigns whose parts do nothing, so that flow, report and page are seen in seconds.

Nothing is measured. `rehearsed` puts the do-nothing member of each family (all are called DRY)
into a plan; their figures come from `Model`, and every plan and record with one of them is marked.
"""

from dataclasses import dataclass, replace
from typing import Self

from orchestrator.errors import UsageError
from orchestrator.keys.schema import DRY
from orchestrator.model import Node, Note, Plan, Profile, Workload
from orchestrator.tier import NoDisk, Tier

WARNING = (
    "dry run: nothing was measured; every figure is made up by a model, and none says "
    "anything about a disk, a database or a load"
)
NOTE = Note("rehearsal", WARNING)
ADVICE = "for figures run `tierbench compare`; buy nothing by these"


def rehearsed(plan: Plan) -> Plan:
    """The plan with parts that do nothing. UsageError where its workloads need a real disk."""
    alone = [
        workload.name for workload in plan.workloads if workload.database is not None
    ]
    if alone:
        raise UsageError(
            f"{', '.join(alone)} measures a disk by itself, which cannot be rehearsed",
            advice="name workloads on a database: point-select insert tpcc",
        )
    profiles = tuple(
        replace(
            profile,
            tier=replace(profile.tier, disk=NoDisk()),
            cluster=replace(
                profile.cluster,
                database=DRY,
                version=None,
                settings={},
                existing={},
                clients=1,
            ),
        )
        for profile in plan.profiles
    )
    workloads = tuple(replace(load, generator=DRY) for load in plan.measured)
    kept = (
        note for note in plan.notes if note.kind != "campaign cost"
    )  # nothing is rented
    changed = replace(plan, profiles=profiles, notes=(NOTE, *kept))
    judged = len(plan.workloads)
    return replace(changed, workloads=workloads[:judged], probes=workloads[judged:])


def is_rehearsed(profile: Profile, workload: Workload) -> bool:
    """Whether any part of such a run did nothing."""
    return DRY in (profile.tier.disk.kind, profile.cluster.database, workload.generator)


@dataclass(frozen=True)
class Model:
    """A made-up disk: I/O per second at most, and seconds that one I/O takes."""

    iops: float
    latency_s: float

    @classmethod
    def of_tier(cls, tier: Tier) -> Self:
        latency_s = max(tier.latency.read_s or 0.0, tier.latency.write_s or 0.0)
        return cls(float(tier.limits.iops or 20_000), latency_s or 0.0005)

    @classmethod
    def of_node(cls, node: Node) -> Self:
        """Of one whose database is the do-nothing one, which notes it among the node's sources."""
        iops, latency_s = node.sources[DRY].split(" IOPS, ")
        return cls(float(iops), float(latency_s.removesuffix(" s")))

    def __str__(self) -> str:
        return f"{self.iops:g} IOPS, {self.latency_s:g} s"

    def transaction_s(self, threads: int, ios: float) -> float:
        """Mean seconds of a transaction of `ios` I/Os: one by one, or queued at the cap."""
        return 0.004 + max(ios * self.latency_s, threads * ios / self.iops)
