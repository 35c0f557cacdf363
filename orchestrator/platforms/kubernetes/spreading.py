"""Which machine each placement has: chosen by the scheduler with its first pod, then kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orchestrator.errors import UnavailableError
from orchestrator.model import Placing
from orchestrator.platforms.kubernetes.connection import Thing
from orchestrator.platforms.kubernetes.errors import cluster_errors
from orchestrator.platforms.kubernetes.labels import name_of
from orchestrator.platforms.kubernetes.placing import ANY, Spread, kind_of, usable
from orchestrator.platforms.kubernetes.space import NODES, Space


class Placement:
    """The machines of a campaign. `machine_names`: placement → machine; `found`: machines that
    could run pods of ours when the cluster was last asked."""

    def __init__(self, space: Space, placing: Placing) -> None:
        self._space, self.placing = space, placing
        self.machine_names: dict[str, str] = {}
        self.found: list[Thing] = []
        self._scheduling = threading.Lock()

    @contextmanager
    def choosing(self, placement: str) -> Iterator[Spread]:
        """What is known for the pod that is made in the block, which for a placement without a
        machine ends when it has one. Only one such block goes on at a time: the next placement
        keeps away from that machine."""
        if not placement or placement in self.machine_names:
            yield Spread(self.machine_names.get(placement, ""))
            return
        with self._scheduling:
            machine = self.machine_names.get(placement, "")
            enough = bool(self._free_machines())
            yield Spread(machine) if machine else Spread("", enough, self._taken(placement))

    def _taken(self, placement: str = "") -> tuple[str, ...]:
        """The machines of all nodes of a database, but of this one."""
        return tuple(
            sorted(
                machine
                for place, machine in self.machine_names.items()
                if kind_of(place) == "node" and place != placement
            )
        )

    def _free_machines(self) -> list[str]:
        """The machines on which no node of a database runs."""
        taken = self._taken()
        machines = map(name_of, self.find_machines(("node",)))
        return [name for name in machines if name not in taken]

    def machines_of(self, nodes: int) -> list[Thing]:
        """Those that nodes 1 to `nodes` of a database are bound to, as by their disks; all that
        they may be on, if one is not bound yet."""
        usable = self.find_machines(("node",))
        bound = {self.machine_names.get(f"node-{number}") for number in range(1, nodes + 1)}
        return usable if None in bound else [one for one in usable if name_of(one) in bound]

    def machine_for(self, placement: str) -> str:
        """Returns the machine of a placement; chooses one if nothing of it has run yet."""
        with self._scheduling:
            if placement in self.machine_names:
                return self.machine_names[placement]
            names = [name_of(one) for one in self.find_machines((placement,))]
            if not names or (len(names) > 1 and not placement):
                raise UnavailableError(
                    "a device is on one machine, and it is not known on which"
                    if names
                    else "no machine of the cluster can run pods of ours",
                    advice="look with `kubectl get nodes`; taints need tolerations",
                )
            free = self._free_machines() or names
            self.machine_names[placement] = free[0]
            return free[0]

    def find_machines(self, placements: Sequence[str] = ANY) -> list[Thing]:
        with cluster_errors("looking at the cluster's machines"):
            nodes = self._space.api.listed(NODES)
        self.found = [node for node in nodes if usable(node, self.placing, ANY)]
        return [node for node in nodes if usable(node, self.placing, placements)]
