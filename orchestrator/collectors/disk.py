"""Counters of each node's block devices, from /proc/diskstats of its machine.

Counters of a disk that only holds WAL begin with `wal_`."""

from collections.abc import Iterable

from orchestrator import model, powers
from orchestrator.collectors.common import node_by_node
from orchestrator.kernel import block_devices, containers


class DiskCollector(node_by_node.OnItsMachine):
    name = "disk"

    def watched(self, node: model.Node) -> bool:
        return bool(node.device)

    def readings(
        self, machine: powers.Machine, node: model.Node
    ) -> Iterable[node_by_node.Reading]:
        if node.role != "host":
            # Every machine has devices of these names: OSError if the node's process is not here.
            containers.groups(machine, node)
        fields = block_devices.counter_rows(machine)
        for device, prefix in ((node.device, ""), (node.wal_device, "wal_")):
            if device is None:
                continue
            if device not in fields:
                raise OSError(
                    f"{device} is not in {block_devices.DISKSTATS}: the device is gone"
                )
            for name, unit, value in block_devices.readings(fields[device]):
                yield f"{prefix}{name}", unit, value
