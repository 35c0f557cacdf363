"""The real disks of a tier: their keys checked against the cluster, and a disk for each node."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.errors import UsageError
from orchestrator.keys.tier_keys import NUMBER, PATTERN
from orchestrator.tier import ClassVolumes, NodeDisks, RealDisks, Tier


def mistakes(tier: Tier, nodes: int, shared: bool = True) -> Iterator[tuple[str, str]]:
    """Key of the tier → what is wrong with it in a cluster of `nodes`. `shared`: all are on one
    machine, and so a path is the same disk to each of them."""
    if tier.disk.snapshots:
        way = tier.disk.snapshots.way
    else:
        way = "none"
    if isinstance(tier.disk, ClassVolumes) and way not in ("copy", "none"):
        yield (
            "snapshots",
            "of a StorageClass is `copy` (of claims) or `none`, or left out",
        )
    if tier.disk.path and tier.disk.of_nodes:
        yield (
            "disks",
            "give `path` for one disk of all nodes, or `disks` for those of each, not "
            "both",
        )
    if tier.wal and not tier.disk.of_nodes:
        yield "wal", "is of a second disk of each node: name it as `wal` in `disks`"
    data = {place.data for place in tier.disk.of_nodes.values()}
    for name, place in tier.disk.of_nodes.items():
        if place.wal == place.data:
            yield (
                f"disks.{name}.wal",
                "is the disk of the data: leave it out, or name another",
            )
        if tier.wal and not place.wal:
            yield (
                f"disks.{name}.wal",
                "is missing: the tier's `wal` is of the disks named here",
            )
        if tier.wal and place.wal in data - {place.data}:
            yield (
                f"disks.{name}.wal",
                "holds data too, and so is not of the tier's `wal`: name a disk of its "
                "own",
            )
        for key, path in (("data", place.data), ("wal", place.wal)):
            if name == PATTERN and path and NUMBER not in path and nodes > 1 and shared:
                yield (
                    f"disks.{key}",
                    f"{path} has no {NUMBER}, so all nodes would share it: give `path`, "
                    "or name each",
                )
    if tier.disk.of_nodes and PATTERN not in tier.disk.of_nodes:
        names = node_names(nodes)
        for name in tier.disk.of_nodes:
            if name not in names:
                yield f"disks.{name}", f"no such node; the nodes are {', '.join(names)}"
        for name in names:
            if name not in tier.disk.of_nodes:
                yield f"disks.{name}", "this node has no disk: name it"


def of_each(tier: Tier) -> Tier:
    """The tier for nodes on machines of their own: each has its disk at the one `path`."""
    if not tier.disk.path:
        return tier
    return _with_disks(tier, {PATTERN: NodeDisks(tier.disk.path)})


def of_nodes(tier: Tier, nodes: int, machines: Sequence[str] = ()) -> Tier:
    """The tier with a disk for each node, on its machine if named. UsageError if one has none."""
    if isinstance(tier.disk, ClassVolumes) and (wanted := tier.disk.storage_class):
        return replace(
            tier, disk=replace(tier.disk, storage_class=replace(wanted, nodes=nodes))
        )
    names = node_names(nodes)
    disks = tier.disk.of_nodes
    if not disks:
        return tier
    pattern = disks.get(PATTERN)
    if pattern:
        disks = {
            name: _numbered(pattern, number)
            for number, name in enumerate(names, start=1)
        }
    missing = [name for name in names if name not in disks]
    if missing:
        raise _no_disk_for(missing, tier.name, len(disks))
    placed = zip(names, machines or [""] * nodes, strict=False)
    return _with_disks(
        tier, {name: replace(disks[name], machine=where) for name, where in placed}
    )


def _no_disk_for(nodes: Sequence[str], tier: str, disks: int) -> UsageError:
    return UsageError(
        f"{tier}: `disks` has no disk for {', '.join(nodes)}",
        advice=f"add it to `disks`, or take --nodes {disks}",
    )


def _with_disks(tier: Tier, disks: Mapping[str, NodeDisks]) -> Tier:
    """The tier with its disks there, and at no path of all nodes."""
    assert isinstance(tier.disk, RealDisks)  # no other kind names any
    return replace(tier, disk=replace(tier.disk, path=None, disks=disks))


def alone(tier: Tier, node: str) -> Tier:
    """The tier of a cluster whose one node has the disks of `node`."""
    return _with_disks(tier, {node_names(1)[0]: tier.disk.of_nodes[node]})


def count(tier: Tier) -> int:
    """How many real disks the tier names or rents, for WAL too; 0 with one `path`, or made here."""
    if tier.disk.storage_class:
        return tier.disk.storage_class.nodes
    data = {(disks.machine, disks.data) for disks in tier.disk.of_nodes.values()}
    return len(data | log_disks(tier))


def log_disks(tier: Tier) -> set[tuple[str, str]]:
    """Machine and path of each disk that the tier names for WAL."""
    return {
        (disks.machine, disks.wal) for disks in tier.disk.of_nodes.values() if disks.wal
    }


def node_names(nodes: int) -> list[str]:
    """Of the nodes of a cluster."""
    return [f"node-{number}" for number in range(1, nodes + 1)]


def _numbered(pattern: NodeDisks, number: int) -> NodeDisks:
    wal = pattern.wal and pattern.wal.replace(NUMBER, str(number))
    return replace(pattern, data=pattern.data.replace(NUMBER, str(number)), wal=wal)
