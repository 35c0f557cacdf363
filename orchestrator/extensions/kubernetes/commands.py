"""`tierbench admin helm-values` and `storage-class`: a profile's cluster and its disks, as files
for people who run Kubernetes themselves. Nothing is started, and no cluster is asked."""

from dataclasses import replace
from typing import Annotated

from typer import Argument, Option

from orchestrator import errors, model
from orchestrator.cli.common import completion
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.options import NodesOption, ScaleOption
from orchestrator.tier import ClassWanted

ProfileArgument = Annotated[str, Argument(autocompletion=completion.profiles)]
ClassOption = Annotated[
    str | None, Option(help="An existing class, in place of one made from the row.")
]


@takes()
def helm_values(
    app: App,
    profile: ProfileArgument,
    scale: ScaleOption = "laptop",
    nodes: NodesOption = None,
    storage_class: ClassOption = None,
) -> None:
    """Prints the values of YugabyteDB's own Helm chart for a profile's cluster."""
    from orchestrator.cli.measure.database_choice import on_database
    from orchestrator.databases.choice import PREFERRED
    from orchestrator.extensions.kubernetes import helm_values as chart
    from orchestrator.keys.yaml_text import written

    read, wanted = _read(app, profile, scale, storage_class)
    if read.tier.wal is not None:
        raise errors.UsageError(
            f"{read.name} has a second volume for the log (`wal`). The chart has volumes of one "
            "class, all of them for data",
            "leave `wal` out for this purpose",
        )
    cluster = _of_nodes(on_database(read.cluster, PREFERRED), nodes)
    volumes = _volumes(app, profile, scale)
    text = f"# {read.tier.title}, at the scale {scale}.\n"
    for remark in chart.remarks(cluster, wanted, volumes):
        text += f"# {remark}\n"
    text += written(chart.values(cluster, wanted, read.placing, volumes))
    # `out.out`, because `print` would break lines and colour what goes into a file.
    app.out.out(text, end="")


def _of_nodes(cluster: model.ClusterSpec, nodes: int | None) -> model.ClusterSpec:
    """The cluster with as many nodes as were asked for; as it is if none were."""
    if nodes is None:
        return cluster
    # A cluster cannot keep more copies than it has nodes.
    factor = min(cluster.replication_factor, nodes)
    return replace(cluster, nodes=nodes, replication_factor=factor)


@takes()
def storage_class(
    app: App, profile: ProfileArgument, scale: ScaleOption = "laptop"
) -> None:
    """Prints the StorageClass whose volumes are a profile's disks, and that of its log's disks."""
    read, class_of_data = _read(app, profile, scale, None)
    classes = [class_of_data]
    log_tier = read.tier.wal
    if log_tier is not None and log_tier.disk.storage_class is not None:
        classes.append(log_tier.disk.storage_class)
    manifests: list[str] = []
    for wanted in classes:
        # A class that the profile names by itself exists already.
        if wanted.provisioner:
            manifests.append(_manifest(wanted))
    if not manifests:
        raise errors.UsageError(
            f"{read.name} names the StorageClass {class_of_data.name!r}, which exists already",
            "name a row of the catalog as `type` and no `storage_class`",
        )
    app.out.out("---\n".join(manifests), end="")


def _manifest(wanted: ClassWanted) -> str:
    """The class to be applied, with the size that its claims must have."""
    from orchestrator.extensions.kubernetes import class_manifests

    # Classes are made for whole GiB, so nothing is cut off.
    size = (wanted.size_bytes or 0) // 2**30
    return f"# Claims must ask for {size}Gi.\n{class_manifests.manifest(wanted)}"


def _read(
    app: App, name: str, scale: str, storage_class: str | None
) -> tuple[model.Profile, ClassWanted]:
    """The profile as if its disks were volumes of a class, whatever its own enforcement is."""
    from orchestrator.keys import tier_keys
    from orchestrator.planning import project_files

    # Keys of other kinds of disk are taken away (None), because a class refuses them.
    unused = dict.fromkeys(tier_keys.unused_by("storage-class"))
    changes: dict[str, object] = {**unused, "enforcement": "storage-class"}
    if storage_class:
        changes["storage_class"] = storage_class
    # First, because an existing cluster would be refused for the change of its disks.
    _require_started(app, name, scale)
    (read,), _ = project_files.read(
        app.root, [name], [], scale, app.disk_kinds(), tier_changes=changes
    )
    class_of_disks = read.tier.disk.storage_class
    assert class_of_disks is not None, "its disks are volumes of a class"
    return read, class_of_disks


def _require_started(app: App, name: str, scale: str) -> None:
    """UsageError if a profile is of a cluster that runs already."""
    from orchestrator.design.factors import EXISTING

    if _as_written(app, name, scale).cluster.database == EXISTING:
        raise errors.UsageError(
            f"{name} is a cluster that runs already: it needs no class of disks",
            "name a profile whose nodes tierbench starts",
        )


def _volumes(app: App, name: str, scale: str) -> int:
    """How many disks of a node the profile stripes to one: the chart takes as many volumes."""
    # Volumes of a class are not striped, so the profile as one of these would not tell.
    return _as_written(app, name, scale).tier.count


def _as_written(app: App, name: str, scale: str) -> model.Profile:
    from orchestrator.planning import project_files

    (profile,), _ = project_files.read(app.root, [name], [], scale, app.disk_kinds())
    return profile
