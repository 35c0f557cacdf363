"""The machines on which a node's disks could be bought: each provider's usual one, and those that
are at least as large as the run's own. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.tier_catalog.catalog import Catalog, provider_of
from orchestrator.tier_catalog.rows import VmSize


@dataclass(frozen=True)
class MachinesToBuy:
    """Machines of a run's nodes, by the provider of the disks.

    measured_on: the run's, `azure/Standard_D8s_v5`; None if nobody said which. usual: that of each
    provider which is taken where nothing else is asked; empty if the run's is not known.
    """

    catalog: Catalog
    measured_on: str | None
    usual: Mapping[str, str]

    def usual_for(self, disk: str) -> str | None:
        """The machine of a disk by its row; None if the run's own is not known."""
        return self.usual.get(provider_of(disk))

    def for_disk(self, disk: str) -> Sequence[str]:
        """The usual machine of the disk's provider, then all that have as many CPUs and as much
        memory as the run's own.

        A run says nothing of a machine with less: its cache would be smaller.
        """
        usual = self.usual_for(disk)
        if usual is None or self.measured_on is None:
            return ()
        least = self.catalog.vm(self.measured_on)
        names = [usual]
        for name, size in self.catalog.vms.items():
            is_of_provider = provider_of(name) == provider_of(disk)
            if is_of_provider and name != usual and _is_as_large(size, least):
                names.append(name)
        return names


def _is_as_large(size: VmSize, least: VmSize) -> bool:
    """False too where the catalog does not know how large one of them is."""
    if size.vcpus is None or least.vcpus is None:
        return False
    if size.memory_bytes is None or least.memory_bytes is None:
        return False
    return size.vcpus >= least.vcpus and size.memory_bytes >= least.memory_bytes
