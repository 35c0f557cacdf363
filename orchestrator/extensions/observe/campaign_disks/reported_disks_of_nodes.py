"""Which disks of a provider's files are those of a node: of its data, or of its log alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

import pandas as pd

from orchestrator.analysis import provider_names
from orchestrator.design import node_disks
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.errors import UsageError
from orchestrator.model import Node, Record
from orchestrator.texts import prose
from orchestrator.tier.slow_disk import disk_of_node


class FileDisk(NamedTuple):
    """A disk as the files call it."""

    node: str
    device: str

    def __str__(self) -> str:
        return f"{self.node}/{self.device}"


class CampaignDisk(NamedTuple):
    """What one or several disks are to a profile: `p15/node-1`, or `p15/node-1.wal` of its log."""

    profile: str
    node: str
    of_log: bool = False

    def __str__(self) -> str:
        return f"{self.profile}/{self.of_node}"

    @property
    def of_node(self) -> str:
        """Its name without the profile."""
        return disk_of_node(self.node, of_log=self.of_log)

    @property
    def of_data(self) -> Self:
        return self._replace(of_log=False)

    @property
    def beside_log(self) -> Self:
        """The disk of the same node's log."""
        return self._replace(of_log=True)

    def striped(self, record: Record) -> int:
        """How many disks the profile stripes to the one that is there."""
        tier = record.profile.tier
        if self.of_log:
            return node_disks.striped_of_log(tier)
        return tier.count


def places_of(record: Record) -> Iterator[CampaignDisk]:
    """The disks of each database node of a run."""
    has_logs = node_disks.has_logs(record.profile.tier)
    for node in nodes_of_role(record.nodes, "database"):
        yield CampaignDisk(record.run.profile, node.name)
        if has_logs:
            yield CampaignDisk(record.run.profile, node.name, of_log=True)


@dataclass(frozen=True)
class GivenDisks:
    """disks: the intervals of each disk in the files. named: what the user calls the disks of a
    place. is_of_one: whether the campaign has one profile, so that machines are told apart by
    their names."""

    disks: Mapping[FileDisk, pd.DataFrame]
    named: Mapping[CampaignDisk, tuple[str, ...]]
    is_of_one: bool

    def of_place(self, record: Record, place: CampaignDisk) -> list[FileDisk]:
        """The disks of a place in a run; several are striped to one. UsageError where the files
        have more than may be meant."""
        names = self.named.get(place)
        if names is not None:
            # A disk may be named in two ways: by its number, and with its machine.
            disks: dict[FileDisk, None] = {}
            for name in names:
                disks.update(dict.fromkeys(_at_most(1, self.called(name), place)))
            return [*disks]
        node = _node(record, place)
        recorded = provider_names.of_disks(record, place.node, of_log=place.of_log)
        if recorded:
            return self._recorded(recorded, node, place)
        # Another tier's disk may be beside it on the same machine.
        if not self.is_of_one or place.of_log:
            return []
        return _at_most(
            self._most_on_machine(record, place), self._left_on(node), place
        )

    def _most_on_machine(self, record: Record, place: CampaignDisk) -> int:
        """How many disks of the node's machine may be those of its data."""
        # Which of them is the log's is not known, until a person names that.
        if (
            node_disks.has_logs(record.profile.tier)
            and place.beside_log not in self.named
        ):
            return 0
        return place.striped(record)

    def called(self, name: str) -> list[FileDisk]:
        """The disks of this name; several machines may have one."""
        return [disk for disk in self.disks if name in (disk.device, str(disk))]

    def _recorded(
        self, recorded: frozenset[str], node: Node, place: CampaignDisk
    ) -> list[FileDisk]:
        """The disks that a run has recorded by their providers' names."""
        disks: list[FileDisk] = []
        for name in sorted(recorded):
            disks += _at_most(1, self._of_recorded(name, node), place)
        return disks

    def _of_recorded(self, name: str, node: Node) -> list[FileDisk]:
        disks: list[FileDisk] = []
        for disk in self.disks:
            # A number is of one machine, and the name of a volume of all.
            is_number = name.startswith("lun")
            if disk.device == name and (_is_on(disk, node) or not is_number):
                disks.append(disk)
        return disks

    def _left_on(self, node: Node) -> list[FileDisk]:
        """The disks of the node's machine that nobody has named for something else."""
        named: set[FileDisk] = set()
        for names in self.named.values():
            for name in names:
                named.update(self.called(name))
        left_on: list[FileDisk] = []
        for disk in self.disks:
            if _is_on(disk, node) and disk not in named:
                left_on.append(disk)
        return left_on


def _node(record: Record, place: CampaignDisk) -> Node:
    (node,) = [node for node in record.nodes if node.name == place.node]
    return node


def _is_on(disk: FileDisk, node: Node) -> bool:
    # Azure's names are the same in letters of either size.
    return disk.node.casefold() in (node.name.casefold(), node.machine.casefold())


def _at_most(count: int, disks: list[FileDisk], place: CampaignDisk) -> list[FileDisk]:
    if len(disks) <= count:
        return disks
    first = disks[0]
    raise UsageError(
        f"{place} may be {listed(disks)}",
        f"name its disk, or each that is striped to it: --disk {place}={first}",
    )


def listed(names: Iterable[FileDisk | CampaignDisk]) -> str:
    texts: list[str] = []
    for name in names:
        texts.append(str(name))
    return prose.listed(texts)
