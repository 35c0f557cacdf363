"""Emulated disks that are running: which there are, and what is asked of them and set.

Each is a container of our image `disk`, which `device` in it talks to. `disk_server` starts them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import GateError, RunError, TierbenchError, UsageError
from orchestrator.powers import World
from orchestrator.tier.slow_disk import disk_of_node

# What a disk's server is to enforce: a name that it has for it (`server_limits`) → the value.
ServerSettings = Mapping[str, int | float]

_ASK_S = 20.0
_BAD_ARGUMENTS = 64  # an exit code of `device`
_NODE_DISK = re.compile(r"-disk-node-(\d+)(-wal)?$")


@dataclass(frozen=True)
class RunningDisk:
    """A disk of the run that is going on.

    `number`: of its node; `of_log`: it holds only the node's WAL.
    """

    container: str
    number: int
    of_log: bool

    @property
    def name(self) -> str:
        """The name by which a person means it."""
        return disk_of_node(f"node-{self.number}", of_log=self.of_log)


def find(world: World) -> tuple[RunningDisk, ...]:
    """The nodes' disks of the run that is going on, those of data first, each in the nodes'
    order."""
    disks: list[RunningDisk] = []
    for server in world.platform.find_containers("disk"):
        node = _NODE_DISK.search(server.name)
        if server.state.is_running and node:
            of_log = node[2] is not None
            disks.append(RunningDisk(server.name, int(node[1]), of_log))
    return tuple(sorted(disks, key=_place))


def _place(disk: RunningDisk) -> tuple[bool, int]:
    # By number: sorted by name, node-10 would be the second.
    return disk.of_log, disk.number


def ask(container: str, question: Sequence[str], world: World) -> dict[str, Any]:
    """Returns the answer of a running device to `device limits|stats|set …`. With the device's own
    message: UsageError if it refuses the numbers, RunError for all else."""
    reply = world.platform.container(container).exec(
        ("device", *question), timeout_s=_ASK_S
    )
    try:
        answer = json.loads(reply.out)
    # No answer, or half of one, becomes an error below, with what the device said.
    except json.JSONDecodeError:
        answer = None
    if reply.exit_code != 0 or not isinstance(answer, dict) or "error" in answer:
        why = _message(reply.err) or _message(reply.out) or f"exit {reply.exit_code}"
        # Numbers that the device refuses are the user's mistake; all else is a fault of the run.
        kind: type[TierbenchError] = RunError
        if reply.exit_code == _BAD_ARGUMENTS:
            kind = UsageError
        raise kind(f"the disk {container} refused `{' '.join(question)}`: {why}")
    return answer


def change(container: str, settings: ServerSettings, world: World) -> None:
    """Changes what a running device enforces. Raises as `ask`."""
    question = ["set"]
    for name, value in settings.items():
        question.append(f"{name}={plain(value)}")
    ask(container, question, world)


def read_back(
    container: str, settings: ServerSettings, running: Mapping[str, Any]
) -> None:
    """GateError unless the running server says that it enforces these settings."""
    for name, value in settings.items():
        if name not in running:
            raise GateError(f"the disk {container} does not say what {name} is now")
        # They are told with 15 digits.
        if abs(float(running[name]) - float(value)) > 1e-6 * abs(value):
            raise GateError(
                f"the emulated disk enforces {name}={running[name]}, expected {value}"
            )


def plain(value: int | float) -> str:
    """A number as the device reads it: exactly this one, without `.0`."""
    # With decimals cut off a limit of almost nothing would be 0, which is no limit.
    return repr(value).removesuffix(".0")


def _message(text: str) -> str:
    """The device reports errors as {"error": "…"}."""
    try:
        return str(json.loads(text)["error"])
    except (json.JSONDecodeError, KeyError, TypeError):
        return text.strip()[-300:]
