"""What a cluster offers and lacks for a campaign: asked of its API server, nothing is made.

Rights are asked as the cluster itself decides them (SelfSubjectAccessReview). What no answer tells
is a finding too, with the moment at which a campaign finds out. Free CPUs are counted as the
scheduler counts: by requests, not by use.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from kubernetes.utils.quantity import parse_quantity

from orchestrator.platforms.common.machines import Finding
from orchestrator.platforms.kubernetes import volume_manifests
from orchestrator.platforms.kubernetes.connection import RIGHTS, Api, Refused, Thing, cluster_errors
from orchestrator.platforms.kubernetes.manifests import SHARES
from orchestrator.platforms.kubernetes.placing import ZONE
from orchestrator.platforms.kubernetes.space import CLASSES, label_of, name_of
from orchestrator.units import format_bytes

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_ATTACHMENTS = "/apis/storage.k8s.io/v1/csinodes"
# Drivers whose classes the catalog's rows are made for, and what their disks depend on.
DRIVERS = {
    "disk.csi.azure.com": "Ultra Disks need machines with Ultra support, in zones",
    "ebs.csi.aws.com": "io2 needs machines that are built for it to reach its limits",
    "pd.csi.storage.gke.io": "Hyperdisks need machine types that take them",
}
_OF_SNAPSHOTS = volume_manifests.SNAPSHOTS
_SNAPSHOTS = f"volumesnapshots.{_OF_SNAPSHOTS}"
_IN_NO_NAMESPACE = (
    "namespaces", "nodes", "persistentvolumes", "storageclasses", "volumesnapshotc",
)  # fmt: skip
_OVER = ("Succeeded", "Failed")  # phases of pods that hold nothing any more


@dataclass(frozen=True)
class _Right:
    """A right, in the given namespace or in all; `resource` as `kubectl auth can-i` has it."""

    what_for: str
    verbs: str
    resource: str


_NAMESPACE = _Right("the namespace of a campaign", "get list create delete", "namespaces")
_NEEDED = (
    _Right("one campaign at a time", "get create patch delete", "leases.coordination.k8s.io"),
    _Right("an end of what is rented", "create patch", "jobs.batch"),
    _Right("its first account", "get", "serviceaccounts"),
    _Right("where pods may run", "get list", "nodes"),
    _Right("nodes and clients", "get list create patch delete", "pods"),
    _Right("commands in them", "get create", "pods/exec"),
    _Right("SQL from here", "get create", "pods/portforward"),
    _Right("their logs", "get", "pods/log"),
    _Right("why one does not start", "list", "events"),
    _Right("their passwords", "get list create delete", "secrets"),
    _Right("names of nodes", "get list create delete", "services"),
    _Right("disks of nodes", "get list create delete", "persistentvolumeclaims"),
    _Right("what a disk was given", "get list", "persistentvolumes"),
    _Right("classes that are there", "list", "storageclasses.storage.k8s.io"),
    _Right("snapshots that are left", "list", _SNAPSHOTS),
)
_FOR_SOME = (
    _Right("emulated tiers", "create delete", "persistentvolumes"),
    _Right("tiers made from a row", "get create delete", "storageclasses.storage.k8s.io"),
    _Right("kept data sets", "get create delete", _SNAPSHOTS),
    _Right("whether they can be kept", "list", f"volumesnapshotclasses.{_OF_SNAPSHOTS}"),
    _Right("whether they are gone", "list", f"volumesnapshotcontents.{_OF_SNAPSHOTS}"),
)


def examine(
    api: Api, version: str, machines: list[Thing], namespace: str = ""
) -> Iterator[Finding]:
    """Yields what was found of the cluster; `machines`: those that pods of ours may use;
    `namespace`: the given one, "" if each campaign makes its own."""
    with cluster_errors("examining the cluster"):
        named = f"context {api.context}, " if api.context else ""
        yield Finding("Kubernetes cluster", True, f"{named}{api.host}, version {version}")
        yield from _machines(machines)
        needed = _NEEDED if namespace else (_NAMESPACE, *_NEEDED)
        yield from (_right(api, right, namespace, needed=True) for right in needed)
        yield from (_right(api, right, namespace, needed=False) for right in _FOR_SOME)
        yield from _storage(api)
        yield from _only_a_campaign_tells()


def _machines(machines: list[Thing]) -> Iterator[Finding]:
    if not machines:
        text = "none is ready, matches `node_selector` and has only taints that are tolerated"
        yield Finding("machines", False, text)
        return
    zones = {label_of(machine, ZONE) for machine in machines} - {""}
    named = f" in {len(zones)} zones" if len(zones) > 1 else ""
    few = "" if len(machines) >= 3 else "; three nodes then share machines, which is a rehearsal"
    yield Finding("machines", True, f"{len(machines)}{named}{few}")
    for machine in machines:
        room = machine["status"].get("allocatable") or {}
        memory = format_bytes(volume_manifests.size_bytes(str(room.get("memory", "0"))))
        text = f"{room.get('cpu', '?')} CPUs and {memory} for pods"
        yield Finding(f"machine {name_of(machine)}", True, text)


def _right(api: Api, right: _Right, namespace: str, needed: bool) -> Finding:
    place = "" if right.resource.startswith(_IN_NO_NAMESPACE) else namespace
    refused = [verb for verb in right.verbs.split() if not _allowed(api, right, verb, place)]
    subject = f"right to {right.verbs.replace(' ', ', ')} {right.resource}"
    if not refused:
        return Finding(subject, True, f"given: {right.what_for}")
    text = f"{' and '.join(refused)} is refused: {right.what_for}; {RIGHTS}"
    return Finding(subject, False if needed else None, text)


def _allowed(api: Api, right: _Right, verb: str, namespace: str) -> bool:
    whole, _, below = right.resource.partition("/")
    name, _, group = whole.partition(".")
    asked = {"verb": verb, "group": group, "resource": name, "subresource": below}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {**asked, "namespace": namespace}},
    }
    return bool(api.make(_REVIEWS, review).get("status", {}).get("allowed"))


def _storage(api: Api) -> Iterator[Finding]:
    classes = _seen(api, CLASSES)
    attached = {
        str(driver["name"]): (driver.get("allocatable") or {}).get("count")
        for node in _seen(api, _ATTACHMENTS)
        for driver in node.get("spec", {}).get("drivers") or []
    }
    if not classes:
        yield Finding("storage classes", None, "none is seen: only emulated tiers can be compared")
    for storage_class in classes:
        driver = str(storage_class.get("provisioner"))
        late = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        zone = "made where its node runs" if late else "made before its node, maybe in another zone"
        most = f"; at most {attached[driver]} disks a machine" if attached.get(driver) else ""
        hint = f"; {DRIVERS[driver]}" if driver in DRIVERS else ""
        subject = f"storage class {name_of(storage_class)}"
        yield Finding(subject, True, f"{driver}, {zone}{most}{hint}")
    snapshots = _seen(api, volume_manifests.SNAPSHOT_CLASSES)
    drivers = ", ".join(str(kind.get("driver")) for kind in snapshots)
    text = drivers or "no class is seen: data are loaded for every run"
    yield Finding("volume snapshots", True if snapshots else None, text)


def _seen(api: Api, path: str) -> list[Thing]:
    """All of a kind; none if they may not be listed, which is said where the right is needed."""
    try:
        return api.listed(path)
    except Refused:
        return []


def _only_a_campaign_tells() -> Iterator[Finding]:
    """What no answer of the API server says. Each is checked by a campaign before its first run."""
    for subject, text in (
        ("disks are what their class says", "the gate measures one on each node's machine, by fio"),
        ("their size and class", "read back from the PersistentVolume of each"),
        ("emulated tiers", "need privileged pods, FUSE and loop devices: the first disk tells"),
        ("telemetry", "needs pods that mount the machine's root read-only: else it is missing"),
        ("images", "are pulled by the first pods: TIERBENCH_REGISTRY names where from"),
    ):
        yield Finding(subject, None, text)


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
    most = sorted(free.values(), reverse=True)[:nodes]  # those that nodes will find room on
    left = most[-1] / math.ceil(nodes / len(most)) - parse_quantity(SHARES["client"])
    return float(max(0, math.floor(10 * left) / 10))


def _asked(spec: Thing) -> Decimal:
    containers, before = spec.get("containers") or [], spec.get("initContainers") or []
    beside = [container for container in before if container.get("restartPolicy") == "Always"]
    running = sum(map(_request, (*containers, *beside)))
    first = max(map(_request, before), default=Decimal(0)) + sum(map(_request, beside))
    return max(running, first) + _cpus(spec.get("overhead"))


def _request(container: Thing) -> Decimal:
    return _cpus((container.get("resources") or {}).get("requests"))


def _cpus(asked: Thing | None) -> Decimal:
    return Decimal(parse_quantity((asked or {}).get("cpu", 0)))
