"""A container as a pod, volumes and what else is made: what manifests.yaml needs for each. Pure.

Pods have one container, `main`. What must be there before it begins is in a Secret: passwords, and
the files of its spec."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from orchestrator import model
from orchestrator.extensions.kubernetes import space
from orchestrator.extensions.kubernetes.placing import placement_labels
from orchestrator.extensions.kubernetes.space import manifest, object_name
from orchestrator.keys.secret_names import is_secret_variable
from orchestrator.platforms import own_images
from orchestrator.powers import HOST_NETWORK, NETWORK_OF, ContainerSpec, Mount

SERVICE = "nodes"  # the headless service of a cluster's network
# A pod's own end: longer than any stop that is asked for, which says its own time.
LONGEST_STOP_S = 300
# A pod has guaranteed resources only if each of its containers has limits, the gate too.
_GATE_CPU = "100m"
_GATE_MEMORY = "64Mi"
# The kernel shares out a busy machine by requests. On two busy cores, answers of a disk whose
# server had asked for nothing were late by 0.5 to 0.6 ms in the mean, at 250m by 0.4, at 400m and
# more by 0.15, and on Docker, where all containers count alike, by 0.05. Requests are given by
# role.
SHARES = {"disk": "500m", "client": "250m", "coordinator": "100m"}


def pod(
    spec: ContainerSpec,
    claims: Mapping[str, str],
    placing: model.Placing,
    rules: Mapping[str, Any],
) -> dict[str, Any]:
    """The pod of a container. `claims`: of the volumes that its mounts name; one that has none is
    a folder that ends with the pod. `rules`: which choose its machine. UnavailableError if it asks
    for what no pod can have."""
    image = own_images.name_in_registry(spec.image)
    volumes, mounts = _volumes(spec, claims)
    return manifest(
        "Pod",
        name=object_name(spec.name),
        labels=_labels(spec),
        name_here=spec.name,
        stop_s=max(spec.stop_timeout_s, LONGEST_STOP_S),
        **_network(spec, image),
        pull_secrets=[{"name": name} for name in placing.image_pull_secrets] or None,
        **rules,
        image=image,
        command=list(spec.entrypoint or ()) or None,
        arguments=list(spec.command) or None,
        environment=_environment(spec) or None,
        ports=[{"containerPort": port} for port in spec.ports] or None,
        resources=_resources(spec) or None,
        rights=_rights(spec) or None,
        mounts=mounts,
        volumes=volumes,
    )


def _labels(spec: ContainerSpec) -> dict[str, str]:
    labels = {space.ROLE: spec.role}
    # No pod joins another's network: it is on that machine, by its placement.
    if spec.network and not spec.network.startswith(NETWORK_OF):
        labels[space.NETWORK] = object_name(spec.network)
    return labels | placement_labels(spec.placement)


def _network(spec: ContainerSpec, image: str) -> dict[str, Any]:
    """The parts of a pod that say in which network it is.

    A pod whose address has a subdomain gets a name in the cluster's network. A pod of the host
    network is put into the network of its machine.
    """
    hostname, _, subdomain = (spec.address or "").partition(".")
    parts: dict[str, Any] = {}
    # A pod has a name in DNS by its service, which is the subdomain of its address.
    if subdomain:
        parts["hostname"] = hostname
        parts["subdomain"] = subdomain
        parts["before"] = [_gate(spec, image)]
    if spec.network == HOST_NETWORK:
        parts["host_network"] = True
        # A pod in the machine's network would else ask the machine's DNS, which knows no pods.
        parts["dns_policy"] = "ClusterFirstWithHostNet"
    return parts


def guest(spec: ContainerSpec, name: str) -> dict[str, Any]:
    """A container, by this name, in the pod whose network it joins."""
    return manifest(
        "guest",
        name=name,
        image=own_images.name_in_registry(spec.image),
        rights=_rights(spec),
        command=list(spec.entrypoint or ()) or None,
        arguments=list(spec.command),
    )


def _gate(spec: ContainerSpec, image: str) -> dict[str, Any]:
    cpu = None
    if spec.cpus:
        cpu = _GATE_CPU
    memory = None
    if spec.memory_bytes:
        memory = _GATE_MEMORY
    return manifest("gate", image=image, address=spec.address, cpu=cpu, memory=memory)


def _rights(spec: ContainerSpec) -> dict[str, Any]:
    """The security context of a container."""
    # A pod has no rules for single devices, as Docker has: loop devices take `privileged`.
    if spec.host_devices:
        return {"privileged": True}
    if spec.capabilities is None:
        return {}
    named = {"drop": ["ALL"], "add": list(spec.capabilities)}
    return {"allowPrivilegeEscalation": False, "capabilities": named}


def _environment(spec: ContainerSpec) -> list[dict[str, Any]]:
    variables: list[dict[str, Any]] = []
    for name, value in spec.environment.items():
        if _is_hidden(name):
            key = {"name": object_name(spec.name), "key": name}
            variables.append({"name": name, "valueFrom": {"secretKeyRef": key}})
        else:
            variables.append({"name": name, "value": value})
    return variables


def _is_hidden(name: str) -> bool:
    """Whether a variable is a secret, which whoever may read pods is not to see."""
    return "TOKEN" in name or is_secret_variable(name)


def secret(spec: ContainerSpec) -> dict[str, Any] | None:
    """What its pod is given by a Secret, if it is given any."""
    contents: dict[str, bytes] = {}
    for name, text in spec.environment.items():
        if _is_hidden(name):
            contents[name] = text.encode()
    for number, files in enumerate(spec.folders.values()):
        for name, content in files.items():
            contents[_key(number, name)] = content
    if not contents:
        return None
    data: dict[str, str] = {}
    for key, content in contents.items():
        data[key] = base64.b64encode(content).decode()
    return manifest("Secret", name=object_name(spec.name), data=data)


def _key(number: int, name: str) -> str:
    """The key, in its Secret, of a file in the folder of this number."""
    return f"folder-{number}.{name}"


def _resources(spec: ContainerSpec) -> dict[str, Any]:
    """The requests and limits of a container."""
    # Containers beside nodes have no limit, and ask only for a share of a busy machine.
    requests: dict[str, str] = {}
    if spec.role in SHARES:
        requests["cpu"] = SHARES[spec.role]
    limits: dict[str, str] = {}
    if spec.cpus:
        limits["cpu"] = f"{round(spec.cpus * 1000)}m"
    if spec.memory_bytes:
        limits["memory"] = str(spec.memory_bytes)
    # A limit that is not requested as well is not set aside: another pod could use it.
    requests |= limits
    resources: dict[str, Any] = {}
    if requests:
        resources["requests"] = requests
    if limits:
        resources["limits"] = limits
    return resources


def _volumes(
    spec: ContainerSpec, claims: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Volumes of the pod, and where they are in `main`."""
    volumes: list[dict[str, Any]] = []
    mounts: list[dict[str, Any]] = []

    def add(name: str, volume: Mapping[str, Any], mount: dict[str, Any]) -> None:
        volumes.append({"name": name, **volume})
        mounts.append({"name": name, **mount})

    for number, bind in enumerate(spec.mounts):
        mount = _mount(bind.target, bind.read_only)
        add(f"volume-{number}", _volume(bind, claims), mount)
    for number, (folder, files) in enumerate(spec.folders.items()):
        volume = _folder(spec, number, files)
        add(f"folder-{number}", volume, _mount(folder, read_only=bool(files)))
    if spec.shared_memory_bytes:
        memory = {"medium": "Memory", "sizeLimit": str(spec.shared_memory_bytes)}
        # A container has 64 MiB of /dev/shm, and no field of a pod says more.
        add("shared-memory", {"emptyDir": memory}, _mount("/dev/shm", read_only=False))
    if spec.host_devices:
        devices = {"path": "/dev", "type": "Directory"}
        add("devices", {"hostPath": devices}, _mount("/dev", read_only=False))
    return volumes, mounts


