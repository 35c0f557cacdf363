"""Starts containers as pods, removes them, and finds their images on the cluster's machines.

A cluster builds no images: ours come from a registry. Where one is named (own_images.py), they are
taken to be there, and an image that cannot be pulled is an error of the first pod."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import PurePosixPath
from typing import NoReturn

from orchestrator.errors import NodeError, UnavailableError
from orchestrator.extensions.kubernetes import manifests, placing, space, trouble
from orchestrator.extensions.kubernetes.connection import Thing, cluster_errors
from orchestrator.extensions.kubernetes.pod import Pod
from orchestrator.extensions.kubernetes.space import Space, annotation_of, name_of
from orchestrator.platforms import own_images
from orchestrator.platforms.common import architectures, commands, lifecycle
from orchestrator.powers import (
    NETWORK_OF,
    Clock,
    Completed,
    ContainerEntry,
    ContainerSpec,
    Machine,
)
from orchestrator.system.clock import wait_until
from orchestrator.system.redaction import remember_environment
from orchestrator.system.shell import script

GROWN_S = 900.0  # the time that a pod waits until the cluster has grown
_UNMOUNTED_S = 60.0
_MOST_LISTED = 50  # a kubelet tells no more images than that (nodeStatusMaxImages)


@dataclass
class Pods:
    """The containers of a campaign. `claims`: of the volumes that mounts may name."""

    start_s = 180.0  # a pod waits this long for a machine, a volume or an image
    look_every_s = 1.0

    space: Space
    placement: placing.Placement
    claims: Mapping[str, str]
    machine_named: Callable[[str], Machine | None]
    _by_name: dict[str, Pod] = field(default_factory=dict)

    def pod(self, name: str) -> Pod:
        """The only one of this name: what is known of it is kept there."""
        return self._by_name.setdefault(name, Pod(name, self.space, self.machine_named))

    def forget(self, name: str) -> None:
        self.pod(name).forget()
        self._by_name.pop(name, None)

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[Pod]:
        pod = self.pod(spec.name)
        with lifecycle.taken_down(lambda: self._remove(spec.name, spec.stop_timeout_s)):
            pod.describe(spec, self.start(spec))
            yield pod

    def _remove(self, name: str, timeout_s: float) -> None:
        try:
            self.pod(name).remove(timeout_s)
        finally:
            self._by_name.pop(name, None)

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        clock = self.space.clock
        pod = self.pod(spec.name)
        started_s = clock.monotonic()
        # No pod can join another's network: the program becomes a guest of that pod.
        if (spec.network or "").startswith(NETWORK_OF):
            guest = self.pod(str(spec.network).removeprefix(NETWORK_OF)).add(spec)
            return commands.to_its_end(guest, spec.command, started_s, timeout_s, clock)
        with lifecycle.taken_down(lambda: self._remove(spec.name, 1)):
            self.start(spec)
            return commands.to_its_end(pod, spec.command, started_s, timeout_s, clock)

    def start(self, spec: ContainerSpec) -> Thing:
        """Makes the pod, after removing a leftover of its name; returns it when `main` has begun.
        UnavailableError, in the cluster's own words, if it cannot begin."""
        self.pod(spec.name).clear(grace_s=1)
        with self.placement.choosing(spec.placement) as rules:
            manifest = manifests.pod(spec, self.claims, self.placement.placing, rules)
            with cluster_errors(f"starting {spec.name}"):
                remember_environment(spec.environment)
                secret = manifests.secret(spec)
                if secret:
                    self.space.make("secret", secret)
                self.space.make("container", manifest)
            # The next placement must keep away from this
            # machine, so the scheduler's choice is waited for.
            if spec.placement:
                placed = self._awaited(
                    spec, lambda thing: bool(thing["spec"].get("nodeName"))
                )
                machine = str(placed["spec"]["nodeName"])
                self.placement.machine_names.setdefault(spec.placement, machine)
        begun = {"running", "terminated"}
        return self._awaited(
            spec, lambda thing: not begun.isdisjoint(trouble.main_state(thing))
        )

    def _awaited(self, spec: ContainerSpec, done: Callable[[Thing], bool]) -> Thing:
        """Returns the pod when it is `done`. UnavailableError when that is hopeless."""
        path = self.pod(spec.name).path
        now = self.space.clock.monotonic()
        next_look = now + self.look_every_s
        patience = trouble.Patience(now)
        while True:
            with cluster_errors(f"starting {spec.name}"):
                pod = self.space.api.get(path)
            if done(pod):
                return pod
            if pod.get("status", {}).get("phase") == "Failed":
                state = trouble.state_of(pod)
                raise NodeError(f"{spec.name} was not started: {state.words}")
            now = self.space.clock.monotonic()
            if now >= next_look:
                self._raise_if_hopeless(spec, pod, patience)
                next_look = now + self.look_every_s
            self.space.clock.sleep(0.1)

    def _raise_if_hopeless(
        self, spec: ContainerSpec, pod: Thing, patience: trouble.Patience
    ) -> None:
        events = list(self.space.events(name_of(pod)))
        for claim in _claims_of(pod):
            events += self.space.events(claim)
        problem = trouble.of_pod(pod, events)
        limit_s = self.start_s
        if trouble.grows(events):
            # An autoscaler that has begun to add a machine takes minutes.
            limit_s = GROWN_S
        if not patience.ends(self.space.clock.monotonic(), problem, limit_s):
            return
        problem = problem or trouble.Trouble(
            trouble.state_of(pod).words, "look at the machine's kubelet"
        )
        lines = [f"{event.get('reason')}: {event.get('message')}" for event in events]
        raise UnavailableError(
            f"{spec.name} does not start: {problem.text}",
            problem.advice,
            evidence="\n".join(lines),
        )

    def find(self, role: str = "") -> tuple[ContainerEntry, ...]:
        selector = space.MARK
        if role:
            selector = f"{space.MARK},{space.ROLE}={role}"
        entries: list[ContainerEntry] = []
        for pod in self.space.listed("container", selector):
            state = trouble.state_of(pod)
            entries.append(ContainerEntry(space.name_here(pod), "", state))
        return tuple(sorted(entries, key=attrgetter("name")))

    def await_unmounted(self, device: str, placement: str) -> None:
        """Waits in a disk's server on the machine of a placement, if one runs there: the kubelet
        unmounts after the last pod is gone, and the disk's server must outlast that."""
        if placement:
            place = f",{space.PLACEMENT}={placement}"
        else:
            place = f",!{space.KIND}"
        servers = self.space.listed(
            "container", f"{space.MARK},{space.ROLE}=disk{place}"
        )
        for pod in servers[:1]:
            if trouble.state_of(pod).is_running:
                name = PurePosixPath(device).name
                looks = f"{_UNMOUNTED_S * 10:g}"
                waiting = script(__package__, "unmounted", name, looks)
                self.pod(annotation_of(pod, space.NAME)).pipe("waiting", waiting)


