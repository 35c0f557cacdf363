"""For how long demand was above the limits of an EBS volume and of its machine.

Read where the device of a database node, or one that is observed, is one such volume on this
machine, and this program may ask it (it takes CAP_SYS_ADMIN). Elsewhere nothing is read, and what
is not read is unknown: no failure.
"""

from collections.abc import Iterable
from contextlib import suppress

from orchestrator import model, powers
from orchestrator.collectors.common import node_by_node
from orchestrator.kernel import block_devices, containers, ebs_statistics
from orchestrator.kernel.ebs_statistics import Ask, EbsStatistics, ask_driver


class EbsCollector(node_by_node.OnItsMachine):
    name = "ebs"

    def __init__(self, where: node_by_node.Where, ask: Ask = ask_driver) -> None:
        super().__init__(where)
        self._ask = ask

    def watched(self, node: model.Node) -> bool:
        return node.role in ("database", "host") and bool(node.device)

    def readings(
        self, machine: powers.Machine, node: model.Node
    ) -> Iterable[node_by_node.Reading]:
        # The page is asked by ioctl(2), which no agent passes on.
        if not machine.is_here or node.device is None:
            return []
        # Unread counters are unknown, and no failure: mostly there is no such volume, or no right.
        with suppress(OSError, ValueError):
            disk = _volume(node.device, machine)
            if node.role != "host":
                # OSError if the process is not the container's, as in Docker's own virtual machine.
                containers.groups(machine, node)
            return _readings(self._statistics(disk, machine))
        return []

    def _statistics(self, disk: str, machine: powers.Machine) -> EbsStatistics:
        page = ebs_statistics.log_page(machine.real_path(f"/dev/{disk}"), self._ask)
        return ebs_statistics.parsed(page)


def _volume(device: str, machine: powers.Machine) -> str:
    """The disk that holds a device's data. OSError if it is no single EBS volume."""
    disks = block_devices.physical(device, machine)
    if len(disks) != 1:
        raise OSError(f"{device} is on {len(disks)} disks: each counts alone")
    (disk,) = disks
    model_name = machine.read(f"{block_devices.BLOCK}/{disk}/device/model").strip()
    if model_name != ebs_statistics.MODEL:
        raise OSError(f"{disk} is not an EBS volume")
    return disk


def _readings(statistics: EbsStatistics) -> list[node_by_node.Reading]:
    exceeded_s = {
        "ebs_volume_iops": statistics.volume_iops_exceeded_s,
        "ebs_volume_bandwidth": statistics.volume_bandwidth_exceeded_s,
        "ebs_instance_iops": statistics.instance_iops_exceeded_s,
        "ebs_instance_bandwidth": statistics.instance_bandwidth_exceeded_s,
    }
    readings: list[node_by_node.Reading] = []
    for limit, seconds in exceeded_s.items():
        readings.append((f"{limit}_exceeded_seconds_total", "s", seconds))
    return readings
