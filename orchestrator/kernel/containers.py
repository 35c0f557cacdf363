"""The processes of a container and their control groups, and the check that they are its own.

The control group of the process must name the container at each reading; else there is no value.
Known paths: …/<id>, …/<engine>-<id>.scope (systemd's), on version 2 with more below if the
container has groups itself."""

from collections.abc import Mapping
from functools import lru_cache

from orchestrator import model, powers


def groups(machine: powers.Machine, node: model.Node) -> Mapping[str, str]:
    """Controller ("" for version 2) → path of the container's group. OSError if the process is
    gone, or is another's. One that cannot be seen from here is looked for by a machine that can."""
    if not node.container_id:
        raise OSError("no container's id is known")
    # The number alone does not tell: it is used again when the process has
    # ended, and every machine and every name space has a process of that number.
    process = process_of(machine, node)
    paths, inside = _groups_in(
        machine.read(f"/proc/{process}/cgroup"), node.container_id
    )
    # The agent is in a group of its own, from where this one has no path: it looks by the id.
    if inside:
        located = machine.locate(node.container_id)
        if located is not None:
            return dict(located["groups"])
    if not paths:
        raise OSError(
            f"process {process} is in no group of container {node.container_id[:12]}"
        )
    return paths


@lru_cache(maxsize=512)  # the same text each second
def _groups_in(text: str, container_id: str) -> tuple[Mapping[str, str], bool]:
    """The control groups of a process, and whether they are read from within another group."""
    paths: dict[str, str] = {}
    inside = False
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        inside = inside or (".." in path.split("/") and container_id in path)
        group = _named(container_id, path)
        if group is not None:
            paths.update(dict.fromkeys(controllers.split(","), group))
    return paths, inside


def process_of(machine: powers.Machine, node: model.Node) -> int:
    """The number of the container's first process on its machine. OSError if it is not known."""
    process_id = node.process_id
    if process_id is None and node.container_id:
        located = machine.locate(node.container_id)
        if located is not None:
            process_id = located["process_id"]
    if process_id is None:
        raise OSError("no process of its container is known")
    return process_id


def _named(container_id: str, path: str) -> str | None:
    """The part of `path` down to the container's group; None if no part names it."""
    parts = path.strip("/").split("/")
    # A path out of the reader's own name space begins with `/..` (cgroup_namespaces(7)).
    if ".." in parts:
        return None
    for count, part in enumerate(parts, start=1):
        if container_id in part:
            return "/".join(parts[:count])
    return None
