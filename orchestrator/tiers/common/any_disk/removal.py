"""Removes folders with our mark, on whichever machine they are, and says what it found of each.

What removes looks at the mark itself (`system/marked.py`), in a container."""

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from orchestrator.design.node_disks import node_names
from orchestrator.errors import RunError
from orchestrator.kernel import mounts
from orchestrator.parts import MarkedFolder
from orchestrator.platforms import own_images
from orchestrator.powers import Completed, Machine, Mount, World
from orchestrator.system import marked
from orchestrator.system.marked_folders import owner, state_of

HOST = "/host"  # the machine's paths, as the containers here see them
# The rights to handle files of any user, and to give copies the same owner and mode.
CAPABILITIES = ("DAC_OVERRIDE", "CHOWN", "FOWNER", "FSETID")
DATA = "tierbench-data"  # our folder on a real disk, in which nodes keep their data
SNAPSHOTS = "tierbench-snapshots"
_COPY_S = 6 * 3600.0


def remove_or_list(
    folders: Sequence[Path], world: World, only_list: bool
) -> tuple[MarkedFolder, ...]:
    """Removes folders on the machine with the disks, or lists them, by a container.

    RunError if it fails.
    """
    if not folders:
        return ()
    verb = "remove"
    if only_list:
        verb = "list"
    argv = program(verb, world, [f"{HOST}{folder}" for folder in folders])
    roots = [root_of(folder) for folder in folders]
    failure = f"{folders[0]} could not be removed"
    done = in_container(argv, roots, world, failure)
    return folders_told(done.out, HOST)


def remove(folders: Sequence[Path], world: World, what: str, advice: str = "") -> None:
    """Removes as `remove_or_list` does.

    RunError that says `what` if a folder is not ours or something of it stays.
    """
    for left in remove_or_list(folders, world, only_list=False):
        if left.foreign or left.kept:
            raise RunError(f"{what}: {left}", advice=advice)


def forget(
    data: Collection[Path], world: World, only_list: bool
) -> tuple[MarkedFolder, ...]:
    """Removes folders of data in `data` and wherever a disk is mounted on the machines of nodes,
    as far as their mark is ours."""
    # A platform of several engines has one of its own for each machine.
    if world.platform.abilities.engine_of is not None:
        return _forget_on_engines(data, world, only_list)
    existing: list[Path] = []
    for folder in _may_be_ours(data, world.machine):
        if world.machine.is_folder(str(folder)):
            existing.append(folder)
    return remove_or_list(existing, world, only_list)


def _may_be_ours(data: Collection[Path], machine: Machine) -> list[Path]:
    """Folders of nodes, then those of data sets, at each place where they may lie."""
    roots: set[Path] = set()
    for path in data:
        roots.add(path.parent)
    with suppress(OSError):
        # A profile may lie anywhere and be gone, but the disks that it named are mounted.
        for point in mounts.mount_points(machine):
            roots.add(Path(point.path))
    node_folders: list[Path] = []
    data_set_folders: list[Path] = []
    for root in sorted(roots):
        node_folders.append(root / DATA)
        data_set_folders += _data_sets(root / SNAPSHOTS, machine)
    return node_folders + data_set_folders


def _forget_on_engines(
    data: Collection[Path], world: World, only_list: bool
) -> tuple[MarkedFolder, ...]:
    folders: list[MarkedFolder] = []
    for node in node_names(len(world.platform.machines_of_nodes())):
        # An engine sees the disks of its own machine alone.
        engine = world.on(node)
        for folder in forget(data, engine, only_list):
            folders.append(replace(folder, machine=engine.machine.name))
    return tuple(folders)


def _data_sets(shelf: Path, machine: Machine) -> list[Path]:
    """The folders of data sets in a folder of snapshots; none if it cannot be read."""
    with suppress(OSError):
        if machine.is_folder(str(shelf)):
            names = machine.listing(str(shelf))
            return [shelf / name for name in names if name != marked.MARK]
    return []


def make_anew(folder: Path, names: Sequence[str], world: World) -> None:
    """Makes a folder with our mark and empty ones in it, in place of what a killed run left there.
    RunError if something of it is not ours, or cannot be removed."""
    arguments = [f"{HOST}{folder}", *names]
    done = in_container(program("anew", world, arguments), [root_of(folder)], world)
    if done.exit_code != 0:
        why = done.out.strip().replace(HOST, "")[-400:]
        raise RunError(
            f"{folder} cannot be made anew: {why}",
            advice="look at what is there; remove or unmount it by hand if nobody "
            "needs it",
        )


def root_of(folder: Path) -> Path:
    """The path of a person in which our folder is."""
    # A data set lies in a folder of ours, which lies in the person's.
    if folder.parent.name == SNAPSHOTS:
        return folder.parent.parent
    return folder.parent


def folders_told(
    printed: str, root: str, at: str = "", machine: str = ""
) -> tuple[MarkedFolder, ...]:
    """What our program printed in a container that has the path `at` of the machine as `root`."""

    def on_machine(path: str) -> str:
        return f"{at}{path.removeprefix(root)}"

    folders: list[MarkedFolder] = []
    for line in printed.splitlines():
        if line.strip():
            content = json.loads(line)
            content["place"] = on_machine(content["place"])
            content["kept"] = [on_machine(path) for path in content["kept"]]
            folders.append(state_of(content, machine))
    return tuple(folders)


def program(verb: str, world: World, arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """What lists or removes folders in a container: see `marked`."""
    # The container has Python and nothing of ours: the module travels as text.
    source = Path(marked.__file__).read_text(encoding="utf-8")
    return ("python3", "-c", source, verb, owner(world), *arguments)


def in_container(
    program: Sequence[str],
    roots: Iterable[Path],
    world: World,
    failure: str = "",
    advice: str = "",
) -> Completed:
    """Runs a program of our image `disk` that sees each of `roots` below /host. RunError if it
    fails, unless `failure` does not say what that means."""
    mounts_of_roots: list[Mount] = []
    for root in dict.fromkeys(roots):
        # A path that is a link is shown where it leads to, under the name that was asked for.
        source = world.machine.real_path(str(root))
        mounts_of_roots.append(Mount(source, f"{HOST}{root}"))
    spec = own_images.container(
        "disk",
        f"{world.scope}-folders",
        program,
        world,
        mounts=tuple(mounts_of_roots),
        capabilities=CAPABILITIES,
    )
    done = world.platform.once(spec, timeout_s=_COPY_S)
    if failure and done.exit_code != 0:
        raise RunError(failure, advice, evidence=done.out)
    return done
