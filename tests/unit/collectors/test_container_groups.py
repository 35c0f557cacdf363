"""Whose control groups are read: those that name the node's container, or none."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.kernel import containers
from orchestrator.model import Node

ID = "5f" * 32
OTHER = "a0" * 32


class Machine:
    """A machine of which one file is known, and what it finds of the container itself."""

    def __init__(self, cgroup: str, located: dict[str, Any] | None = None) -> None:
        self.cgroup = cgroup
        self.located = located
        self.asked = 0

    def read(self, path: str) -> str:
        assert path == "/proc/77/cgroup"
        return self.cgroup

    def locate(self, container_id: str) -> dict[str, Any] | None:
        assert container_id == ID
        self.asked += 1
        return self.located


def groups(machine: Any, **changes: Any) -> dict[str, str]:
    known: dict[str, Any] = {"process_id": 77, "container_id": ID}
    node = Node("node-1", "database", **{**known, **changes})
    return dict(containers.groups(machine, node))


def test_groups_are_those_that_name_the_container() -> None:
    machine = Machine(f"4:cpu,cpuacct:/docker/{ID}\n3:memory:/docker/{ID}\n0::/x\n")
    path = f"docker/{ID}"
    found = {name: group.strip("/") for name, group in groups(machine).items()}
    assert found == {"cpu": path, "cpuacct": path, "memory": path}
    assert machine.asked == 0


@pytest.mark.parametrize("path", ["/init.scope", f"/docker/{OTHER}", f"/../{OTHER}"])
def test_a_process_of_another_group_is_refused(path: str) -> None:
    """Whatever the machine would find: the number is another's by now."""
    machine = Machine(f"0::{path}\n", {"groups": {"": "x"}, "process_id": 77})
    with pytest.raises(OSError, match="process 77 is in no group of container 5f5f5f"):
        groups(machine)
    assert machine.asked == 0


def test_from_within_a_group_the_machine_looks_by_the_id() -> None:
    """An agent in a group of its own has no path to that of the container."""
    located = {"groups": {"": f"docker/{ID}"}, "process_id": 77}
    machine = Machine(f"0::/../{ID}\n", located)
    assert groups(machine) == {"": f"docker/{ID}"}
    assert machine.asked == 1


def test_without_an_id_or_a_process_nothing_is_read() -> None:
    with pytest.raises(OSError, match="no container's id is known"):
        groups(Machine(""), container_id=None)
    with pytest.raises(OSError, match="no process of its container is known"):
        groups(Machine(""), process_id=None)
    located = {"groups": {}, "process_id": 77}
    by_id = Machine(f"0::/docker/{ID}\n", located)
    assert list(groups(by_id, process_id=None)) == [""]
