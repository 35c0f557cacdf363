"""What a cluster offers and lacks for a campaign: asked of its API server, nothing is made.

Rights are asked as the cluster itself decides them (SelfSubjectAccessReview). What no answer tells
is a finding too, with the moment at which a campaign finds out. Free CPUs are counted as the
scheduler counts: by requests, not by use."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal

from kubernetes.utils.quantity import parse_quantity

from orchestrator.keys.strict_yaml import shipped
from orchestrator.platforms.common.machines import Finding
from orchestrator.platforms.kubernetes import manifests, placing
from orchestrator.platforms.kubernetes.connection import (
    RIGHTS,
    Api,
    Refused,
    Thing,
    cluster_errors,
)
from orchestrator.platforms.kubernetes.space import address, label_of, manifest, name_of
from orchestrator.units import format_bytes

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_ATTACHMENTS = "/apis/storage.k8s.io/v1/csinodes"
_OVER = ("Succeeded", "Failed")  # phases of pods that hold nothing any more


def _words(of: str) -> Any:
    """What examination.yaml says of this."""
    return shipped(__package__, "examination.yaml")[of]


def examine(
    api: Api, version: str, machines: list[Thing], namespace: str = ""
) -> Iterator[Finding]:
    """Yields what was found of the cluster; `machines`: those that pods of ours may use;
    `namespace`: the given one, "" if each campaign makes its own."""
    with cluster_errors("examining the cluster"):
        named = ""
        if api.context:
            named = f"context {api.context}, "
        yield Finding(
            "Kubernetes cluster", True, f"{named}{api.host}, version {version}"
        )
        yield from _machines(machines)
        needed = ({} if namespace else _words("namespace")) | _words("needed")
        yield from (_right(api, name, needed[name], namespace) for name in needed)
        for name, right in _words("for_some").items():
            yield _right(api, name, right, namespace, ok=None)
        yield from _storage(api)
        for subject, text in _words("only_a_campaign_tells").items():
            yield Finding(subject, None, text)


def _machines(machines: list[Thing]) -> Iterator[Finding]:
    if not machines:
        text = "none is ready, matches `node_selector` and has only taints that are tolerated"
        yield Finding("machines", False, text)
        return
    zones = {label_of(machine, placing.ZONE) for machine in machines} - {""}
    named = ""
    if len(zones) > 1:
        named = f" in {len(zones)} zones"
    few = "; three nodes then share machines, which is a rehearsal"
    if len(machines) >= 3:
        few = ""
    yield Finding("machines", True, f"{len(machines)}{named}{few}")
    for machine in machines:
        room = machine["status"].get("allocatable") or {}
        memory = format_bytes(manifests.size_bytes(str(room.get("memory", "0"))))
        text = f"{room.get('cpu', '?')} CPUs and {memory} for pods"
        yield Finding(f"machine {name_of(machine)}", True, text)


def _right(
    api: Api,
    resource: str,
    right: list[str],
    namespace: str,
    ok: Literal[False] | None = False,
) -> Finding:
    """A right in the given namespace, or in all. `ok`: what the finding is without it."""
    verbs, what_for = right
    place = namespace
    if resource.startswith(tuple(_words("outside"))):
        place = ""
    refused = [
        verb for verb in verbs.split() if not _allowed(api, resource, verb, place)
    ]
    subject = f"right to {verbs.replace(' ', ', ')} {resource}"
    if not refused:
        return Finding(subject, True, f"given: {what_for}")
    return Finding(
        subject, ok, f"{' and '.join(refused)} is refused: {what_for}; {RIGHTS}"
    )


def _allowed(api: Api, resource: str, verb: str, namespace: str) -> bool:
    whole, _, below = resource.partition("/")
    name, _, group = whole.partition(".")
    asked = {"verb": verb, "group": group, "resource": name, "subresource": below}
    review = manifest(
        "SelfSubjectAccessReview", asked={**asked, "namespace": namespace}
    )
    return bool(api.make(_REVIEWS, review).get("status", {}).get("allowed"))


def _storage(api: Api) -> Iterator[Finding]:
    classes = _seen(api, address("storage class"))
    drivers = _words("drivers")
    attached = {
        str(driver["name"]): (driver.get("allocatable") or {}).get("count")
        for node in _seen(api, _ATTACHMENTS)
        for driver in node.get("spec", {}).get("drivers") or []
    }
    if not classes:
        yield Finding(
            "storage classes", None, "none is seen: only emulated tiers can be compared"
        )
    for storage_class in classes:
        driver = str(storage_class.get("provisioner"))
        late = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        zone = "made before its node, maybe in another zone"
        if late:
            zone = "made where its node runs"
        most = ""
        if attached.get(driver):
            most = f"; at most {attached[driver]} disks a machine"
        hint = ""
        if driver in drivers:
            hint = f"; {drivers[driver]}"
        subject = f"storage class {name_of(storage_class)}"
        yield Finding(subject, True, f"{driver}, {zone}{most}{hint}")
    snapshots = _seen(api, address("snapshot class"))
    made_by = ", ".join(str(kind.get("driver")) for kind in snapshots)
    text = made_by or "no class is seen: data are loaded for every run"
    yield Finding("volume snapshots", True if snapshots else None, text)


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
    status_of = {name_of(machine): machine["status"] for machine in machines}
    free = {
        name: parse_quantity((status.get("allocatable") or status["capacity"])["cpu"])
        for name, status in status_of.items()
    }
    for pod in pods:
        name = str(pod["spec"].get("nodeName") or "")
        if name in free and pod.get("status", {}).get("phase") not in _OVER:
            free[name] -= _asked(pod["spec"])
    most = sorted(free.values(), reverse=True)[
        :nodes
    ]  # those that nodes will find room on
    left = most[-1] / math.ceil(nodes / len(most)) - parse_quantity(
        manifests.SHARES["client"]
    )
    return float(max(0, math.floor(10 * left) / 10))


def _asked(spec: Thing) -> Decimal:
    containers = spec.get("containers") or []
    before = spec.get("initContainers") or []
    beside = [
        container for container in before if container.get("restartPolicy") == "Always"
    ]
    running = sum(map(_request, (*containers, *beside)))
    first = max(map(_request, before), default=Decimal(0)) + sum(map(_request, beside))
    return max(running, first) + _cpus(spec.get("overhead"))


def _request(container: Thing) -> Decimal:
    return _cpus((container.get("resources") or {}).get("requests"))


def _cpus(asked: Thing | None) -> Decimal:
    return Decimal(parse_quantity((asked or {}).get("cpu", 0)))
