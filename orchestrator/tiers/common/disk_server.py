"""Containers of our image `disk`: files made, copied, and served as block devices.

One container serves one file as one loop device: `serve` with the tier's limits through our FUSE
server, `raw` without any. The database gets the device as an ordinary volume, so the host
mounts nothing itself. docs/TIERS.md says what happens inside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.errors import GateError, RunError, UnavailableError, UsageError
from orchestrator.model import Node, Volume
from orchestrator.parts import Disks
from orchestrator.platforms import own_images as our_images
from orchestrator.powers import ContainerSpec, Machine, Mount, World
from orchestrator.system.clock import wait_until

Limits = Mapping[str, int | float]  # by the names that the server gives them, dashes as there

_READY_S = 30.0
_COPY_S = 3600.0
_ASK_S = 20.0
_BAD_ARGUMENTS = 64  # an exit code of `device`
# A disk has its own processor: where cores are short, the one that plays the disk goes first
# (1,024 is what every other container has).
_CPU_SHARES = 16_384
_NODE_DISK = re.compile(r"-disk-node-(\d+)$")


def need_kernel(devices: Sequence[tuple[str, str]], machine: Machine) -> None:
    """UnavailableError where a device node is missing; each with the module that gives it."""
    for device, module in devices:
        try:
            there = machine.exists(device)
        except OSError as error:
            raise UnavailableError(
                f"this tier needs {device}, which cannot be looked for: {error}",
                advice="start this program on the machine that runs the containers, or use a "
                "profile with `enforcement: none`",
            ) from error
        if not there:
            raise UnavailableError(
                f"this tier needs {device}, which this kernel does not offer",
                advice=f"`modprobe {module}`, or use a profile with `enforcement: none`",
            )


def places(nodes: int, world: World) -> dict[Path, int]:
    """Folder → how often the data of one node are there: as the kept copy and as the running one.
    Files are sparse, so a disk takes what its data take."""
    return {world.cache: 2 * nodes}


@contextmanager
def copied(
    folder: Path, sizes_bytes: Sequence[int], snapshots: Sequence[Path] | None, world: World
) -> Iterator[tuple[Path, ...]]:
    """One file per node in `folder`, new or a copy of `snapshots`; removed afterwards."""
    copies = tuple(folder / f"node-{number}.img" for number in range(1, len(sizes_bytes) + 1))
    with scratch(copies):
        if snapshots is None:
            create(copies, sizes_bytes, world)
        else:
            for snapshot, copy in zip(snapshots, copies, strict=True):
                _copy(snapshot, copy, world)
        yield copies


@contextmanager
def scratch(files: Sequence[Path]) -> Iterator[None]:
    """Removes the files before (a killed run may have left them) and after."""
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
    try:
        yield
    finally:
        for file in files:
            file.unlink(missing_ok=True)


def create(files: Sequence[Path], sizes_bytes: Sequence[int], world: World) -> None:
    """An empty file system in each file. RunError where it cannot be made."""
    for file, size in zip(files, sizes_bytes, strict=True):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        command = ("create", "--image", f"/images/{file.name}", "--bytes", str(size))
        name = f"{world.scope}-create-{file.stem}"
        done = world.platform.once(_spec(name, command, file.parent, world), timeout_s=60)
        if done.exit_code != 0:
            raise RunError(f"no file system could be made in {file}: {done.out.strip()}")


def _copy(snapshot: Path, copy: Path, world: World) -> None:
    """On the host's disk when this returns: what is written back later would be part of the run."""
    for argv in (
        ("cp", "--sparse=auto", "--reflink=auto", str(snapshot), str(copy)),
        ("sync", str(copy)),
    ):
        done = world.shell.run(argv, timeout_s=_COPY_S)
        if done.exit_code != 0:
            raise RunError(f"the data set could not be copied to {copy}: {done.err.strip()}")


@contextmanager
def devices(verb: str, files: Sequence[Path], limits: Limits, world: World) -> Iterator[Disks]:
    """Each file as a device and a volume on it; facts are what the last server said."""
    with ExitStack() as up:
        made: list[Volume] = []
        said: dict[str, Any] = {}
        for file in files:
            node, said = up.enter_context(_serving(verb, file, limits, world))
            name = f"{world.scope}-{file.stem}"
            up.enter_context(world.platform.volume(name, said["device"], "xfs"))
            made.append(Volume(name, said["device"], restored=False, server=node))
        yield Disks(tuple(made), said)


