"""Files of disks, on the machines whose containers serve them as devices.

They lie in one folder of each machine (`Platform.folder`). A disk's own container makes, copies and
removes the file that it serves, so that this costs no other container; for that it looks at the
mark of the file's folder, which on other machines has a name of this cache. What else is asked is
asked directly if this computer is the only machine, else in containers on the node's machine."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator import errors, parts
from orchestrator.design.node_disks import WAL_DISK, node_names, of_data_or_logs
from orchestrator.parts import MarkedFolder
from orchestrator.platforms import own_images
from orchestrator.powers import Completed, ContainerSpec, Machine, Mount, World
from orchestrator.system import at_once, machine_caches, marked_folders
from orchestrator.tier import Tier
from orchestrator.tiers.common.any_disk import fio_containers, removal

INSIDE = Path("/images")  # the machine's folder, in a container
_MEMORY = Path("/tmp")  # a folder in a container that makes a block device
_DATASETS = "datasets"
_DISKS = "disks"
_ASK_S = 120.0
_REMOVE_S = 600.0
_EXIST = 'for file; do [ -f "$file" ] || exit 1; done'
_RUN = 'exec "$@"'
# All folders that may be ours; `disks` is that of earlier releases.
_RUN_ON_ALL = f"{_RUN} {INSIDE}/{_DATASETS}/* {INSIDE}/{_DISKS}*"


@dataclass(frozen=True)
class DiskFile:
    """The file of one disk, below the folder of the machine that runs `placement`. Before it is
    served it is made a copy of `copy_of`, or anew with `size_bytes` and an empty file system; with
    neither it is there. If `temporary`, it goes when its server ends, else it is kept. If
    `in_memory`, it is in the memory of its server's container, with all bytes of what it is a copy
    of. `shares_with`: its disk has limits together with others of the folder that have this name;
    "": alone."""

    path: Path
    placement: str
    temporary: bool
    in_memory: bool
    copy_of: Path | None = None
    size_bytes: int | None = None
    shares_with: str = ""


def places(tier: Tier, nodes: int, world: World) -> dict[Path, int]:
    """Folder → how often it holds the data of one node: as the kept copy and as the running one."""
    # Sparse files take the space of their data, not of the disk's size.
    return {_folder(world): 2 * nodes}


def snapshots(
    tier: Tier, sizes_bytes: Sequence[int], name: str, world: World
) -> tuple[Path, ...]:
    """The files of a data set, each on the machine of its node, in the order of the nodes; after
    them those of the nodes' WAL, if that has disks."""
    # Never sorted by name: node-10 would be the second.
    nodes = node_names(len(sizes_bytes))
    disks = list(nodes)
    if tier.wal is not None:
        # The disks of the data have other bytes if the WAL is elsewhere.
        name = f"{name}{WAL_DISK}"
        for node in nodes:
            disks.append(f"{node}{WAL_DISK}")
    if not world.is_here:
        # The one cache here has what is known of a data set. The folder's name says whose it is on
        # machines that others use too.
        machines = sorted(
            machine.name for machine in world.platform.machines_of_nodes()
        )
        name = marked_folders.unique_name(name, world, _computer(), *machines)
    folder = _folder(world) / _DATASETS / name
    return tuple(folder / f"{disk}.img" for disk in disks)


def _node_of(path: Path) -> str:
    """The node whose disk a snapshot is of."""
    return path.stem.removesuffix(WAL_DISK)


def of_run(data: parts.NodesData, world: World, logs: bool) -> tuple[DiskFile, ...]:
    """One file per node, empty or a copy of its snapshot, in place of what a killed run left.
    `logs`: of the disks that hold only WAL."""
    taken = of_data_or_logs(data.snapshots, of_logs=logs)
    sources: Sequence[Path | None] = taken or [None] * len(data.sizes_bytes)
    folder = _disks(world)
    ending = ".img"
    if logs:
        ending = f"{WAL_DISK}.img"
    nodes = node_names(len(sources))
    files: list[DiskFile] = []
    for node, size_bytes, source in zip(nodes, data.sizes_bytes, sources, strict=True):
        path = folder / f"{node}{ending}"
        empty = DiskFile(
            path, node, size_bytes=size_bytes, temporary=True, in_memory=False
        )
        if source:
            files.append(replace(empty, copy_of=source, size_bytes=None))
        else:
            files.append(empty)
    return tuple(files)


def of_gate(placement: str, world: World) -> tuple[DiskFile, ...]:
    """One empty file, under a name that is no node's, on the machine that runs `placement`."""
    path = _disks(world) / "gate.img"
    size_bytes = fio_containers.GATE_BYTES
    return (
        DiskFile(
            path, placement, size_bytes=size_bytes, temporary=True, in_memory=False
        ),
    )


def of_load(data: parts.NodesData, logs: bool) -> tuple[DiskFile, ...]:
    """The snapshots themselves, empty unless an earlier load has left them. `logs`: of the disks
    that hold only WAL; none, if the data have no such snapshots."""
    paths = of_data_or_logs(data.snapshots, of_logs=logs)
    if logs and not paths:
        return ()
    files: list[DiskFile] = []
    for path, size_bytes in zip(paths, data.sizes_bytes, strict=True):
        file = DiskFile(path, _node_of(path), temporary=False, in_memory=False)
        if not data.resumed:
            file = replace(file, size_bytes=size_bytes)
        files.append(file)
    return tuple(files)


