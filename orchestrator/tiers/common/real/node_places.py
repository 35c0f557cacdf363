"""Where nodes keep their data and their WAL on real disks: the paths of a tier, and below them the
directories in which the nodes work; and which machine has the disks of which nodes."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from orchestrator import errors, powers
from orchestrator.texts.prose import listed
from orchestrator.tier import NodeDisks, RealDisks, Tier
from orchestrator.tier.slow_disk import whose_disk
from orchestrator.tiers.common.any_disk import removal

FOLDER = removal.DATA


@dataclass(frozen=True)
class Use:
    """What a node keeps on a disk: its data, or its WAL."""

    node: str
    wal: bool

    @property
    def folder(self) -> str:
        if self.wal:
            return f"{self.node}-wal"
        return self.node

    def __str__(self) -> str:
        return whose_disk(self.node, of_log=self.wal)


@dataclass(frozen=True)
class DiskPath:
    """A path of the profile and what is kept there; without `uses` the data of all nodes."""

    path: str
    uses: tuple[Use, ...] = ()
    machine: str = ""  # the one of several that has it

    @property
    def key(self) -> str:
        """The name by which records know it."""
        if self.machine:
            return f"{self.machine}:{self.path}"
        return self.path

    @property
    def title(self) -> str:
        """The name in errors and reports: `node-2 (/mnt/p15-b)`."""
        users = listed([str(use) for use in self.uses]) or "all nodes"
        return f"{users} ({self.key})"

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes whose data are here."""
        return tuple(use.node for use in self.uses if not use.wal)

    @property
    def only_wal(self) -> bool:
        return bool(self.uses) and all(use.wal for use in self.uses)


def mounted(tier: Tier) -> RealDisks:
    """The tier's real disks. UsageError if it names none."""
    if isinstance(tier.disk, RealDisks) and (tier.disk.disks or tier.disk.path):
        return tier.disk
    raise errors.UsageError(
        f"{tier.name} names no disk",
        advice="give `disks`, or one `path`: the directories where they are mounted",
    )


def chosen(tier: Tier, nodes: Sequence[str]) -> tuple[DiskPath, ...]:
    """The paths that the tier names for these nodes, each once. UsageError if it names none."""
    real = mounted(tier)
    if real.disks:
        return places_of(tier, nodes)
    return (DiskPath(real.path or ""),)


def places_of(tier: Tier, nodes: Sequence[str]) -> tuple[DiskPath, ...]:
    """The paths of the nodes' disks. A plan has named one for each."""
    uses: dict[tuple[str, str], list[Use]] = {}
    for node in nodes:
        # A tier with one `path` for all names no disks of nodes.
        place = tier.disk.of_nodes.get(node, NodeDisks(tier.disk.path or ""))
        # One path on two machines is two disks.
        uses.setdefault((place.machine, place.data), []).append(Use(node, wal=False))
        if place.wal:
            uses.setdefault((place.machine, place.wal), []).append(Use(node, wal=True))
    places: list[DiskPath] = []
    for (machine, path), uses_there in uses.items():
        places.append(DiskPath(path, tuple(uses_there), machine))
    return tuple(places)


def holding(tier: Tier, nodes: Sequence[str]) -> dict[Path, int]:
    """Folder → how many of these nodes, all on one machine, have their data there."""
    counts: dict[Path, int] = {}
    for place in places_of(tier, nodes):
        if place.nodes:
            counts[Path(place.path)] = len(place.nodes)
    return counts


def directories(tier: Tier, nodes: Sequence[str]) -> dict[Path, Path]:
    """Each directory in which these nodes work → the path of its disk: those of their data, in
    their order, and then those of their WAL."""
    path_of: dict[Use, Path] = {}
    for place in places_of(tier, nodes):
        for use in place.uses:
            path_of[use] = Path(place.path)

    def order(use: Use) -> tuple[bool, int]:
        # False sorts before True: the data of all nodes come before their WAL.
        return use.wal, nodes.index(use.node)

    by_directory: dict[Path, Path] = {}
    for use in sorted(path_of, key=order):
        path = path_of[use]
        by_directory[path / FOLDER / use.folder] = path
    return by_directory


def node_of(directory: Path) -> str:
    """The node that works in such a directory, or whose snapshot has its name."""
    return directory.stem.removesuffix("-wal")


Thing = TypeVar("Thing")


def require_here(what: str, world: powers.World) -> None:
    """UnavailableError if containers run elsewhere; `what`: "`disk up` mounts a disk"."""
    if world.is_here:
        return
    names = listed(_names_of_machines(world))
    raise errors.UnavailableError(
        f"{what} on the computer it is started on, but containers run on {names}",
        advice="start this program there, or let it use an engine of this computer",
    )


def _names_of_machines(world: powers.World) -> list[str]:
    return [machine.name for machine in world.platform.machines()]


def require_one_machine(tier: Tier, world: powers.World) -> None:
    """UnavailableError if nodes are spread over machines: real disks are looked for on one."""
    names = _names_of_machines(world)
    if len(names) > 1:
        raise errors.UnavailableError(
            f"{tier.name} names disks by their paths on one machine, but the "
            f"nodes are on several: {listed(names)}",
            advice=(
                "take `enforcement: storage-class` on Kubernetes, or `existing` "
                "for a cluster that runs already. Or name an engine for each node: "
                "`machines` in the profile"
            ),
        )


@dataclass(frozen=True)
class MachineShare:
    """A machine and the nodes whose disks are mounted there. `world`: the outside as if there were
    no other machine. `machine`: its name, if there are several."""

    world: powers.World
    nodes: tuple[str, ...]
    machine: str = ""

    @contextmanager
    def naming(self, but: Sequence[BaseException] = ()) -> Iterator[None]:
        """Errors in the block say which of several machines they are about, `but` for these."""
        try:
            yield
        except errors.TierbenchError as error:
            # An error passes through several such blocks, and must say the machine only once.
            if self.machine and error not in but and error.place != self.machine:
                error.what = f"{self.machine}: {error.what}"
                error.args = (error.what,)
                error.place = self.machine
            raise

    @contextmanager
    def entered(self, bracket: AbstractContextManager[Thing]) -> Iterator[Thing]:
        """Errors at both ends of the bracket are named, and not those of what it holds."""
        within: list[BaseException] = []
        with self.naming(but=within), bracket as thing:
            try:
                yield thing
            except BaseException as error:
                within.append(error)
                raise


def shares(
    tier: Tier, nodes: Sequence[str], world: powers.World
) -> tuple[MachineShare, ...]:
    """The machines with the disks of these nodes: one for all, or each its own. UnavailableError as
    `require_one_machine`, if the tier does not say on which machines its disks are."""
    machines: dict[str, str] = {}
    for node in nodes:
        if node in tier.disk.of_nodes:
            machines[node] = tier.disk.of_nodes[node].machine
    has_engines = world.platform.abilities.engine_of is not None
    if has_engines and any(machines.values()):
        # Each node's path is looked for on its own machine, where another disk has the same path.
        return tuple(
            MachineShare(world.on(node), (node,), machines[node]) for node in nodes
        )
    require_one_machine(tier, world)
    return (MachineShare(world, tuple(nodes)),)
