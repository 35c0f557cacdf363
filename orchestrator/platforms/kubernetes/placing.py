"""On which machines a pod may run: rules for the scheduler, from the placement. Pure.

Nodes of a database go to machines of their own as long as there are enough of them, clients to
machines without nodes if there are any, and everything of one placement to one machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.model import Placing
from orchestrator.platforms.kubernetes.labels import KIND, PLACEMENT

MACHINE = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
_NODE, _CLIENT = "node", "client"
ANY = (_NODE, _CLIENT)
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Spread:
    """What is known when a pod is made. `machine`: where its placement runs already, "" if nowhere;
    `enough`: whether there is a machine for it where no node of a database runs; `taken`: those
    that other nodes have, also while none of their pods runs."""

    machine: str = ""
    enough: bool = True
    taken: tuple[str, ...] = ()


def kind_of(placement: str) -> str:
    """The kind of a placement: "node" of "node-1"."""
    return placement.rpartition("-")[0] or placement


def placement_labels(placement: str) -> dict[str, str]:
    return {PLACEMENT: placement, KIND: kind_of(placement)} if placement else {}


def rules(placement: str, spread: Spread, chosen: Placing) -> dict[str, Any]:
    """Returns the parts of a pod's spec that choose its machine."""
    parts: dict[str, Any] = {}
    if labels := _labels(placement, chosen):
        parts["nodeSelector"] = dict(labels)
    if chosen.tolerations:
        parts["tolerations"] = [dict(one) for one in chosen.tolerations]
    affinity: dict[str, Any] = {}
    demands = [_demand(ZONE, chosen.zones)] if chosen.zones else []
    demands += [_demand(MACHINE, (spread.machine,))] if spread.machine else []
    if kind_of(placement) == _NODE and not spread.machine and spread.enough and spread.taken:
        demands.append({**_demand(MACHINE, spread.taken), "operator": "NotIn"})
    if demands:
        affinity["nodeAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": demands}]
            }
        }
    if placement and not spread.machine:
        affinity["podAntiAffinity"] = _away_from_nodes(placement)
    if affinity:
        parts["affinity"] = affinity
    if kind_of(placement) == _NODE and not spread.machine:
        parts["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {KIND: _NODE}},
            }
        ]
    return parts


def _labels(placement: str, chosen: Placing) -> Mapping[str, str]:
    """Those of the machines that a placement may be on. Clients are where nodes are, unless the
    profile says otherwise."""
    if kind_of(placement) == _CLIENT and chosen.client_selector:
        return chosen.client_selector
    return chosen.node_selector


def _away_from_nodes(placement: str) -> dict[str, Any]:
    """Only a wish: a demand of the nodes that run would keep one more than there are machines from
    all of them."""
    others = {
        "labelSelector": {
            "matchExpressions": [
                {"key": KIND, "operator": "In", "values": [_NODE]},
                {"key": PLACEMENT, "operator": "NotIn", "values": [placement]},
            ]
        },
        "topologyKey": MACHINE,
    }
    alike = {"labelSelector": {"matchLabels": {KIND: kind_of(placement)}}, "topologyKey": MACHINE}
    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": others},
            *([{"weight": 50, "podAffinityTerm": alike}] if kind_of(placement) != _NODE else []),
        ]
    }


def _demand(key: str, values: tuple[str, ...]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def usable(node: Mapping[str, Any], chosen: Placing, placements: Sequence[str] = (_NODE,)) -> bool:
    """Whether pods of one of these placements may run on a machine: ready, chosen, and without a
    taint that is not tolerated."""
    labels = node["metadata"].get("labels") or {}
    conditions = node.get("status", {}).get("conditions") or []
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    fits = any(_labels(one, chosen).items() <= labels.items() for one in placements)
    in_zone = not chosen.zones or labels.get(ZONE) in chosen.zones
    spec = node.get("spec", {})
    kept_away = any(
        taint["effect"] in _KEEPS_AWAY and not _tolerated(taint, chosen)
        for taint in spec.get("taints") or []
    )
    return ready and fits and in_zone and not kept_away and not spec.get("unschedulable")


def _tolerated(taint: Mapping[str, str], chosen: Placing) -> bool:
    """As the scheduler decides it (pod-spec `tolerations`)."""
    return any(
        one.get("effect") in (None, "", taint["effect"])
        and (
            (one.get("operator") == "Exists" and one.get("key") in (None, "", taint["key"]))
            or (one.get("key") == taint["key"] and one.get("value", "") == taint.get("value", ""))
        )
        for one in chosen.tolerations
    )
