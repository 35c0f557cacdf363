"""Containers of docker/disk/: image files made, copied, and served as block devices.

One container serves one image as one loop device: `serve` with the tier's limits through our FUSE
server, `raw` without any. The database gets the device as an ordinary Docker volume, so the host
mounts nothing itself. docs/TIERS.md says what happens inside.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from orchestrator import images as our_images
from orchestrator.clock import wait_until
from orchestrator.errors import GateError, RunError, UnavailableError, UsageError
from orchestrator.model import Node, Volume
from orchestrator.protocols import ContainerSpec, Mount, World

Limits = Mapping[str, int | float]  # by the names of docker/disk/device, dashes as there

_READY_S = 30.0
_COPY_S = 3600.0
_ASK_S = 20.0
_BAD_ARGUMENTS = 64  # an exit code of `device`
# A disk has its own processor: where cores are short, the one that plays the disk goes first
# (1,024 is what every other container has).
_CPU_SHARES = 16_384


def need_kernel(devices: Sequence[tuple[str, str]], root: Path = Path("/")) -> None:
    """UnavailableError where a device node is missing; each with the module that gives it."""
    for device, module in devices:
        if not (root / device.lstrip("/")).exists():
            raise UnavailableError(
                f"this tier needs {device}, which this kernel does not offer",
                advice=f"`modprobe {module}`, or use a profile with `enforcement: none`",
            )


@contextmanager
def copied(
    folder: Path, sizes_bytes: Sequence[int], images: Sequence[Path] | None, world: World
) -> Iterator[tuple[Path, ...]]:
    """One image file per node in `folder`, new or a copy of `images`; removed afterwards."""
    copies = tuple(folder / f"node-{number}.img" for number in range(1, len(sizes_bytes) + 1))
    with scratch(copies):
        if images is None:
            create(copies, sizes_bytes, world)
        else:
            for image, copy in zip(images, copies, strict=True):
                _copy(image, copy, world)
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


def create(images: Sequence[Path], sizes_bytes: Sequence[int], world: World) -> None:
    """An empty file system in each image. RunError where it cannot be made."""
    for image, size in zip(images, sizes_bytes, strict=True):
        image.parent.mkdir(parents=True, exist_ok=True)
        image.unlink(missing_ok=True)
        command = ("create", "--image", f"/images/{image.name}", "--bytes", str(size))
        name = f"tierbench-create-{image.stem}"
        done = world.containers.once(_spec(name, command, image.parent, world), timeout_s=60)
        if done.exit_code != 0:
            raise RunError(f"no file system could be made in {image}: {done.out.strip()}")


def _copy(image: Path, copy: Path, world: World) -> None:
    argv = ("cp", "--sparse=auto", "--reflink=auto", str(image), str(copy))
    done = world.shell.run(argv, timeout_s=_COPY_S)
    if done.exit_code != 0:
        raise RunError(f"the data set could not be copied to {copy}: {done.err.strip()}")


@contextmanager
def volumes(
    verb: str, images: Sequence[Path], limits: Limits, world: World
) -> Iterator[tuple[tuple[Volume, ...], dict[str, Any]]]:
    """Each image as a device and a Docker volume on it; and what the last server said of itself."""
    with ExitStack() as up:
        made: list[Volume] = []
        said: dict[str, Any] = {}
        for image in images:
            node, said = up.enter_context(_serving(verb, image, limits, world))
            name = f"tierbench-{image.stem}"
            up.enter_context(world.containers.volume(name, said["device"], "xfs"))
            made.append(Volume(name, said["device"], restored=False, server=node))
        yield tuple(made), said


@contextmanager
def _serving(
    verb: str, image: Path, limits: Limits, world: World
) -> Iterator[tuple[Node, dict[str, Any]]]:
    """The container that serves `image`, and what it said when its device was ready."""
    options = [part for key, value in limits.items() for part in (f"--{key}", plain(value))]
    command = (verb, "--image", f"/images/{image.name}", *options)
    spec = _spec(container_name(image.stem), command, image.parent, world)
    with world.containers.running(spec) as container:
        ready = _wait_ready(container.name, world)
        read_back(limits, ready.get("limits") or {})
        yield (
            Node(
                name=f"disk-{image.stem}",
                role="disk",
                container=container.name,
                process_id=container.process_id,
            ),
            ready,
        )


def container_name(stem: str) -> str:
    """Of the container that serves the image `<stem>.img`."""
    return f"tierbench-disk-{stem}"


def running_disks(world: World) -> tuple[str, ...]:
    """The containers that serve the nodes' disks of the run that is going on."""
    found: list[str] = []
    while True:
        name = container_name(f"node-{len(found) + 1}")
        if world.containers.state(name) != "running":
            return tuple(found)
        found.append(name)


def ask(container: str, question: Sequence[str], world: World) -> dict[str, Any]:
    """`device limits|stats|set …` of a running device, with its answer.

    In the device's own words: UsageError where it refuses the numbers, RunError for all else.
    """
    done = world.containers.exec(container, ("device", *question), timeout_s=_ASK_S)
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


def _spec(name: str, command: tuple[str, ...], folder: Path, world: World) -> ContainerSpec:
    return ContainerSpec(
        name=name,
        image=our_images.need(world.root, "disk", world.containers),
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
        for line in world.containers.logs(container).splitlines():
            if line.startswith("{"):
                said.append(json.loads(line))
                return True
        if world.containers.state(container) != "running":
            raise RunError(
                f"the disk {container} could not start",
                evidence=world.containers.logs(container, tail=20),
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
            raise GateError(f"the emulated disk enforces {name}={running[name]}, asked was {value}")
