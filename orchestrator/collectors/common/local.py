"""Reading nodes one by one, each on its own machine, and the check that it is the node's.

Every machine has processes of the same numbers and devices of the same names. And a process number
does not identify a container: it is used again when the process has ended, and in another name
space it is another process. So the control group of the process must name the container at each
reading; else there is no value. Known paths: …/<id>, …/<engine>-<id>.scope (systemd's), on version
2 with more below if the container has groups itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from orchestrator.model import Node, Sample
from orchestrator.platforms.common.machines import ReadAtOnce
from orchestrator.powers import Machine, Platform

Reading = tuple[str, str, float]  # metric, unit, value
Where = Callable[[Node], Machine]  # OSError if the node's machine is not known


class Named(Protocol):
    """A node, or a part of one: `name` is the node's."""

    @property
    def name(self) -> str: ...


Subject = TypeVar("Subject", bound=Named)


def on(platform: Platform) -> Where:
    """Finds the machine of a node among those of the platform."""

    def machine_of(node: Node) -> Machine:
        for machine in platform.machines():
            if machine.name == node.machine:
                return machine
        raise OSError(f"no machine {node.machine!r} is known")

    return machine_of


def in_containers(nodes: Iterable[Node]) -> list[Node]:
    """Those whose process runs in a container, wherever that is."""
    return [node for node in nodes if node.container_id or node.process_id is not None]


def groups(machine: Machine, node: Node) -> Mapping[str, str]:
    """Controller ("" for version 2) → path of the container's group.

    OSError if the process is gone, or no group of it names the container. A process that is not
    known, or whose groups are seen from the inside of another ("/.."), is looked for by a machine
    that can.
    """
    if not node.container_id:
        raise OSError("no container's id is known")
    process = process_of(machine, node)
    paths: dict[str, str] = {}
    inside = False
    for line in machine.read(f"/proc/{process}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        inside = inside or (".." in path.split("/") and node.container_id in path)
        group = _named(node.container_id, path)
        if group is not None:
            paths.update(dict.fromkeys(controllers.split(","), group))
    if inside and isinstance(machine, ReadAtOnce):
        return machine.locate(node.container_id).groups
    if not paths:
        raise OSError(f"process {process} is in no group of container {node.container_id[:12]}")
    return paths


def process_of(machine: Machine, node: Node) -> int:
    """The number of the container's first process on its machine. OSError if it is not known."""
    if node.process_id is not None:
        return node.process_id
    found = None
    if node.container_id and isinstance(machine, ReadAtOnce):
        found = machine.locate(node.container_id).process_id
    if found is None:
        raise OSError("no process of its container is known")
    return found


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
    subjects: Iterable[Subject],
    read: Callable[[Subject], Iterable[Reading]],
    read_at: Callable[[Subject], float],
) -> Iterator[Sample]:
    """Samples of all subjects that can be read; then OSError with the failures of the others.
    `read_at`: when (Unix seconds) a subject's last value was read."""
    failures: list[str] = []
    for subject in subjects:
        try:
            for metric, unit, value in read(subject):
                yield Sample(read_at(subject), subject.name, metric, unit, value)
        except (OSError, ValueError, LookupError) as error:
            # Messages of our own stand alone; others need the kind of error, such as KeyError.
            kind = "" if type(error) is OSError else f"{type(error).__name__}: "
            failures.append(f"{subject.name}: {kind}{error}")
    if failures:
        raise OSError("; ".join(failures))


def each_on_its_machine(
    nodes: Iterable[Node],
    now_s: float,
    where: Where,
    read: Callable[[Machine, Node], Iterable[Reading]],
) -> Iterator[Sample]:
    """`each` of the nodes, read on their machines. What a machine has read before counts as of
    then, and not as of `now_s`."""
    machines: dict[str, Machine] = {}

    def readings(node: Node) -> Iterable[Reading]:
        machine = machines[node.name] = where(node)
        return read(machine, node)

    def read_at(node: Node) -> float:
        machine = machines[node.name]
        read_s = machine.read_at() if isinstance(machine, ReadAtOnce) else None
        return now_s if read_s is None else read_s

    return each(nodes, readings, read_at)
