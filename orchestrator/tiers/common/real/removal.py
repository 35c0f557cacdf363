"""Removes folders with our mark, on whichever machine they are, and says what it found of each.

What removes looks at the mark itself (`platforms/common/marked.py`), here or in a container."""

import hashlib
import json
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.errors import RunError, UsageError
from orchestrator.kernel import mounts
from orchestrator.planning.node_disks import node_names
from orchestrator.platforms import own_images
from orchestrator.platforms.common import marked
from orchestrator.platforms.common.machines import HasEngines, of_nodes, on
from orchestrator.powers import Completed, Machine, Mount, World
from orchestrator.tiers.common.real import node_places
from orchestrator.units import format_bytes

HOST = "/host"  # the machine's paths, as the containers here see them
# To read, write and remove the files of any user, and to give copies the same owner and mode.
CAPABILITIES = ("DAC_OVERRIDE", "CHOWN", "FOWNER", "FSETID")
SNAPSHOTS = "tierbench-snapshots"
_COPY_S = 6 * 3600.0


@dataclass(frozen=True)
class MarkedFolder:
    """A folder that carries, or might carry, our mark. `foreign`: why it is not touched; `kept`:
    what of it cannot be removed; `machine`: where it is, if not on this computer."""

    place: str
    size_bytes: int = 0
    foreign: str = ""
    kept: tuple[str, ...] = ()
    machine: str = ""

    def __str__(self) -> str:
        place = self.place
        if self.machine:
            place = f"{self.place} of {self.machine}"
        if self.foreign in (marked.UNMARKED, marked.UNSAID):
            return (
                f"{place} {self.foreign}, so it is left alone; if an earlier release made it and "
                f"nobody needs it: rm -r --one-file-system -- {shlex.quote(self.place)}"
            )
        if self.foreign:
            return f"{place} {self.foreign}: it is left alone"
        left = ""
        if self.kept:
            left = f"; these stay: {'; '.join(self.kept)}"
        return f"{place} ({format_bytes(self.size_bytes)}){left}"


def owner(world: World) -> str:
    """What our mark says of folders that this program makes now."""
    return marked.owner(world.cache, world.platform.campaign)


def named(name: str, world: World, *places: str) -> str:
    """The name that only this cache gives, with these places."""
    text = "\0".join((str(world.cache.resolve()), *places))
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def make(folder: Path, world: World) -> None:
    """Makes a folder of the cache with our mark. One whose mark was cut may be anybody's: it is set
    aside and named. UsageError if it is somebody else's."""
    why = marked.make(str(folder), owner(world))
    if why == marked.UNSAID:
        aside = folder.with_name(f"{folder.name}-aside-{world.platform.campaign}")
        with suppress(OSError):  # a disk that is mounted there stays, and is refused
            folder.rename(aside)
            left = MarkedFolder(str(aside), foreign=marked.UNSAID)
            world.progress.warn(
                f"{folder} is set aside, and what was in it is made anew: {left}"
            )
        why = marked.make(str(folder), owner(world))
    if why:
        raise UsageError(
            str(MarkedFolder(str(folder), foreign=why)),
            advice="let TIERBENCH_CACHE name another folder, or remove this if nobody "
            "needs it",
        )


def is_ours(folder: Path, world: World) -> bool:
    """Whether a folder of the machine with the disks has the mark of this cache."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        mark = json.loads(world.machine.read(f"{folder}/{marked.MARK}"))
        ours = json.loads(owner(world))
        return marked.is_same(mark, ours)
    return False


def here(
    folders: Iterable[Path], world: World, only_list: bool = False
) -> Iterator[MarkedFolder]:
    """Removes folders of this computer, or only lists what would go."""
    for folder in folders:
        yield from owned(folder, owner(world), only_list)


def owned(folder: Path, whose: str, only_list: bool) -> Iterator[MarkedFolder]:
    """Removes a folder of this computer, or only lists it, if its mark says `whose`."""
    content = marked.remove(str(folder), whose, only_list)
    if content:
        yield MarkedFolder(
            content["place"],
            content["bytes"],
            content["foreign"],
            tuple(content["kept"]),
        )


def there(
    folders: Sequence[Path], world: World, only_list: bool = False
) -> tuple[MarkedFolder, ...]:
    """The same for folders of the machine with the disks, by a container. RunError if it fails."""
    if not folders:
        return ()
    verb = "remove"
    if only_list:
        verb = "list"
    argv = program(verb, world, [f"{HOST}{folder}" for folder in folders])
    roots = [root_of(folder) for folder in folders]
    failure = f"{folders[0]} could not be removed"
    done = in_container(argv, roots, world, failure)
    return read(done.out, HOST)


def remove_there(
    folders: Sequence[Path], world: World, what: str, advice: str = ""
) -> None:
    """As `there`. RunError that says `what` if one is not ours, or something of it stays."""
    for left in there(folders, world):
        if left.foreign or left.kept:
            raise RunError(f"{what}: {left}", advice=advice)


def forget(
    data: Collection[Path], world: World, only_list: bool = False
) -> tuple[MarkedFolder, ...]:
    """Removes folders of data in `data` and wherever a disk is mounted on the machines of nodes,
    as far as their mark is ours. A profile may lie anywhere, but its disks are mounted."""
    if isinstance(world.platform, HasEngines):
        return _forget_on_engines(data, world, only_list)
    machine = world.machine
    paths = {path.parent for path in data}
    with suppress(OSError):
        paths |= {Path(point.path) for point in mounts.mount_points(machine)}
    roots = sorted(paths)
    folders = [root / node_places.FOLDER for root in roots]
    for root in roots:
        folders += _data_sets(root / SNAPSHOTS, machine)
    existing = [folder for folder in folders if machine.is_folder(str(folder))]
    return there(existing, world, only_list)


def _forget_on_engines(
    data: Collection[Path], world: World, only_list: bool
) -> tuple[MarkedFolder, ...]:
    worlds = [on(node, world) for node in node_names(len(of_nodes(world.platform)))]
    folders: list[MarkedFolder] = []
    for engine in worlds:
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


def anew(folder: Path, names: Sequence[str], world: World) -> None:
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
    """The path of a person in which our folder is: data sets are in a folder of ours again."""
    if folder.parent.name == SNAPSHOTS:
        return folder.parent.parent
    return folder.parent


def read(
    printed: str, root: str, at: str = "", machine: str = ""
) -> tuple[MarkedFolder, ...]:
    """What our program printed in a container that has the path `at` of the machine as `root`."""

    def outside(path: str) -> str:
        return f"{at}{path.removeprefix(root)}"

    folders: list[MarkedFolder] = []
    for line in printed.splitlines():
        if line.strip():
            content = json.loads(line)
            folder = MarkedFolder(
                outside(content["place"]),
                content["bytes"],
                content["foreign"],
                tuple(outside(path) for path in content["kept"]),
                machine,
            )
            folders.append(folder)
    return tuple(folders)


def program(verb: str, world: World, arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """What lists or removes folders in a container: see `marked`."""
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
    seen: list[Mount] = []
    for root in dict.fromkeys(roots):
        source = world.machine.real_path(str(root))
        seen.append(Mount(source, f"{HOST}{root}"))
    spec = own_images.container(
        "disk",
        f"{world.scope}-folders",
        program,
        world,
        mounts=tuple(seen),
        capabilities=CAPABILITIES,
    )
    done = world.platform.once(spec, timeout_s=_COPY_S)
    if failure and done.exit_code != 0:
        raise RunError(failure, advice, evidence=done.out)
    return done