def mounted(world: World) -> Mount:
    """The folder of the machines, as their containers see it at INSIDE."""
    folder = _folder(world)
    if world.is_here:  # made by us, so that it does not belong to the engine's user
        marked_folders.make(_disks(world), world)
        folder = folder.resolve()
    return Mount(str(folder), str(INSIDE))


def served(file: DiskFile, world: World) -> str:
    """The path of the file in the container that serves it."""
    if file.in_memory:
        return str(_MEMORY / file.path.name)
    return inside(file.path, world)


def shared(shares_with: str, world: World) -> str:
    """The file in which disks of a run keep what they have used of limits that they share."""
    return inside(_disks(world) / f"{world.scope}-{shares_with}.shared", world)


def account(file: DiskFile, world: World) -> Path | None:
    """The file on its machine in which a disk counts for how long its limits held requests back.
    None where its folder may not be there: of a disk in the memory of another machine."""
    if file.in_memory and not world.is_here:
        return None
    return _disks(world) / f"{file.path.stem}.account"


def inside(path: Path, world: World) -> str:
    """The path of a file of the machines' folder in a container."""
    return str(INSIDE / path.relative_to(_folder(world)))


def are_far(paths: Sequence[Path], world: World) -> bool:
    """Whether these are files of ours on other machines than this computer."""
    return not world.is_here and paths[0].is_relative_to(_folder(world))


def are_there(paths: Sequence[Path], world: World) -> bool:
    """Whether snapshots exist; those that `are_far` are believed to, until `are_on_nodes`."""
    # Asking other machines takes a container on each, so a plan believes what the cache says.
    return are_far(paths, world) or all(path.exists() for path in paths)


def are_on_nodes(paths: Sequence[Path], world: World) -> bool:
    """Whether each machine has its node's snapshot, if they are elsewhere: this takes seconds."""
    return not are_far(paths, world) or _exist(paths, world)


def _exist(paths: Sequence[Path], world: World) -> bool:
    """Whether each node's snapshot, which `are_far`, is on the machine that runs the node now."""

    def exists(path: Path) -> bool:
        words = [inside(path, world)]
        done = _there(_node_of(path), "exist", _EXIST, words, _ASK_S, world)
        return done.exit_code == 0

    return all(at_once.each(exists, paths))


def discard(paths: Sequence[Path], world: World) -> None:
    """Removes snapshots that `are_far` as far as they are ours, and as far as it can."""
    if not are_far(paths, world):
        return
    program = removal.program("remove", world, [inside(paths[0].parent, world)])
    for path in paths:
        # A file that stays is overwritten by the next load, or removed by `forget`.
        with suppress(errors.TierbenchError):
            _there(_node_of(path), "discard", _RUN, program, _REMOVE_S, world)


def forget(
    _folders: Collection[Path], world: World, only_list: bool
) -> Iterator[MarkedFolder]:
    """Removes, or only lists, files of disks on other machines whose folder has our mark."""
    if world.is_here:
        return
    has_loaded = (world.cache / _DATASETS).is_dir()
    image = own_images.tag(world.root, "disk")
    # Nothing can have been put there without a load and without the image.
    if not has_loaded and not world.platform.images.present(image):
        return
    folder = str(_folder(world))
    verb = "remove"
    if only_list:
        verb = "list"
    program = removal.program(verb, world)
    machines = world.platform.machines_of_nodes()
    for node, machine in zip(node_names(len(machines)), machines, strict=True):
        done = _there(node, "forget", _RUN_ON_ALL, program, _REMOVE_S, world)
        if done.exit_code == 0:
            yield from removal.folders_told(done.out, str(INSIDE), folder, machine.name)
        else:
            why = f"files of disks, which could not be looked at: {done.out.strip()[-200:]}"
            yield MarkedFolder(folder, 0, kept=(why,), machine=machine.name)


def machines_of_nodes(nodes: int, world: World) -> list[Machine]:
    """The machine that runs each node, in their order: that of a container in its place."""

    def machine_of(node: str) -> Machine:
        spec = _container(node, "place", ("sleep", "infinity"), world)
        # A container that was placed there alone shows where its node would run.
        idle = replace(spec, init=True, stop_timeout_s=1)
        with world.platform.running(idle) as container:
            return container.find_machine()

    return at_once.each(machine_of, node_names(nodes))


def _there(
    node: str,
    name: str,
    script: str,
    words: Sequence[str],
    timeout_s: float,
    world: World,
) -> Completed:
    """Runs a shell's script, with `words` as arguments, on the machine that runs the node."""
    spec = _container(node, name, ("sh", "-c", script, name, *words), world)
    return world.platform.once(replace(spec, mounts=(mounted(world),)), timeout_s)


def _container(
    node: str, name: str, argv: Sequence[str], world: World
) -> ContainerSpec:
    return own_images.container(
        "disk",
        f"{world.scope}-{name}-{node}",
        argv,
        world,
        role="disk-files",
        placement=node,
        capabilities=removal.CAPABILITIES,
    )


def _folder(world: World) -> Path:
    return world.platform.folder(world.cache)


def _disks(world: World) -> Path:
    """The folder of the files that go after each run."""
    name = _DISKS
    if not world.is_here:
        name = marked_folders.unique_name(_DISKS, world, _computer())
    return _folder(world) / name


def _computer() -> str:
    """What tells this computer from other users of the same machines, also when it is renamed."""
    computer = machine_caches.here()
    return computer.id or computer.name
