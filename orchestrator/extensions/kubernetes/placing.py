"""On which machines pods run: the rules for the scheduler, and the machine that each placement got
with its first pod, which it then keeps.

Nodes of a database go to machines of their own as long as there are enough of them, clients to
machines without nodes if there are any, and everything of one placement to one machine."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from orchestrator.errors import UnavailableError
from orchestrator.extensions.kubernetes import connection, trouble
from orchestrator.extensions.kubernetes.space import (
    KIND,
    PLACEMENT,
    Space,
    manifest,
    name_of,
)
from orchestrator.model import Placing

MACHINE = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
_NODE = "node"
_CLIENT = "client"
ANY = (_NODE, _CLIENT)
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


def kind_of(placement: str) -> str:
    """The kind of a placement: "node" of "node-1"."""
    return placement.rpartition("-")[0] or placement


def placement_labels(placement: str) -> dict[str, str]:
    if placement:
        return {PLACEMENT: placement, KIND: kind_of(placement)}
    return {}


def rules(
    placement: str, chosen: Placing, machine: str = "", taken: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The parts of a pod's spec that choose its machine. `machine`: where its placement runs
    already, "" if nowhere; `taken`: the machines that other nodes of the database have, also while
    none of their pods runs, if there is one without."""
    is_node = kind_of(placement) == _NODE
    demands: list[dict[str, Any]] = []
    if chosen.zones:
        demands.append(_demand(ZONE, chosen.zones))
    if machine:
        # Parts of a placement use its devices, which are on one machine.
        demands.append(_demand(MACHINE, (machine,)))
    elif is_node and taken:
        # A demand, as there is a free machine: two nodes on one would measure each other.
        demands.append(_demand(MACHINE, taken, "NotIn"))
    wishes: list[dict[str, Any]] | None = None
    if placement and not machine:
        wishes = _wishes(placement)
    spread = None
    if is_node and not machine:
        # A database's nodes are meant to survive a zone: as its owner would place them.
        spread = [manifest("over_zones")]
    return manifest(
        "rules",
        selector=dict(_labels(placement, chosen)) or None,
        tolerations=[dict(toleration) for toleration in chosen.tolerations] or None,
        demands=demands or None,
        wishes=wishes,
        spread=spread,
    )


def _wishes(placement: str) -> list[dict[str, Any]]:
    """Where a pod should rather not run, as long as its machine can still be chosen."""
    kind = kind_of(placement)
    wishes = [manifest("away_from_nodes", placement=placement)]
    if kind != _NODE:
        wishes.append(manifest("away_from_its_kind", kind=kind))
    return wishes


def _labels(placement: str, chosen: Placing) -> Mapping[str, str]:
    """Clients are where nodes are, unless the profile says otherwise."""
    if kind_of(placement) == _CLIENT and chosen.client_selector:
        return chosen.client_selector
    return chosen.node_selector


def _demand(key: str, values: tuple[str, ...], operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def usable(
    node: Mapping[str, Any], chosen: Placing, placements: Sequence[str] = (_NODE,)
) -> bool:
    """Whether pods of one of these placements may run on a machine, as the scheduler decides it."""
    spec = node.get("spec", {})
    if not trouble.is_ready(node) or spec.get("unschedulable"):
        return False
    labels = node["metadata"].get("labels") or {}
    if chosen.zones and labels.get(ZONE) not in chosen.zones:
        return False
    for taint in spec.get("taints") or []:
        if taint["effect"] in _KEEPS_AWAY and not _tolerated(taint, chosen):
            return False
    return any(
        _labels(placement, chosen).items() <= labels.items() for placement in placements
    )


def _tolerated(taint: Mapping[str, str], chosen: Placing) -> bool:
    """Whether a pod tolerates the taint, as the scheduler decides it (pod-spec `tolerations`)."""
    for toleration in chosen.tolerations:
        # A toleration without an effect holds for every effect.
        if toleration.get("effect") not in (None, "", taint["effect"]):
            continue
        key = toleration.get("key")
        # A toleration without a key tolerates all.
        if toleration.get("operator") == "Exists" and key in (None, ""):
            return True
        if key != taint["key"]:
            continue
        if toleration.get("operator") == "Exists":
            return True
        if toleration.get("value", "") == taint.get("value", ""):
            return True
    return False


class Placement:
    """The machines of a campaign. `machine_names`: placement → machine; `known`: machines that
    could run pods of ours when the cluster was last asked."""

    def __init__(self, space: Space, placing: Placing) -> None:
        self._space = space
        self.placing = placing
        self.machine_names: dict[str, str] = {}
        self.known: list[connection.Thing] = []
        self._scheduling = threading.Lock()

    @contextmanager
    def choosing(self, placement: str) -> Iterator[dict[str, Any]]:
        """Yields the rules for the pod that is made in the block.

        If the placement has no machine yet, the block ends when the pod has a machine. Only one
        such block goes on at a time. The next placement then keeps away from the chosen machine.
        """
        if not placement or placement in self.machine_names:
            yield rules(placement, self.placing, self.machine_names.get(placement, ""))
            return
        with self._scheduling:
            machine = self.machine_names.get(placement, "")
            taken: tuple[str, ...] = ()
            # Some nodes must share a machine if there are fewer of them. No demand may then forbid
            # it.
            if self._free_machines():
                taken = self._taken(placement)
            yield rules(placement, self.placing, machine, taken)

    def _taken(self, placement: str = "") -> tuple[str, ...]:
        """The machines of all nodes of a database, but of this one."""
        names: list[str] = []
        for other, name in self.machine_names.items():
            if other != placement and kind_of(other) == _NODE:
                names.append(name)
        return tuple(sorted(names))

    def _free_machines(self) -> list[str]:
        """The machines on which no node of a database runs."""
        taken = self._taken()
        names = [name_of(machine) for machine in self.find_machines((_NODE,))]
        return [name for name in names if name not in taken]

    def machines_of(self, nodes: int) -> list[connection.Thing]:
        """The machines to which nodes 1 to `nodes` are bound; all machines if one is not bound
        yet."""
        usable = self.find_machines((_NODE,))
        bound: set[str] = set()
        for number in range(1, nodes + 1):
            placement = f"node-{number}"
            if placement not in self.machine_names:
                return usable
            bound.add(self.machine_names[placement])
        return [machine for machine in usable if name_of(machine) in bound]

    def machine_for(self, placement: str) -> str:
        """Returns the machine of a placement; chooses one if nothing of it has run yet."""
        with self._scheduling:
            if placement in self.machine_names:
                return self.machine_names[placement]
            names = [name_of(machine) for machine in self.find_machines((placement,))]
            if not names:
                raise _no_machine("no machine of the cluster can run tierbench's pods")
            if len(names) > 1 and not placement:
                raise _no_machine(
                    "a device is on one machine, and it is not known on which"
                )
            return self.machine_names.setdefault(
                placement, (self._free_machines() or names)[0]
            )

    def find_machines(self, placements: Sequence[str] = ANY) -> list[connection.Thing]:
        nodes = self._space.listed("machine")
        # Kept for telemetry, which asks each second and must not ask the cluster.
        self.known = [node for node in nodes if usable(node, self.placing, ANY)]
        return [node for node in nodes if usable(node, self.placing, placements)]


def _no_machine(why: str) -> UnavailableError:
    return UnavailableError(
        why, advice="look with `kubectl get nodes`; taints need tolerations"
    )