def _claims_of(pod: Thing) -> Iterator[str]:
    """The claims of the volumes that a pod uses."""
    for volume in pod["spec"].get("volumes") or []:
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"]


class ClusterImages:
    """The `Images` protocol on a cluster's machines."""

    # A kubelet tells its state anew every ten seconds (nodeStatusUpdateFrequency).
    told_s = 20.0

    def __init__(self, placement: placing.Placement, clock: Clock) -> None:
        self._placement = placement
        self._clock = clock

    def present(self, tag: str) -> bool:
        """Whether all machines have the image."""
        # Machines pull from a registry by themselves: the first pod will tell.
        if own_images.name_in_registry(tag) != tag:
            return True

        def may_be_everywhere() -> bool:
            nodes = self._placement.find_machines()
            return bool(nodes) and all(_may_have(node, tag) for node in nodes)

        # Machines tell of an image that was just imported late.
        return wait_until(
            may_be_everywhere, deadline_s=self.told_s, clock=self._clock, every_s=1.0
        )

    def id(self, tag: str) -> str | None:
        if not self.present(tag):
            return None
        for node in self._placement.find_machines():
            for name in _named(node, tag):
                if "@sha256:" in name:
                    return name
        return own_images.name_in_registry(tag)

    @property
    def architecture(self) -> str:
        """The architecture of the machines, as their kubelets tell it."""
        different: set[str] = set()
        for node in self._placement.find_machines():
            info = node["status"].get("nodeInfo") or {}
            different.add(architectures.named(info.get("architecture")))
        return architectures.common(different)

    def mismatch(self, tag: str) -> str:
        """No kubelet tells for which architecture an image is."""
        return ""

    def ways_to_get(self, tag: str) -> str:
        return (
            f"push it to a registry that the cluster can reach: `docker tag {tag} "
            f"REGISTRY/{tag}`, `docker push REGISTRY/{tag}`. Then set "
            f"{own_images.REGISTRY_VARIABLE}=REGISTRY. Or import it on each machine (`ctr "
            "-n k8s.io images import`)"
        )

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> NoReturn:
        ways = self.ways_to_get(tag)
        raise UnavailableError(
            f"a Kubernetes cluster builds no images: {tag} must come from a registry",
            advice=f"build it where there is an engine (`docker build -t {tag} {folder}`); "
            f"then {ways}",
        )

    pull = present  # machines pull images when a pod needs them


def _images(node: Thing) -> list[Thing]:
    return list(node.get("status", {}).get("images") or [])


def _named(node: Thing, tag: str) -> list[str]:
    """All names, on a machine, of the image that has this one."""
    wanted = full_name(tag)
    for image in _images(node):
        names = [str(name) for name in image.get("names") or []]
        if any(full_name(name) == wanted for name in names):
            return names
    return []


def _may_have(node: Thing, tag: str) -> bool:
    """Whether a machine has an image, as far as it tells."""
    # It lists so many at most: one with a full list may have any.
    return bool(_named(node, tag)) or len(_images(node)) >= _MOST_LISTED


def full_name(tag: str) -> str:
    """Returns a name as machines tell it: "debian" is "docker.io/library/debian:latest"."""
    first, _, rest = tag.partition("/")
    if not rest:
        tag = f"docker.io/library/{tag}"
    elif "." not in first and ":" not in first and first != "localhost":
        tag = f"docker.io/{tag}"
    last = tag.rpartition("/")[2]
    if ":" in last or "@" in last:
        return tag
    return f"{tag}:latest"
