"""Images of the cluster's machines. A cluster builds none: ours come from a registry.

TIERBENCH_REGISTRY is the prefix under which our own images were pushed; with it, they are taken to
be there, and an image that cannot be pulled is an error of the first pod.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from orchestrator.errors import UnavailableError
from orchestrator.platforms import own_images
from orchestrator.platforms.kubernetes.connection import Thing
from orchestrator.platforms.kubernetes.placing import Placement
from orchestrator.powers import Clock
from orchestrator.system.clock import wait_until

_TOLD_S = 20.0  # a kubelet tells its state anew every ten (nodeStatusUpdateFrequency)
_MOST_LISTED = 50  # a kubelet tells no more images than that (nodeStatusMaxImages)


class ClusterImages:
    """The `Images` protocol on a cluster's machines."""

    def __init__(self, placement: Placement, clock: Clock) -> None:
        self._placement, self._clock = placement, clock

    def present(self, tag: str) -> bool:
        """On all machines; of one that does not tell all its images it is not known, and the first
        pod will tell. Machines tell of a new image late, so a missing one is waited for."""
        return _in_registry(tag) or wait_until(
            lambda: self._is_told(tag), deadline_s=_TOLD_S, clock=self._clock, every_s=1.0
        )

    def _is_told(self, tag: str) -> bool:
        nodes = self._placement.find_machines()
        return bool(nodes) and all(
            _named(node, tag) or len(_images(node)) >= _MOST_LISTED for node in nodes
        )

    def id(self, tag: str) -> str | None:
        if not self.present(tag):
            return None
        found = [name for node in self._placement.find_machines() for name in _named(node, tag)]
        return next(
            (name for name in found if "@sha256:" in name), own_images.name_in_registry(tag)
        )

    def ways_to_get(self, tag: str) -> str:
        return (
            f"push it to a registry that the cluster can reach (`docker tag {tag} REGISTRY/{tag}`, "
            f"`docker push REGISTRY/{tag}`) and set {own_images.REGISTRY_VARIABLE}=REGISTRY, "
            "or import it on each machine (`ctr -n k8s.io images import`)"
        )

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> NoReturn:
        raise UnavailableError(
            f"a Kubernetes cluster builds no images: {tag} must come from a registry",
            advice=f"build it where there is an engine (`docker build -t {tag} {folder}`); then "
            + self.ways_to_get(tag),
        )

    def pull(self, tag: str) -> bool:
        """Machines pull images when a pod needs them."""
        return self.present(tag)


def _in_registry(tag: str) -> bool:
    return own_images.name_in_registry(tag) != tag


def _images(node: Thing) -> list[Thing]:
    return list(node.get("status", {}).get("images") or [])


def _named(node: Thing, tag: str) -> list[str]:
    """All names, on a machine, of the image that has this one."""
    for image in _images(node):
        names = [str(name) for name in image.get("names") or []]
        if full_name(tag) in map(full_name, names):
            return names
    return []


def full_name(tag: str) -> str:
    """Returns an image's name with registry and tag, as machines tell it: "debian" is
    "docker.io/library/debian:latest"."""
    first, _, rest = tag.partition("/")
    if not rest:
        tag = f"docker.io/library/{tag}"
    elif "." not in first and ":" not in first and first != "localhost":
        tag = f"docker.io/{tag}"
    last = tag.rpartition("/")[2]
    return tag if ":" in last or "@" in last else f"{tag}:latest"
