"""Rehearsals: campaigns whose parts do nothing, so that flow, report and page are seen in seconds.

Nothing is measured. `rehearsed` puts the do-nothing member of each family (all are called DRY)
into a plan; their figures come from `Model`, and every plan and record with one of them is marked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from orchestrator.design.disk_matrix import names_without_database
from orchestrator.errors import UsageError
from orchestrator.keys.schema import DRY
from orchestrator.model import Node, Note, Plan, Profile, Workload
from orchestrator.tier import NoDisk, Tier

WARNING = (
    "dry run: nothing was measured. A model made up every figure, and "
    "none says anything about a disk, a database or a load"
)
NOTE = Note("rehearsal", WARNING)
# Rates of a made-up disk that declares none.
_IOPS = 20_000
_LATENCY_S = 0.0005
_CPU_S = 0.004  # CPU time of each made-up transaction
ADVICE = "for figures run `tierbench compare`; buy nothing by these"


def rehearsed(plan: Plan) -> Plan:
    """The plan with parts that do nothing. UsageError where its workloads need a real disk."""
    alone = names_without_database(plan.workloads)
    if alone:
        raise _needs_a_disk(alone)
    # Nothing is rented.
    notes = [note for note in plan.notes if note.kind != "campaign cost"]
    profiles = tuple(_without_parts(profile) for profile in plan.profiles)
    workloads = tuple(replace(load, generator=DRY) for load in plan.workloads)
    probes = tuple(replace(load, generator=DRY) for load in plan.probes)
    return replace(
        plan,
        profiles=profiles,
        workloads=workloads,
        probes=probes,
        notes=(NOTE, *notes),
    )


def _needs_a_disk(workloads: Sequence[str]) -> UsageError:
    names = ", ".join(workloads)
    return UsageError(
        f"{names} measures a disk by itself, which cannot be rehearsed",
        advice="name workloads on a database: point-select insert tpcc",
    )


def _without_parts(profile: Profile) -> Profile:
    """The profile with a disk and a database that do nothing."""
    cluster = replace(
        profile.cluster,
        database=DRY,
        version=None,
        settings={},
        existing={},
        clients=1,
    )
    tier = replace(profile.tier, disk=NoDisk())
    return replace(profile, tier=tier, cluster=cluster)


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
        iops = float(tier.limits.iops or _IOPS)
        latency_s = max(tier.latency.read_s or 0.0, tier.latency.write_s or 0.0)
        return cls(iops, latency_s or _LATENCY_S)

    @classmethod
    def of_node(cls, node: Node) -> Self:
        """The model that is noted among the sources of a node whose database does nothing."""
        # The text is the one that `__str__` has written.
        iops, latency_s = node.sources[DRY].split(" IOPS, ")
        return cls(float(iops), float(latency_s.removesuffix(" s")))

    def __str__(self) -> str:
        return f"{self.iops:g} IOPS, {self.latency_s:g} s"

    def transaction_s(self, threads: int, ios: float) -> float:
        """Mean seconds of a transaction of `ios` I/Os: one by one, or queued at the cap."""
        # All threads wait in one queue in the steady state (Little's law): threads × I/Os / IOPS.
        return _CPU_S + max(ios * self.latency_s, threads * ios / self.iops)
