"""The nodes of a cluster in YAML: whether they are all there, and whether their disks fit on the
tier's. Pure."""

from dataclasses import replace

from orchestrator import units
from orchestrator.errors import KeyPlace, Mistake
from orchestrator.keys.refusals import raise_all, refused, unknown_scale
from orchestrator.keys.schema import (
    ClusterYaml,
)
from orchestrator.tier import ClassVolumes, Tier
from orchestrator.tier_catalog import Catalog


def check_cluster(
    where: str, cluster: ClusterYaml, scale: str, catalog: Catalog
) -> None:
    place = KeyPlace(where, ("cluster",))
    missing = []
    # An existing cluster has as many nodes as hosts, and may not tell their size.
    if not cluster.existing and not cluster.nodes:
        missing.append(Mistake.at(place.below("nodes"), "this key is missing"))
    if not cluster.existing and not cluster.node:
        missing.append(Mistake.at(place.below("node"), "this key is missing"))
    raise_all(missing)
    if cluster.node and scale not in cluster.node:
        sizes = place.below("node")
        raise refused([unknown_scale(sizes, scale, cluster.node)])
    if cluster.vm is not None:
        catalog.vm(cluster.vm, place.below("vm"))


def check_space(
    where: str, cluster: ClusterYaml, scale: str, bought: int | None
) -> None:
    """Checks that a node's disk fits on the one that is bought; `bought` None: size unknown."""
    if bought is None:
        return
    mistakes: list[Mistake] = []
    for key, wanted in _disks_of_nodes(cluster, scale).items():
        if wanted > bought:
            what = (
                f"{units.format_bytes(wanted)} do not fit on the tier's disk of "
                f"{units.format_bytes(bought)}: take a larger one"
            )
            place = KeyPlace(where, ("cluster",)).below_path(key)
            mistakes.append(Mistake.at(place.below(scale, "disk"), what))
    raise_all(mistakes)


def _disks_of_nodes(cluster: ClusterYaml, scale: str) -> dict[str, int]:
    """Key of the cluster → bytes that each disk of its nodes has, where it has the scale."""
    disks: dict[str, int] = {}
    if scale in cluster.node:
        disks["node"] = cluster.node[scale].disk_bytes
    for name, sizes in cluster.node_of.items():
        if scale in sizes:
            disks[f"node_of.{name}"] = sizes[scale].disk_bytes
    return disks


def with_claimed_size(tier: Tier, cluster: ClusterYaml, scale: str) -> Tier:
    """The tier with the size that a node's disk needs at most, if it is a class that says no
    size; that of its log's disks too."""
    disk = tier.disk
    if not isinstance(disk, ClassVolumes):
        return tier
    if tier.wal is not None:
        tier = replace(tier, wal=with_claimed_size(tier.wal, cluster, scale))
    wanted = disk.storage_class
    if wanted is None or wanted.size_bytes is not None:
        return tier
    disks = _disks_of_nodes(cluster, scale)
    # All claims have one size: nodes of several sizes get the largest.
    wanted = replace(wanted, size_bytes=max(disks.values(), default=None))
    return replace(tier, disk=replace(disk, storage_class=wanted))
