"""Counters of each node's block devices, from /proc/diskstats of its machine.

Counters of a disk that only holds WAL begin with `wal_`. Every machine has devices of the same
names, so the node's process must be on its machine too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.collectors.common import local
from orchestrator.kernel import block_devices, containers
from orchestrator.model import Node, Sample
from orchestrator.powers import Machine


class DiskCollector:
    name = "disk"

    def __init__(self, where: local.Where) -> None:
        self._where = where

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        watched = [node for node in nodes if node.device]

        def readings(machine: Machine, node: Node) -> Iterable[local.Reading]:
            containers.groups(machine, node)  # OSError if the process is not the container's
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

        return local.each_on_its_machine(watched, now_s, self._where, readings)
