"""Which disks a StorageClass of Kubernetes gives: one volume for each node, made by a driver."""

from orchestrator.analysis.results import RunData
from orchestrator.errors import UsageError
from orchestrator.planning import named_tiers
from orchestrator.tier import LOG_DISK_SIGN
from orchestrator.tier_catalog import storage_classes
from orchestrator.tier_catalog.catalog import Catalog


def is_on_them(run: RunData) -> bool:
    """Whether the run's own disks were such volumes."""
    return run.record.profile.tier.disk.kind == "storage-class"


def gives(catalog: Catalog, row: str) -> bool:
    """Whether a class gives the disks of a row, as `--tier` takes it."""
    return not _obstacle(catalog, row)


def require(catalog: Catalog, row: str) -> None:
    """UsageError if no class gives the disks of a row."""
    obstacle = _obstacle(catalog, row)
    if obstacle:
        raise UsageError(
            f"{row}: {obstacle}",
            advice="name another row, or ask with `--enforcement emulated`",
        )


def _obstacle(catalog: Catalog, row: str) -> str:
    """Why no class gives them; empty if one does."""
    if LOG_DISK_SIGN in row:
        return "a node has one volume of a StorageClass, and no second one for its log"
    name, changes = named_tiers.row_and_keys(row)
    keys = named_tiers.keys_and_values(changes)
    if keys.get("count", "1") != "1":
        return "a node has one volume of a StorageClass, so nothing is striped"
    full_name, kind, _ = catalog.find(name)
    if not storage_classes.is_made(full_name, kind):
        return f"no Kubernetes driver makes volumes of {full_name}"
    return ""
