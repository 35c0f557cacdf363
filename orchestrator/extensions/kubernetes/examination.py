"""What a cluster offers and lacks for a campaign: asked of its API server, nothing is made.

Rights are asked as the cluster itself decides them (SelfSubjectAccessReview). What no answer tells
is a finding too, with the moment at which a campaign finds out. Free CPUs are counted as the
scheduler counts: by requests, not by use."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal

from kubernetes.utils.quantity import parse_quantity

from orchestrator.extensions.kubernetes import manifests, placing
from orchestrator.extensions.kubernetes.connection import (
    RIGHTS,
    Api,
    Refused,
    Thing,
    cluster_errors,
)
from orchestrator.extensions.kubernetes.space import (
    address,
    label_of,
    manifest,
    name_of,
)
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.powers import Finding
from orchestrator.units import format_bytes

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_ATTACHMENTS = "/apis/storage.k8s.io/v1/csinodes"
_OVER = ("Succeeded", "Failed")  # phases of pods that hold nothing any more


def _words(subject: str) -> Any:
    """What examination.yaml says of this."""
    return shipped(__package__, "examination.yaml")[subject]


def examine(
    api: Api, version: str, machines: list[Thing], namespace: str = ""
) -> Iterator[Finding]:
    """Yields what was found of the cluster; `machines`: those that pods of ours may use;
    `namespace`: the given one, "" if each campaign makes its own."""
    with cluster_errors("examining the cluster"):
        named = ""
        if api.context:
            named = f"context {api.context}, "
        yield Finding.fine(
            "Kubernetes cluster", f"{named}{api.host}, version {version}"
        )
        yield from _machines(machines)
        needed: dict[str, list[str]] = dict(_words("needed"))
        if not namespace:
            needed = _words("namespace") | needed
        for name, right in needed.items():
            yield _right(api, name, right, namespace, ok=False)
        for name, right in _words("for_some").items():
            yield _right(api, name, right, namespace, ok=None)
        yield from _storage(api)
        for subject, text in _words("only_a_campaign_tells").items():
            yield Finding.undecided(subject, text)


def _machines(machines: list[Thing]) -> Iterator[Finding]:
    if not machines:
        text = "none is ready, matches `node_selector` and has only taints that are tolerated"
        yield Finding.wrong("machines", text)
        return
    zones = {label_of(machine, placing.ZONE) for machine in machines} - {""}
    named = ""
    if len(zones) > 1:
        named = f" in {len(zones)} zones"
    few = "; three nodes then share machines, which is a rehearsal"
    # A replicated database has three nodes at least.
    if len(machines) >= 3:
        few = ""
    yield Finding.fine("machines", f"{len(machines)}{named}{few}")
    for machine in machines:
        room = machine["status"].get("allocatable") or {}
        memory = format_bytes(manifests.size_bytes(str(room.get("memory", "0"))))
        text = f"{room.get('cpu', '?')} CPUs and {memory} for pods"
        yield Finding.fine(f"machine {name_of(machine)}", text)


def _right(
    api: Api,
    resource: str,
    right: list[str],
    namespace: str,
    ok: Literal[False] | None,
) -> Finding:
    """Whether a right is given in the namespace, or in all namespaces if none is named.

    If only one object of a kind is used, the right to this object is enough. `ok`: the finding's
    value if the right is refused.
    """
    verbs, what_for = right
    only = str(_words("alone").get(resource, ""))
    place = namespace
    if only:
        place = namespace or "default"
    elif resource.startswith(tuple(_words("outside"))):
        place = ""
    refused: list[str] = []
    for verb in verbs.split():
        if not _allowed(api, resource, verb, place, only):
            refused.append(verb)
    subject = f"right to {verbs.replace(' ', ', ')} {resource}"
    if not refused:
        return Finding.fine(subject, f"given: {what_for}")
    return Finding(
        subject, ok, f"{' and '.join(refused)} is refused: {what_for}; {RIGHTS}"
    )


def _allowed(api: Api, resource: str, verb: str, namespace: str, only: str) -> bool:
    """`only`: the object's name, if a role for that one is enough."""
    whole, _, below = resource.partition("/")
    name, _, group = whole.partition(".")
    asked = {"verb": verb, "group": group, "resource": name, "subresource": below}
    asked["namespace"] = namespace
    # No role can be narrowed to what is created by its name (RBAC of Kubernetes).
    if only and verb != "create":
        asked["name"] = only
    review = manifest("SelfSubjectAccessReview", asked=asked)
    return bool(api.make(_REVIEWS, review).get("status", {}).get("allowed"))


