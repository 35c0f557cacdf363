"""Containers of our image `disk`, in which files are made, and served as block devices.

One container serves one file as one loop device: `serve` with the tier's limits through our FUSE
server, `raw` without any. The database gets the device as an ordinary volume, so the host
mounts nothing itself. docs/research/DISKS.md says what happens inside."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.counter_sources import DISK_ACCOUNT
from orchestrator.design.node_disks import DISK_SERVER
from orchestrator.errors import (
    GateError,
    RunError,
    UnavailableError,
)
from orchestrator.model import Node, Volume
from orchestrator.parts import Disks
from orchestrator.platforms import own_images
from orchestrator.platforms.common.lifecycle import taken_down
from orchestrator.platforms.common.machine_facts import kernels
from orchestrator.platforms.common.node_records import as_node
from orchestrator.powers import Clock, Container, ContainerSpec, Machine, Mount, World
from orchestrator.system import at_once, files, marked_folders
from orchestrator.system.clock import wait_until
from orchestrator.tier import LatencyModel, Quantiles
from orchestrator.tiers.common.emulated import disk_files
from orchestrator.tiers.common.emulated.disk_files import INSIDE, DiskFile
from orchestrator.tiers.common.emulated.running_disks import (
    ServerSettings,
    plain,
    read_back,
)

STANDING_ROLE = "standing-disk"  # apart from the disks of a run
_SERVE = "serve"  # by the tier's limits
_TABLES = "/latencies"  # the folder in its container from which latencies are drawn
_READY_S = 30.0  # a second of it measures the overhead
_COPY_S = 3600.0
_IMAGE_IS_THERE = "device: the image is there"  # the line that the container logs
# The same as in tierdisk/turn.c: beyond it no processor sleeps deeper.
_DEEPEST_SLEEP_US = 2000.0
# A disk has its own processor: where cores are short, the one that plays the disk goes first
# (1,024 is what every other container has).
_CPU_SHARES = 16_384


def need_kernel(
    devices: Sequence[tuple[str, str]], machines: Sequence[Machine]
) -> None:
    """UnavailableError if a machine lacks one of `devices`, given with their kernel modules."""

    def look(machine: Machine) -> None:
        # Devices are looked at one after the other: the machine's agent may just be starting.
        for device, module in devices:
            _require_device(device, module, machine)

    at_once.each(look, machines)


def _require_device(device: str, module: str, machine: Machine) -> None:
    try:
        is_there = machine.exists(device)
    except OSError as error:
        raise UnavailableError(
            f"this tier needs {device}, which cannot be looked for on {machine.name}: {error}",
            advice="start this program on the machine that runs the containers, "
            "or use a profile with `enforcement: none`",
        ) from error
    if not is_there:
        raise UnavailableError(
            f"this tier needs {device}, which the kernel of {machine.name} does not offer",
            advice=f"`modprobe {module}` there, or use a profile with `enforcement: none`",
        )


def create(file: Path, size_bytes: int, world: World) -> None:
    """Makes a file on this computer with an empty file system. RunError if it cannot be made."""
    files.make_folder(file.parent)
    argv = (
        "device",
        "create",
        "--image",
        f"{INSIDE}/{file.name}",
        "--bytes",
        str(size_bytes),
    )
    spec = own_images.container(
        "disk",
        f"{world.scope}-create-{file.stem}",
        argv,
        world,
        role="disk-files",
        # The folder is the user's, and root in a container is not let into it without this right.
        capabilities=("DAC_OVERRIDE",),
        mounts=(_parent(file),),
    )
    done = world.platform.once(spec, 60)
    if done.exit_code != 0:
        raise RunError(f"no file system could be made in {file}: {done.out.strip()}")


def _parent(file: Path) -> Mount:
    """The mount of the file's folder, without other disks that are mounted in the same folder."""
    return Mount(str(file.parent.resolve()), str(INSIDE), alone=True)


