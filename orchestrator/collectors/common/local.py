"""What collectors of a machine share: proof of whose process it is, and one node at a time.

A number in /proc is not a container: it is used again when a process has ended, and in another
name space of process numbers it is some other process. So the control group of the process must
name the container, each time; else there is no value. Paths seen: …/<id>, …/<engine>-<id>.scope
(systemd's), on version 2 with more below where the container has groups itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from orchestrator.model import Node, Sample
from orchestrator.powers import Machine

Reading = tuple[str, str, float]  # metric, unit, value


def groups(machine: Machine, node: Node) -> dict[str, str]:
    """Controller → path of the container's group, "" for version 2.

    OSError where the process is gone, or is not the container's as far as can be seen.
    """
    if not node.container_id or node.process_id is None:
        raise OSError("no container's id or process is known")
    found: dict[str, str] = {}
    for line in machine.read(f"/proc/{node.process_id}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        group = _named(node.container_id, path)
        if group is not None:
            found.update(dict.fromkeys(controllers.split(","), group))
    if not found:
        raise OSError(
            f"process {node.process_id} is in no group of container {node.container_id[:12]}"
        )
    return found


def _named(container_id: str, path: str) -> str | None:
    """`path` down to the part that names the container: all of it, also what lies below."""
    parts = path.strip("/").split("/")
    if ".." in parts:  # seen from inside another group: not to be found from here
        return None
    for count, part in enumerate(parts, start=1):
        if container_id in part:
            return "/".join(parts[:count])
    return None


def each(
    nodes: Sequence[Node], now_s: float, read: Callable[[Node], Iterable[Reading]]
) -> Iterator[Sample]:
    """Samples of all nodes that can be read; then OSError with what the others failed for."""
    failures: list[str] = []
    for node in nodes:
        try:
            for metric, unit, value in read(node):
                yield Sample(now_s, node.name, metric, unit, value)
        except (OSError, ValueError, LookupError) as error:
            failures.append(f"{node.name}: {_said(error)}")
    if failures:
        raise OSError("; ".join(failures))


def _said(error: Exception) -> str:
    """Our own words as they are; else with the kind of error, as a bare key says little."""
    return str(error) if type(error) is OSError else f"{type(error).__name__}: {error}"
