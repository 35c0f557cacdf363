"""How many bytes data have: all rows once, on a node, and what a restore copies. Pure."""

from typing import NamedTuple

from orchestrator.model import Profile, Workload

# Measured on PostgreSQL 17: tables with their indexes, of 2,000,000 rows and of 4 warehouses.
ROW_BYTES = 256
WAREHOUSE_BYTES = 105_000_000


def data_bytes(workload: Workload) -> int | None:
    """The bytes of all rows once, with their indexes; None if parameters do not tell."""
    parameters = workload.dataset.parameters
    size = parameters.get("bytes")
    if isinstance(size, int):
        return size
    warehouses = parameters.get("warehouses")
    if isinstance(warehouses, int):
        return warehouses * WAREHOUSE_BYTES
    tables = parameters.get("tables")
    rows = parameters.get("rows", parameters.get("table_size"))
    if isinstance(tables, int) and isinstance(rows, int):
        return tables * rows * ROW_BYTES
    if workload.database is not None or "threads" in parameters:
        return 0
    return None


class PlannedBytes(NamedTuple):
    """The bytes at least and at most."""

    least: float
    most: float


def loaded_bytes(profile: Profile, load: Workload) -> PlannedBytes:
    """The bytes of all rows once. If it is not told, at most what is on all nodes."""
    all_bytes = data_bytes(load)
    if all_bytes is not None:
        return PlannedBytes(all_bytes, all_bytes)
    on_node = bytes_on_node(profile, load)
    return PlannedBytes(0.0, on_node.most * profile.cluster.nodes)


def bytes_on_node(profile: Profile, load: Workload) -> PlannedBytes:
    """What a load leaves on one node."""
    cluster = profile.cluster
    all_bytes = data_bytes(load)
    if all_bytes is not None:
        # All copies of all rows are spread over the nodes alike.
        on_node = all_bytes * cluster.replication_factor / max(1, cluster.nodes)
        return PlannedBytes(on_node, on_node)
    if cluster.node is None:
        return PlannedBytes(0.0, 0.0)
    # No more than the disk is sized for.
    return PlannedBytes(0.0, float(cluster.node.disk_bytes))


def restored_bytes(profile: Profile, load: Workload) -> float:
    """What a start from a copy copies at most: of real disks one node's, else all nodes'."""
    on_node = bytes_on_node(profile, load).most
    if profile.tier.disk.is_real:
        return on_node
    return on_node * profile.cluster.nodes