def _folder(
    spec: ContainerSpec, number: int, files: Mapping[str, bytes]
) -> dict[str, Any]:
    """A folder of its own: with the files of its Secret, or empty."""
    if not files:
        return {"emptyDir": {}}
    items = [{"key": _key(number, file), "path": file} for file in files]
    return {"secret": {"secretName": object_name(spec.name), "items": items}}


def _volume(mount: Mount, claims: Mapping[str, str]) -> dict[str, Any]:
    if mount.source.startswith("/"):
        return {"hostPath": {"path": mount.source, "type": "DirectoryOrCreate"}}
    claim = claims.get(mount.source)
    if claim:
        return {"persistentVolumeClaim": {"claimName": claim}}
    return {"emptyDir": {}}


def _mount(path: str, read_only: bool) -> dict[str, Any]:
    """Where something is mounted in a container."""
    if read_only:
        # Mounts below it are read-only too, where the cluster can (1.31 and newer).
        return {
            "mountPath": path,
            "readOnly": True,
            "recursiveReadOnly": "IfPossible",
        }
    return {"mountPath": path}


# ------------------------------------------------------------------ what is not a pod


def service(network: str) -> dict[str, Any]:
    selector = {space.LABEL: "1", space.NETWORK: object_name(network)}
    return manifest("Service", name=SERVICE, selector=selector)


def lease(
    name: str,
    labels: Mapping[str, str],
    notes: Mapping[str, str],
    now_s: float,
    dead_s: float,
) -> dict[str, Any]:
    # A Lease has the time with microseconds and Z (MicroTime of Kubernetes).
    renewed = datetime.fromtimestamp(now_s, UTC).isoformat(timespec="microseconds")
    return manifest(
        "Lease",
        name=name,
        labels=labels,
        notes=notes,
        campaign=labels[space.CAMPAIGN],
        dead_s=round(dead_s),
        renewed=renewed.replace("+00:00", "Z"),
    )


def rent(name: str, labels: Mapping[str, str], rent_s: int) -> dict[str, Any]:
    image = own_images.name_in_registry(own_images.BASE)
    return manifest("Job", name=name, labels=labels, rent_s=rent_s, image=image)


def namespace(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The namespace of a campaign."""
    # Servers of emulated disks are privileged pods, which a cluster with pod security refuses.
    security = {"pod-security.kubernetes.io/enforce": "privileged"}
    return manifest("Namespace", name=name, labels={**labels, **security})


def size_bytes(text: str) -> int:
    """Reads a quantity of bytes, as in "8Gi", "500M" or "2147483648"."""
    return int(parse_quantity(text))
