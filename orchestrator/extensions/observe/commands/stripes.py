"""The sum of a node's disks. It counts no I/O twice: of a partition, or of a volume on them."""

from collections.abc import Sequence

from orchestrator.errors import UsageError
from orchestrator.extensions.observe import device_names
from orchestrator.extensions.observe.judging import node_sums
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.texts.prose import listed


def summed(demands: Sequence[Demand], device: str) -> list[Demand]:
    """The sums of each node's disks, as `node_sums.of_nodes` makes them.

    UsageError if the sum would or may count I/Os twice. device: the pattern of `--device`; who gave
    one has chosen volumes and disks that are apart.
    """
    for disks in node_sums.by_node(demands):
        names = [disk.device for disk in disks]
        _refuse_partitions(disks[0].node, names)
        if not device:
            _refuse_volumes(disks[0].node, names)
    return node_sums.of_nodes(demands)


def _refuse_partitions(node: str, names: Sequence[str]) -> None:
    for name in names:
        disk = device_names.whole(name)
        # Linux counts an I/O of a partition for its disk too.
        if disk != name and disk in names:
            raise _twice(f"{name} of {node} is part of {disk}")


def _refuse_volumes(node: str, names: Sequence[str]) -> None:
    # The counters do not say what a volume is made of: it may be disks beside it.
    volumes = [name for name in names if device_names.is_volume(name)]
    disks = [name for name in names if name not in volumes]
    if volumes and disks:
        raise _twice(f"{listed(volumes)} of {node} may be made of {listed(disks)}")


def _twice(reason: str) -> UsageError:
    return UsageError(
        f"--striped would count I/Os twice: {reason}",
        "name the disks of the stripe, or its volume alone: --device 'sdb|sdc'",
    )
