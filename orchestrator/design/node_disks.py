"""Disks of nodes: their names, and the real ones of a tier, checked against the cluster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.keys.tier_keys import NUMBER, PATTERN
from orchestrator.tier import AnyDisk, ClassVolumes, NodeDisks, RealDisks, Tier

# The server of an emulated disk is called so, and then as its disk: `disk-node-1`. That of a node's
# WAL ends so: `disk-node-1-wal`.
DISK_SERVER = "disk-"
WAL_DISK = "-wal"


def of_data_or_logs(files: Iterable[Path], *, of_logs: bool) -> list[Path]:
    """The files of the data, or of the logs, among those that are called as the nodes' disks."""
    chosen: list[Path] = []
    for file in files:
        if file.stem.endswith(WAL_DISK) == of_logs:
            chosen.append(file)
    return chosen


def mistakes(tier: Tier, nodes: int, shared: bool) -> Iterator[tuple[str, str]]:
    """Key of the tier → what is wrong with it in a cluster of `nodes`.

    `shared`: all are on one machine, and so a path is the same disk to each of them.
    """
    yield from _mistakes_in_snapshots(tier.disk)
    if tier.disk.path and tier.disk.of_nodes:
        what = (
            "give `path` for one disk of all nodes, or `disks` for those of each, not "
            "both"
        )
        yield "disks", what
    if tier.wal:
        yield from _mistakes_beside_wal(tier, tier.wal)
    yield from _mistakes_in_named_disks(tier, nodes, shared)


def _mistakes_in_snapshots(disk: AnyDisk) -> Iterator[tuple[str, str]]:
    """Ways of a snapshot that volumes of a StorageClass do not have."""
    if not isinstance(disk, ClassVolumes) or disk.snapshots is None:
        return
    if disk.snapshots.way not in ("copy", "none"):
        what = "disks of a StorageClass take `copy` (of claims), `none` or nothing"
        yield "snapshots", what


def _mistakes_beside_wal(tier: Tier, wal: Tier) -> Iterator[tuple[str, str]]:
    """Keys of the data's disks that cannot stand beside a disk for WAL alone."""
    disk = tier.disk
    if disk.is_placed_by_profile and not disk.of_nodes:
        what = "`wal` needs a second disk of each node: name it as `wal` in `disks`"
        yield "wal", what
    if tier.shared:
        what = "`shared_limit` counts the disks of data alone: leave it out, or `wal`"
        yield "shared_limit", what
    if disk.burst_time_scale != 1 and _has_credit(wal):
        what = (
            "`burst_time_scale` shortens the burst of the data's disk alone: leave it "
            "out, or the burst of `wal`"
        )
        yield "burst_time_scale", what


def _mistakes_in_named_disks(
    tier: Tier, nodes: int, shared: bool
) -> Iterator[tuple[str, str]]:
    """What is wrong with `disks`, which names the disks of each node, or a pattern for all."""
    disks = tier.disk.of_nodes
    for name, node_disks in disks.items():
        for what in _mistakes_in_log(tier, node_disks):
            yield f"disks.{name}.wal", what
    if not disks:
        return
    pattern = disks.get(PATTERN)
    if pattern is None:
        yield from _unmatched_nodes(disks, node_names(nodes))
    # On machines of their own, one path is another disk for each node.
    elif nodes > 1 and shared:
        yield from _shared_paths(pattern)


def _has_credit(tier: Tier) -> bool:
    """Whether a window begins with burst credit."""
    burst = tier.limits.burst
    return burst is not None and burst.start_pct > 0


def _mistakes_in_log(tier: Tier, place: NodeDisks) -> Iterator[str]:
    """What is wrong with the disk of a node's WAL."""
    if place.wal == place.data:
        yield "the data are on this disk: leave it out, or name another"
    if tier.wal and not place.wal:
        yield "this node has no disk for the tier's `wal`: name one"
    data_paths = {disks.data for disks in tier.disk.of_nodes.values()}
    if tier.wal and place.wal in data_paths - {place.data}:
        yield (
            "this disk holds data too, so it cannot be the tier's `wal`: name another "
            "disk for the WAL"
        )


def _shared_paths(pattern: NodeDisks) -> Iterator[tuple[str, str]]:
    """Paths of a pattern that are the same disk to all nodes."""
    paths = {"data": pattern.data, "wal": pattern.wal}
    for key, path in paths.items():
        if path and NUMBER not in path:
            what = f"{path} has no {NUMBER}, so all nodes would share it"
            yield f"disks.{key}", f"{what}: give `path`, or name each"