def for_one_run(disks: Disks, *, restored: bool) -> Disks:
    """The same, but nobody keeps them afterwards."""
    volumes = tuple(replace(one, restored=restored, kept=False) for one in disks.volumes)
    return Disks(volumes, disks.facts)


@contextmanager
def _serving(
    verb: str, file: Path, limits: Limits, world: World
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """The container that serves `file`, and what it said when its device was ready."""
    options = [part for key, value in limits.items() for part in (f"--{key}", plain(value))]
    command = (verb, "--image", f"/images/{file.name}", *options)
    spec = _spec(f"{world.scope}-disk-{file.stem}", command, file.parent, world)
    with world.platform.running(spec) as container:
        ready = _wait_ready(container.name, world)
        read_back(limits, ready.get("limits") or {})
        yield (
            Node(
                name=f"disk-{file.stem}",
                role="disk",
                container=container.name,
                container_id=container.id,
                process_id=container.process_id,
            ),
            ready,
        )


def running_disks(world: World) -> tuple[str, ...]:
    """The containers that serve the nodes' disks of the run that is going on, in their order."""
    found = [(_NODE_DISK.search(name), name) for name in world.platform.running_as("disk")]
    return tuple(name for _, name in sorted((int(of[1]), name) for of, name in found if of))


def ask(container: str, question: Sequence[str], world: World) -> dict[str, Any]:
    """`device limits|stats|set …` of a running device, with its answer.

    In the device's own words: UsageError where it refuses the numbers, RunError for all else.
    """
    done = world.platform.exec(container, ("device", *question), timeout_s=_ASK_S)
    try:
        answer = json.loads(done.out)
    except json.JSONDecodeError:
        answer = None
    if done.exit_code != 0 or not isinstance(answer, dict) or "error" in answer:
        said = _words(done.err) or _words(done.out) or f"exit {done.exit_code}"
        refusal = UsageError if done.exit_code == _BAD_ARGUMENTS else RunError
        raise refusal(f"the disk {container} refused `{' '.join(question)}`: {said}")
    return answer


def _words(text: str) -> str:
    """The device answers errors as {"error": "…"}."""
    try:
        return str(json.loads(text)["error"])
    except (json.JSONDecodeError, KeyError, TypeError):
        return text.strip()[-300:]


def fio_container(name: str, role: str, volume: Volume, world: World) -> ContainerSpec:
    """A container with fio, our jobs and the volume, held to the volume's caps as a database is."""
    return ContainerSpec(
        name=name,
        image=our_images.need(world.root, "disk", world.platform),
        entrypoint=("sleep",),
        command=("infinity",),
        role=role,
        init=True,
        stop_timeout_s=1,
        mounts=(
            Mount(volume.name, "/tier"),
            Mount(str(world.root / "workloads" / "fio"), "/fio", read_only=True),
        ),
        io_caps=volume.caps,
    )


def _spec(name: str, command: tuple[str, ...], folder: Path, world: World) -> ContainerSpec:
    return ContainerSpec(
        name=name,
        image=our_images.need(world.root, "disk", world.platform),
        command=command,
        role="disk",
        environment={"TIERBENCH_DISK": name},
        mounts=(Mount(str(folder.resolve()), "/images"),),
        host_devices=True,
        cpu_shares=_CPU_SHARES,
        stop_timeout_s=20,
    )


def plain(value: int | float) -> str:
    """A number as the device reads it: no exponent, no trailing zeros."""
    return str(value) if isinstance(value, int) else f"{value:.6f}".rstrip("0").rstrip(".")


def _wait_ready(container: str, world: World) -> dict[str, Any]:
    said: list[dict[str, Any]] = []

    def ready() -> bool:
        for line in world.platform.logs(container).splitlines():
            if line.startswith("{"):
                said.append(json.loads(line))
                return True
        if world.platform.state(container) != "running":
            raise RunError(
                f"the disk {container} could not start",
                evidence=world.platform.logs(container, tail=20),
                advice="`tierbench doctor` says what the kernel lacks",
            )
        return False

    if not wait_until(ready, deadline_s=_READY_S, clock=world.clock, every_s=0.05):
        raise RunError(f"the disk {container} was not ready within {_READY_S:g} s")
    return said[0]


def read_back(asked: Limits, running: Mapping[str, Any]) -> None:
    """GateError where the running server enforces something else than was asked."""
    for key, value in asked.items():
        name = key.replace("-", "_")
        if name in running and abs(float(running[name]) - float(value)) > 1e-6 * abs(value):
            raise GateError(f"the emulated disk enforces {name}={running[name]}, expected {value}")