@contextmanager
def devices(
    verb: str,
    files: Sequence[DiskFile],
    settings: ServerSettings,
    world: World,
    latency: LatencyModel | None = None,
) -> Iterator[Disks]:
    """Serves each file as a device with a volume on it; facts are what the last server reported,
    and `overhead_us` of each: what the way to it costs at its latency, taken off there. `latency`:
    what its latencies are drawn from instead of being constant."""
    # Each measures its overhead when it begins: two on one kernel would disturb each other.
    in_turn = kernels(world.platform.machines_of_nodes()) < len(files)
    brackets = [_served(verb, file, settings, latency, world) for file in files]
    with at_once.entered(brackets, in_turn) as served:
        overheads: dict[str, dict[str, float]] = {}
        for volume, facts in served:
            if volume.server is not None:
                enforced = facts.get("limits") or {}
                overheads[volume.server.name] = overhead_us(enforced)
        volumes = tuple(volume for volume, _ in served)
        _, last_facts = served[-1]
        yield Disks(volumes, {**last_facts, "overhead_us": overheads})


@contextmanager
def _served(
    verb: str,
    file: DiskFile,
    settings: ServerSettings,
    latency: LatencyModel | None,
    world: World,
) -> Iterator[tuple[Volume, dict[str, Any]]]:
    """The volume on the device that a container serves `file` as, and what that reported."""
    disk = file.path.stem
    name = f"{world.scope}-disk-{disk}"
    plain_spec = _spec_of(verb, name, file, world)
    settings, spec = _limited(plain_spec, disk, settings, latency, world)
    with world.platform.running(spec) as container:
        # Waited for apart: copying may take an hour, being ready after it only seconds.
        if file.copy_of is not None:
            late = f"the data set could not be copied for {name} within {_COPY_S:g} s"
            _await(_IMAGE_IS_THERE, container, _COPY_S, late, world.clock)
        name_of_server = f"{DISK_SERVER}{disk}"
        server, facts = _ready(container, name_of_server, settings, latency, world)
        account = disk_files.account(file, world)
        if verb == _SERVE and account is not None:
            server = replace(server, sources={DISK_ACCOUNT: str(account)})
        volume = Volume(
            f"{world.scope}-{disk}",
            str(facts["device"]),
            restored=file.size_bytes is None,
            server=server,
            kept=not file.temporary,
            placement=file.placement,
        )
        place = file.placement
        with world.platform.volume(volume.name, volume.device, "xfs", place):
            yield volume, facts


def _spec_of(verb: str, name: str, file: DiskFile, world: World) -> ContainerSpec:
    """The container that serves a file, without any limits."""
    inside = disk_files.served(file, world)
    command = (verb, "--image", inside, *_comes_and_goes(file, world))
    account = disk_files.account(file, world)
    if verb == _SERVE and account is not None:
        command = (*command, "--account", disk_files.inside(account, world))
    spec = _spec(name, command, disk_files.mounted(world), world)
    return replace(spec, placement=file.placement)


def _spec(
    name: str, command: tuple[str, ...], images: Mount, world: World
) -> ContainerSpec:
    return ContainerSpec(
        name=name,
        image=own_images.need(world.root, "disk", world.platform),
        command=command,
        role="disk",
        environment={"TIERBENCH_DISK": name},
        mounts=(images,),
        host_devices=True,
        cpu_shares=_CPU_SHARES,
        stop_timeout_s=20,
    )


def _comes_and_goes(file: DiskFile, world: World) -> Iterator[str]:
    """Options of how the file comes to be, and whether it goes."""
    # A file in memory is the container's and goes with it: it has no folder to be marked.
    if not file.in_memory:
        yield from ("--owner", marked_folders.owner(world))
    if file.copy_of is not None:
        yield from ("--copy-of", disk_files.inside(file.copy_of, world))
    if file.size_bytes is not None:
        yield from ("--bytes", str(file.size_bytes))
    if file.shares_with:
        yield from ("--shared", disk_files.shared(file.shares_with, world))
    if file.temporary and not file.in_memory:
        yield from ("--temporary", "1")


def _limited(
    spec: ContainerSpec,
    disk: str,
    settings: ServerSettings,
    latency: LatencyModel | None,
    world: World,
) -> tuple[ServerSettings, ContainerSpec]:
    """The container with its settings, and all that it must then say it enforces."""
    if latency is not None:
        settings = {**settings, "latency_seed": seed_of(disk, world)}
    options: list[str] = []
    for name, value in settings.items():
        options += [f"--{name.replace('_', '-')}", plain(value)]
    folders: dict[str, dict[str, bytes]] = {}
    if latency is not None:
        tables = {"read": table_text(latency.read), "write": table_text(latency.write)}
        folders = {_TABLES: tables}
        for way in tables:
            options += [f"--{way}-quantiles", f"{_TABLES}/{way}"]
    limited = replace(spec, command=(*spec.command, *options), folders=folders)
    return settings, limited