def _unmatched_nodes(
    disks: Mapping[str, NodeDisks], names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Disks of no node, and nodes without a disk."""
    for name in disks:
        if name not in names:
            yield f"disks.{name}", f"no such node; the nodes are {', '.join(names)}"
    for name in names:
        if name not in disks:
            yield f"disks.{name}", "this node has no disk: name it"


def of_each(tier: Tier) -> Tier:
    """The tier for nodes on machines of their own: each has its disk at the one `path`."""
    if not tier.disk.path:
        return tier
    return _with_disks(tier, {PATTERN: NodeDisks(tier.disk.path)})


def of_nodes(tier: Tier, nodes: int, machines: Sequence[str] = ()) -> Tier:
    """The tier with a disk for each node, on its machine if named. UsageError if one has none."""
    disk = tier.disk
    if isinstance(disk, ClassVolumes) and disk.storage_class:
        # Volumes are made when they are needed, so no profile names one for each node.
        wanted = replace(disk.storage_class, nodes=nodes)
        tier = replace(tier, disk=replace(disk, storage_class=wanted))
        if tier.wal is None:
            return tier
        return replace(tier, wal=of_nodes(tier.wal, nodes))
    if not disk.of_nodes:
        return tier
    names = node_names(nodes)
    disks = _disks_by_name(disk.of_nodes, names)
    missing = [name for name in names if name not in disks]
    if missing:
        raise UsageError(
            f"{tier.name}: `disks` has no disk for {', '.join(missing)}",
            advice=f"add it to `disks`, or take --nodes {len(disks)}",
        )
    placed: dict[str, NodeDisks] = {}
    # More machines may be named than there are nodes.
    for name, machine in zip(names, machines or [""] * nodes, strict=False):
        placed[name] = replace(disks[name], machine=machine)
    return _with_disks(tier, placed)


def _disks_by_name(
    declared: Mapping[str, NodeDisks], names: Sequence[str]
) -> Mapping[str, NodeDisks]:
    """The disks of each node: as declared, or numbered if one pattern stands for all nodes."""
    pattern = declared.get(PATTERN)
    if pattern is None:
        return declared
    disks: dict[str, NodeDisks] = {}
    for number, name in enumerate(names, start=1):
        disks[name] = _numbered(pattern, number)
    return disks


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
        return tier.disk.storage_class.nodes + rented_logs(tier)
    data = {(disks.machine, disks.data) for disks in tier.disk.of_nodes.values()}
    # A set, because a log may lie on a disk that holds another node's data.
    return len(data | log_disks(tier))


def gated(tier: Tier) -> int:
    """How many disks a gate measures on a machine, two at once as another one."""
    # Disks that are made are alike: one of the data is checked, and one of the WAL.
    if is_made_for_logs(tier):
        if tier.machine is not None:
            return 3
        return 2
    return max(1, count(tier))


def has_logs(tier: Tier) -> bool:
    """Whether some node has a disk for its WAL alone."""
    return has_unnamed_logs(tier) or bool(log_disks(tier))


def is_made_for_logs(tier: Tier) -> bool:
    """Whether each node has such a disk that is made here."""
    return tier.wal is not None and not tier.disk.is_real


def has_unnamed_logs(tier: Tier) -> bool:
    """Whether each node has such a disk, and no profile says where.

    It is made here, or others have it in the cluster that they run.
    """
    return tier.wal is not None and not tier.disk.is_placed_by_profile


def rented_logs(tier: Tier) -> int:
    """How many volumes of a class hold the WAL alone."""
    if tier.wal is None or tier.wal.disk.storage_class is None:
        return 0
    return tier.wal.disk.storage_class.nodes


def striped_of_log(tier: Tier) -> int:
    """How many disks are striped to the one that holds a node's WAL alone."""
    # Real disks that are named for the log alone may have no tier of their own.
    if tier.wal is None:
        return 1
    return tier.wal.count


def log_disks(tier: Tier) -> set[tuple[str, str]]:
    """Machine and path of each disk that the tier names for WAL."""
    log_places: set[tuple[str, str]] = set()
    for disks in tier.disk.of_nodes.values():
        if disks.wal:
            log_places.add((disks.machine, disks.wal))
    return log_places


def node_names(nodes: int) -> list[str]:
    """The names of a cluster's nodes."""
    return [f"node-{number}" for number in range(1, nodes + 1)]


def _numbered(pattern: NodeDisks, number: int) -> NodeDisks:
    data = pattern.data.replace(NUMBER, str(number))
    wal = pattern.wal and pattern.wal.replace(NUMBER, str(number))
    return replace(pattern, data=data, wal=wal)