def _storage(api: Api) -> Iterator[Finding]:
    classes = _seen(api, address("storage class"))
    most_disks = _most_disks(_seen(api, _ATTACHMENTS))
    if not classes:
        yield Finding.undecided(
            "storage classes",
            "none is seen: only emulated tiers can be compared",
        )
    for storage_class in classes:
        yield _storage_class(storage_class, most_disks)
    snapshots = _seen(api, address("snapshot class"))
    if snapshots:
        drivers = ", ".join(str(kind.get("driver")) for kind in snapshots)
        yield Finding.fine("volume snapshots", drivers)
    else:
        text = "no class is seen: data are loaded for every run"
        yield Finding.undecided("volume snapshots", text)


def _storage_class(storage_class: Thing, most_disks: Mapping[str, Any]) -> Finding:
    driver = str(storage_class.get("provisioner"))
    text = f"{driver}, made before its node, maybe in another zone"
    if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer":
        text = f"{driver}, made where its node runs"
    if most_disks.get(driver):
        text += f"; at most {most_disks[driver]} disks a machine"
    hints = _words("drivers")
    if driver in hints:
        text += f"; {hints[driver]}"
    return Finding.fine(f"storage class {name_of(storage_class)}", text)


def _most_disks(nodes: Iterable[Thing]) -> dict[str, Any]:
    """Driver → how many of its disks a machine takes, where it says so."""
    most: dict[str, Any] = {}
    for node in nodes:
        for driver in node.get("spec", {}).get("drivers") or []:
            allocatable = driver.get("allocatable") or {}
            most[str(driver["name"])] = allocatable.get("count")
    return most


def _seen(api: Api, path: str) -> list[Thing]:
    """All of a kind; none if they may not be listed, which is said where the right is needed."""
    with suppress(Refused):
        return api.listed(path)
    return []


def free_cpus(nodes: int, machines: Sequence[Thing], pods: Iterable[Thing]) -> float:
    """How many CPUs each of so many nodes of a database may ask for, spread over these machines,
    beside a load client; a tenth of one is the least that counts. `pods`: all of the cluster."""
    if not machines:
        return 0.0
    free: dict[str, Decimal] = {}
    for machine in machines:
        status = machine["status"]
        capacity = status.get("allocatable") or status["capacity"]
        free[name_of(machine)] = parse_quantity(capacity["cpu"])
    for pod in pods:
        name = str(pod["spec"].get("nodeName") or "")
        # Pods that have ended keep no room, though they are still listed.
        if name in free and pod.get("status", {}).get("phase") not in _OVER:
            free[name] -= _asked(pod["spec"])
    # The freest machines: the scheduler finds room for the nodes there.
    most = sorted(free.values(), reverse=True)[:nodes]
    nodes_a_machine = math.ceil(nodes / len(most))
    client = parse_quantity(manifests.SHARES["client"])
    left = most[-1] / nodes_a_machine - client
    # Rounded down: a node that asks for a hair too much is never started.
    return float(max(0, math.floor(10 * left) / 10))


def _asked(spec: Thing) -> Decimal:
    """What the scheduler sets aside for a pod: the most that it needs at any moment."""
    # kubernetes.io, "Effective Pod requests and limits": init containers run one after the other,
    # each beside the sidecars that are listed before it, which go on.
    sidecars = Decimal(0)
    most = Decimal(0)
    for container in spec.get("initContainers") or []:
        request = _request(container)
        most = max(most, sidecars + request)
        if container.get("restartPolicy") == "Always":
            sidecars += request
    running = sidecars
    for container in spec.get("containers") or []:
        running += _request(container)
    return max(most, running) + _cpus(spec.get("overhead"))


def _request(container: Thing) -> Decimal:
    return _cpus((container.get("resources") or {}).get("requests"))


def _cpus(asked: Thing | None) -> Decimal:
    return Decimal(parse_quantity((asked or {}).get("cpu", 0)))
