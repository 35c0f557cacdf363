"""A kept data set: where its snapshots lie, what decides their bytes, and whether it is whole.

It is complete when its snapshots are there and its `dataset.json` in the cache, which is
written last.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.model import ClusterSpec, Profile, Workload
from orchestrator.parts import KeptData, Parts
from orchestrator.powers import World

DATASET = "dataset.json"
_KEY_DIGITS = 16  # digits of the hash of all that decides the bytes


@dataclass(frozen=True)
class DataSet:
    """A data set that runs of a workload on a profile start from, kept or to be loaded.

    `snapshots`: one for each node. `kept`: how they are made and looked for.
    `identity`: everything that decides their bytes.
    """

    profile: Profile
    workload: Workload
    snapshots: tuple[Path, ...]
    kept: KeptData
    identity: dict[str, Any]


def planned(
    profile: Profile, workload: Workload, seed: int, parts: Parts, world: World
) -> DataSet | None:
    """What the runs start from. None if every run loads."""
    kept = parts.tiers[profile.tier.disk.enforcement].abilities.kept_data
    cluster = profile.cluster
    database = parts.databases[cluster.member]
    if kept is None or not database.restores(cluster):
        return None
    identity = _identity(cluster, workload, seed, parts, world)
    key = _key_of(identity)
    snapshots = kept.snapshots(profile.tier, disk_sizes(cluster), key, world)
    if not snapshots:
        return None
    return DataSet(profile, workload, snapshots, kept, identity)


def _key_of(identity: dict[str, Any]) -> str:
    """What folders of the data set are called by: another loader or image is another data set."""
    # Sorted, because the same data must have the same key however a file orders its words.
    written = json.dumps(identity, sort_keys=True).encode()
    return hashlib.sha256(written).hexdigest()[:_KEY_DIGITS]


def _identity(
    cluster: ClusterSpec, workload: Workload, seed: int, parts: Parts, world: World
) -> dict[str, Any]:
    database = parts.databases[cluster.member]
    generator = parts.load_generators[workload.generator]
    disk_bytes = None
    if cluster.node:
        disk_bytes = cluster.node.disk_bytes
    return {
        "family": workload.dataset.family,
        "parameters": dict(workload.dataset.parameters),
        "loader": generator.loader_version(workload, world),
        "database": cluster.database,
        "image": database.image(cluster, world),
        # A snapshot is of one node's disk, so another number of nodes needs other ones.
        "nodes": cluster.nodes,
        "replication_factor": cluster.replication_factor,
        # CPUs and memory of nodes are left out: no byte on the disks depends on them.
        "disk_bytes": disk_bytes,
        "settings": dict(cluster.settings) | dict(cluster.existing),
        "seed": seed,
    }


def disk_sizes(cluster: ClusterSpec) -> list[int]:
    """Bytes of each node's disk; none if they are not known, as of others' clusters."""
    if cluster.node:
        return [cluster.node.disk_bytes] * cluster.nodes
    return []


def folder_of(snapshots: Sequence[Path], world: World) -> Path:
    """What the cache knows of a data set is there, wherever its snapshots lie."""
    return world.cache / "datasets" / snapshots[0].parent.name


def content(file: Path) -> dict[str, Any]:
    """Empty if the file was cut, or is not there: then the data are loaded anew."""
    with suppress(OSError, ValueError, TypeError):
        return dict(json.loads(file.read_text(encoding="utf-8")))
    return {}


def is_complete(data: DataSet, world: World) -> bool:
    """Whether the data set is complete, as far as that is known at once: `KeptData.are_on_nodes` is
    slow.

    A data set without `addresses` (tierbench once kept the network's prefix) is loaded anew.
    """
    if "addresses" not in content(folder_of(data.snapshots, world) / DATASET):
        return False
    return data.kept.are_there(data.snapshots, world)


def addresses_of(snapshots: Sequence[Path], world: World) -> tuple[str, ...]:
    """The nodes' addresses while a data set that is complete was loaded."""
    return tuple(content(folder_of(snapshots, world) / DATASET)["addresses"])
