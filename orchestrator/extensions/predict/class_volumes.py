"""Which disks StorageClasses of Kubernetes give: for each node one volume for its data, and maybe
one for its log, made by a driver."""

from orchestrator.analysis.results import RunData
from orchestrator.errors import UsageError
from orchestrator.planning import named_tiers
from orchestrator.tier import disk_names
from orchestrator.tier.disk_names import DiskName
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
    disk = disk_names.read(row)
    obstacle = _obstacle_of_one(catalog, disk)
    if disk.log is not None and not obstacle:
        return _obstacle_of_one(catalog, disk.log)
    return obstacle


def _obstacle_of_one(catalog: Catalog, disk: DiskName) -> str:
    """The same of the disk of the data, or of that of the log."""
    keys = named_tiers.keys_and_values(disk.keys)
    if keys.get("count", "1") != "1":
        return "the data of a node are on one volume of a StorageClass, so nothing is striped"
    full_name, kind, _ = catalog.find(disk.row)
    if not storage_classes.is_made(full_name, kind):
        return f"no Kubernetes driver makes volumes of {full_name}"
    return ""
