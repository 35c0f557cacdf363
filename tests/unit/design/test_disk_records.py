"""What holds of a disk is asked of its record, and not of the record's class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from orchestrator.design import latency_quantiles, node_disks
from orchestrator.tier import Limits, Tier
from orchestrator.tier.disks import Disk, DiskKind


@dataclass(frozen=True, kw_only=True)
class _TheirDisk(Disk):
    """Of no class that is shipped."""

    kind: DiskKind = "emulated"
    enforcement: str = "theirs"
    holds_limits: ClassVar[bool] = True
    is_placed_by_profile: ClassVar[bool] = True


def on_their_disk(wal: Tier | None = None) -> Tier:
    disk: Any = _TheirDisk()
    return Tier("theirs", "", Limits(), disk, wal=wal)


def test_a_disk_that_holds_limits_is_constant_without_a_model_of_latencies() -> None:
    assert latency_quantiles.is_constant(on_their_disk())
    assert latency_quantiles.described(on_their_disk()).startswith("constant")


def test_a_log_that_the_profile_must_place_is_asked_for() -> None:
    tier = on_their_disk(wal=on_their_disk())
    assert not node_disks.has_unnamed_logs(tier)
    mistakes = dict(node_disks.mistakes(tier, nodes=3, shared=True))
    assert mistakes["wal"].startswith("`wal` needs a second disk of each node")