def seed_of(disk: str, world: World) -> int:
    """The seed of what a disk draws: another for each disk, the same in the same repetition."""
    name = f"{world.seed}/{disk}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])


def table_text(table: Quantiles) -> bytes:
    """A table of quantiles as the server reads it: lines "probability latency_us"."""
    lines: list[str] = []
    for probability, latency_s in table:
        lines.append(f"{probability!r} {latency_s * 1e6:.3f}\n")
    return "".join(lines).encode()


def _await(
    begin: str, container: Container, deadline_s: float, late: str, clock: Clock
) -> str:
    """The first line of its log that begins so. RunError if it ends before, or with `late`."""
    line = ""

    def is_there() -> bool:
        nonlocal line
        # The log before the state: a container that ends in between has still said why.
        line = _first_line(container.logs(), begin)
        if not line and not container.state().is_running:
            last = container.logs(tail=20)
            raise RunError(
                f"the disk {container.name} could not start",
                advice="`tierbench doctor` says what the kernel lacks",
                evidence=last,
            )
        return bool(line)

    if not wait_until(is_there, deadline_s=deadline_s, clock=clock, every_s=0.05):
        raise RunError(late)
    return line


def _first_line(text: str, begin: str) -> str:
    """The first that begins so; "" if none does."""
    for line in text.splitlines():
        if line.startswith(begin):
            return line
    return ""


def _ready(
    container: Container,
    node: str,
    settings: ServerSettings,
    latency: LatencyModel | None,
    world: World,
) -> tuple[Node, dict[str, Any]]:
    """Waits for the device; returns the server as a node, and what it reported."""
    late = f"the disk {container.name} was not ready within {_READY_S:g} s"
    ready: dict[str, Any] = json.loads(
        _await("{", container, _READY_S, late, world.clock)
    )
    # A limit that did not arrive would leave the disk faster than its tier.
    read_back(container.name, settings, ready.get("limits") or {})
    if latency:
        # The tables travel as files: one that was cut would draw other latencies.
        points = [len(latency.read), len(latency.write)]
    else:
        points = [0, 0]
    reported = ready.get("latency_table_points") or [0, 0]
    if [int(count or 0) for count in reported] != points:
        raise GateError(
            f"the emulated disk draws latencies from tables of {reported} "
            f"points, expected {points}",
        )
    return as_node(container, node, "disk"), ready


def overhead_us(limits: Mapping[str, Any]) -> dict[str, float]:
    """What FUSE and the loop device add to a "read" and a "write" at the latency that is enforced,
    as the server reckons it; empty if it was not measured."""
    added_us: dict[str, float] = {}
    for way in ("read", "write"):
        if f"{way}_overhead_us" in limits:
            latency_us = float(limits.get(f"{way}_latency_us", 0.0))
            slope = float(limits.get(f"{way}_overhead_slope", 0.0))
            at_once_us = float(limits[f"{way}_overhead_us"])
            # An idle processor wakes slower after a longer
            # sleep, so the overhead grows with the latency.
            slept_us = min(latency_us, _DEEPEST_SLEEP_US)
            added_us[way] = round(at_once_us + slope * slept_us, 1)
    return added_us


def stand(
    name: str,
    file: Path,
    settings: ServerSettings,
    latency: LatencyModel | None,
    note: str,
    world: World,
) -> tuple[Node, dict[str, Any]]:
    """Serves `file` of this computer by a container that outlasts this program.

    Returns the same as a disk of a run has. Nothing stays of one that does not come up.
    """
    command = (_SERVE, "--image", f"{INSIDE}/{file.name}")
    spec = replace(
        _spec(name, command, _parent(file), world), role=STANDING_ROLE, note=note
    )
    settings, spec = _limited(spec, file.stem, settings, latency, world)
    container = world.platform.stand(spec)
    with taken_down(lambda: container.remove(spec.stop_timeout_s), stays=True):
        return _ready(container, name, settings, latency, world)
