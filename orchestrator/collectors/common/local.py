"""Reading nodes one by one, and the check that a process belongs to its container.

A process number does not identify a container: it is used again when the process has ended, and in
another name space it is another process. So the control group of the process must name the
container at each reading; else there is no value. Known paths: …/<id>, …/<engine>-<id>.scope
(systemd's), on version 2 with more below if the container has groups itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from orchestrator.model import Node, Sample
from orchestrator.powers import Machine

Reading = tuple[str, str, float]  # metric, unit, value


class Named(Protocol):
    """A node, or a part of one: `name` is the node's."""

    @property
    def name(self) -> str: ...


Subject = TypeVar("Subject", bound=Named)


def groups(machine: Machine, node: Node) -> dict[str, str]:
    """Controller ("" for version 2) → path of the container's group.

    OSError if the process is gone, or no group of it names the container.
    """
    if not node.container_id or node.process_id is None:
        raise OSError("no container's id or process is known")
    paths: dict[str, str] = {}
    for line in machine.read(f"/proc/{node.process_id}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        group = _named(node.container_id, path)
        if group is not None:
            paths.update(dict.fromkeys(controllers.split(","), group))
    if not paths:
        raise OSError(
            f"process {node.process_id} is in no group of container {node.container_id[:12]}"
        )
    return paths


def _named(container_id: str, path: str) -> str | None:
    """The part of `path` down to the container's group; None if no part names it."""
    parts = path.strip("/").split("/")
    if ".." in parts:  # this program is in a group of its own, from where there is no path
        return None
    for count, part in enumerate(parts, start=1):
        if container_id in part:
            return "/".join(parts[:count])
    return None


def each(
    subjects: Iterable[Subject], now_s: float, read: Callable[[Subject], Iterable[Reading]]
) -> Iterator[Sample]:
    """Samples of all subjects that can be read; then OSError with the failures of the others."""
    failures: list[str] = []
    for subject in subjects:
        try:
            for metric, unit, value in read(subject):
                yield Sample(now_s, subject.name, metric, unit, value)
        except (OSError, ValueError, LookupError) as error:
            # Messages of our own stand alone; others need the kind of error, such as KeyError.
            kind = "" if type(error) is OSError else f"{type(error).__name__}: "
            failures.append(f"{subject.name}: {kind}{error}")
    if failures:
        raise OSError("; ".join(failures))
