"""For how long an emulated disk's limits held I/Os back, and how long these took in all.

The disk's own server keeps both in a file (docker/disk/tierdisk/account.c), which its container
shares with the machine. They are counted under the database node's name, as the kernel's are."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator import model, powers
from orchestrator.collectors.common import node_by_node
from orchestrator.counter_sources import DISK_ACCOUNT
from orchestrator.design.node_disks import DISK_SERVER, WAL_DISK
from orchestrator.kernel import containers
from orchestrator.model import Sample

_NANOSECOND = 1e-9
_NUMBERS = 4


@dataclass(frozen=True)
class DiskAccount:
    """What a disk has counted since it was started, of reads and writes together."""

    waited_s: float
    took_s: float


def parsed(text: str) -> DiskAccount:
    """The account in a file's text. OSError if it was read while it was written."""
    words = text.split()
    # The number of the entry stands at both ends.
    if len(words) != _NUMBERS or words[0] != words[-1]:
        raise OSError(f"this account of a disk is incomplete: {text[:100]!r}")
    _, waited_ns, took_ns, _ = words
    if not (waited_ns.isdecimal() and took_ns.isdecimal()):
        raise OSError(f"this account of a disk has no numbers: {text[:100]!r}")
    return DiskAccount(int(waited_ns) * _NANOSECOND, int(took_ns) * _NANOSECOND)


class DiskAccountCollector(node_by_node.OnItsMachine):
    name = "disk account"

    def watched(self, node: model.Node) -> bool:
        return DISK_ACCOUNT in node.sources

    def read(self, nodes: Sequence[model.Node], now_s: float) -> Iterator[Sample]:
        for sample in super().read(nodes, now_s):
            yield _of_database_node(sample)

    def readings(
        self, machine: powers.Machine, node: model.Node
    ) -> Iterable[node_by_node.Reading]:
        # A server that was killed leaves its file: OSError if its process is not here.
        containers.groups(machine, node)
        account = parsed(machine.read(node.sources[DISK_ACCOUNT]))
        yield "disk_held_back_seconds_total", "s", account.waited_s
        yield "disk_served_seconds_total", "s", account.took_s


def _of_database_node(sample: Sample) -> Sample:
    """A sample of the server `disk-node-1` or `disk-node-1-wal`, as one of its database node."""
    disk = sample.node.removeprefix(DISK_SERVER)
    node = disk.removesuffix(WAL_DISK)
    metric = sample.metric
    if node != disk:
        metric = f"wal_{metric}"
    return replace(sample, node=node, metric=metric)
