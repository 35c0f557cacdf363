"""Loaded data sets, kept as snapshots: loaded once without any limit, then restored for each run.

A snapshot of the disks of all nodes, taken after a clean stop, is one of the data set. So every
run of a tier starts from the same bytes, and repetitions do not drift as tables grow. Where
snapshots lie is the tier mechanism's: files of the cache, or directories on a real disk. A data set
is complete when its snapshots are there and its `dataset.json` in the cache, which is written last.
A load that failed, or whose program was killed, where its loader can go on leaves `loading.json`
and what its disks have; if that is damaged it begins anew."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from orchestrator.errors import (
    RunError,
    TierbenchError,
    UnavailableError,
    UnfinishedError,
)
from orchestrator.model import ClusterSpec, NodeSize, Plan, Profile, Workload
from orchestrator.parts import (
    GoesOnLoading,
    LoadGenerator,
    NodesData,
    Parts,
    Rented,
    Restorable,
)
from orchestrator.planning import durations, paces
from orchestrator.planning.plan import as_used
from orchestrator.platforms.common import machines, marked
from orchestrator.powers import World
from orchestrator.run import observed
from orchestrator.system import files
from orchestrator.tiers.common.emulated import disk_files
from orchestrator.tiers.common.real import removal, restoring
from orchestrator.units import format_bytes

DATASET = "dataset.json"
_LOADING = "loading.json"
_PLACES = "places.json"
_ENDED = "its program was ended"
_LOADING_MEMORY_BYTES = 3 * 2**30


def ensure(
    profile: Profile, workload: Workload, seed: int, parts: Parts, world: World
) -> tuple[Path, ...] | None:
    """Snapshots of the loaded data set, one per node; loaded now if they are not kept yet. None if
    the tier or the database cannot start from a copy: then the run loads by itself."""
    planned = _planned(profile, workload, seed, parts, world)
    if planned is None:
        return None
    snapshots, mechanism, identity = planned
    if "addresses" not in _kept(snapshots, world) or not _are_on_nodes(
        snapshots, mechanism, world
    ):
        _load(snapshots, identity, profile, workload, mechanism, parts, world)
    with suppress(OSError):
        (_folder(snapshots, world) / DATASET).touch()  # used now, as `hold_to` reads it
    return snapshots


def whereabouts(
    profile: Profile, workload: Workload, seed: int, parts: Parts, world: World
) -> tuple[str | None, bool]:
    """Which kept data set the runs start from, and whether it is loaded already. None if every run
    loads by itself. Nothing is loaded now."""
    planned = _planned(profile, workload, seed, parts, world)
    if planned is None:
        return None, False
    return planned[0][0].parent.name, "addresses" in _kept(planned[0], world)


def _planned(
    profile: Profile, workload: Workload, seed: int, parts: Parts, world: World
) -> tuple[tuple[Path, ...], Restorable, dict[str, Any]] | None:
    """Where the snapshots of the data set are, or will be, who makes them, and everything that
    decides their bytes. None if every run loads."""
    mechanism = parts.tiers[profile.tier.disk.enforcement]
    spec = profile.cluster
    database = parts.databases[spec.member]
    if not isinstance(mechanism, Restorable) or not database.restores(spec):
        return None
    identity = {
        "family": workload.dataset.family,
        "parameters": dict(workload.dataset.parameters),
        "loader": parts.load_generators[workload.generator].loader_version(
            workload, world
        ),
        "database": spec.database,
        "image": database.image(spec, world),
        "nodes": spec.nodes,
        "replication_factor": spec.replication_factor,
        "disk_bytes": spec.node.disk_bytes if spec.node else None,
        "settings": dict(spec.settings) | dict(spec.existing),
        "seed": seed,
    }
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    snapshots = mechanism.snapshots(profile.tier, _sizes(spec), key, world)
    if snapshots:
        return (snapshots, mechanism, identity)
    return None


def _sizes(spec: ClusterSpec) -> list[int]:
    # others' may be unknown
    if spec.node:
        return [spec.node.disk_bytes] * spec.nodes
    return []


def _folder(snapshots: Sequence[Path], world: World) -> Path:
    """What the cache knows of a data set is there, wherever its snapshots lie."""
    return world.cache / "datasets" / snapshots[0].parent.name


def addresses_of(snapshots: Sequence[Path] | None, world: World) -> tuple[str, ...]:
    """The nodes' addresses while a kept data set was loaded: some databases start on no others."""
    if snapshots:
        return tuple(_kept(snapshots, world)["addresses"])
    return ()


def _kept(snapshots: Sequence[Path], world: World) -> dict[str, Any]:
    """The content of `dataset.json`. Empty if the data set is not complete; one without `addresses`
    (tierbench once kept the network's prefix) is loaded anew."""
    file = _folder(snapshots, world) / DATASET
    here = file.is_file() and _are_there(snapshots, world)
    if here:
        return _content(file)
    return {}


def _content(file: Path) -> dict[str, Any]:
    """Empty if the file was cut, or is not there: then the data are loaded anew."""
    with suppress(OSError, ValueError, TypeError):
        return dict(json.loads(file.read_text()))
    return {}


def _are_on_nodes(
    snapshots: Sequence[Path], mechanism: Restorable, world: World
) -> bool:
    """Whether each machine has its node's snapshot, if they are elsewhere: this takes seconds."""
    if isinstance(mechanism, Rented):
        return mechanism.still_there(snapshots, world)
    return not disk_files.are_far(snapshots, world) or disk_files.exist(
        snapshots, world
    )


def _are_there(snapshots: Sequence[Path], world: World) -> bool:
    """In the cache here, or on the machine that has the disks, as far as that is told at once."""
    if disk_files.are_far(snapshots, world):
        return True
    if snapshots[0].is_relative_to(world.cache):
        return all(snapshot.exists() for snapshot in snapshots)
    return restoring.are_there(snapshots, world)


def _load(
    snapshots: Sequence[Path],
    identity: Mapping[str, Any],
    profile: Profile,
    workload: Workload,
    mechanism: Restorable,
    parts: Parts,
    world: World,
) -> None:
    spec = profile.cluster
    family = workload.dataset.family
    folder = _folder(snapshots, world)
    database = parts.databases[spec.member]
    generator = parts.load_generators[workload.generator]
    before = _Unfinished.prepared(folder, snapshots, mechanism, world)
    started_s = world.clock.monotonic()
    files.write_json(folder / _PLACES, [str(snapshot.parent) for snapshot in snapshots])
    world.progress.step(f"loading {family}: starting {database.name}")
    failure = facts = None
    data = NodesData(_sizes(spec), snapshots, before.resumed)
    try:
        with (
            mechanism.loading(profile.tier, data, world) as volumes,
            world.platform.network(
                f"{world.scope}-load", spec.nodes, before.addresses
            ) as network,
            before.going_on(network.addresses),
            database.running(_roomy(spec, world), volumes, network, world) as cluster,
            generator.client(cluster.network, world, cluster.tls) as client,
        ):
            world.progress.step(f"loading {family} (once; later runs restore it)")
            begun_s = world.clock.monotonic()
            try:
                with before.at_work(generator, network.addresses):
                    generator.load(workload, cluster, client, world)
                database.settle(cluster, world)
                load_s = world.clock.monotonic() - begun_s
                facts = database.facts(cluster, world).recorded()
            except UnfinishedError as error:
                if before.failure == _ENDED:
                    raise  # what is there does not add up
                failure = error  # not passed on from here: so nodes are stopped cleanly
    except BaseException as error:
        damaged = isinstance(error, RunError) and before.failure == _ENDED
        if damaged:
            (folder / _LOADING).unlink(missing_ok=True)
        before.discard(snapshots, world)
        if not damaged:
            raise
        world.progress.warn(
            f"a load that was ended is damaged, so it begins anew: {error}"
        )
        _load(snapshots, identity, profile, workload, mechanism, parts, world)
        return
    if failure is not None:
        if failure.what == before.failure:
            before.discard(snapshots, world)
            advice = "it failed twice alike, so the next run loads anew"
        else:  # the disks are kept
            before.keep(network.addresses, failure.what)
            advice = "the next run goes on with this load; `tierbench clean` removes it"
        raise UnfinishedError(failure.what, failure.advice or advice, failure.evidence)
    took_s = world.clock.monotonic() - started_s
    times = {"loaded_s": world.clock.now(), "took_s": took_s}
    known: dict[str, Any] = {
        **identity,
        "addresses": network.addresses,
        **times,
        "facts": facts,
    }
    files.write_json(folder / DATASET, known)
    if not before.resumed:
        what = paces.load_of(workload)
        name = paces.kept_as(what, profile.tier, world.platform.name, spec)
        observed.note(name, load_s, world, durations.data_bytes(workload))
    parameters = dict(workload.dataset.parameters)
    world.progress.note(
        f"loaded {family} {parameters} in {took_s:.0f} s; kept for later runs"
    )


@dataclass(frozen=True)
class _Unfinished:
    """What an earlier load left in `folder`: its nodes' addresses and why it failed, if any."""

    folder: Path
    addresses: tuple[str, ...] = ()
    failure: str = ""

    @classmethod
    def prepared(
        cls,
        folder: Path,
        snapshots: Sequence[Path],
        mechanism: Restorable,
        world: World,
    ) -> Self:
        """Reads what is there; an empty folder if a load cannot go on."""
        file = folder / _LOADING
        if _are_there(snapshots, world):
            left = _content(file)
        else:
            left = {}
        if left and _are_on_nodes(snapshots, mechanism, world):
            world.progress.note(
                f"a load goes on that did not end before: {left['failure']}"
            )
            return cls(folder, tuple(left["addresses"]), left["failure"])
        list(removal.here([folder], world))
        removal.make(folder, world)
        return cls(folder)

    @property
    def resumed(self) -> bool:
        return bool(self.addresses)

    @contextmanager
    def going_on(self, addresses: tuple[str, ...]) -> Iterator[None]:
        """From here on the disks change: they are not started from again, unless a failed load
        writes so. UnavailableError if the nodes would be at other addresses, at which some
        databases do not start."""
        if self.resumed and addresses != self.addresses:
            raise UnavailableError(
                "an unfinished load needs the addresses "
                f"{', '.join(self.addresses)}, which are taken",
                advice=f"stop what uses them, or load anew: remove {self.folder}",
            )
        (self.folder / _LOADING).unlink(missing_ok=True)
        yield

    @contextmanager
    def at_work(
        self, generator: LoadGenerator, addresses: tuple[str, ...]
    ) -> Iterator[None]:
        """In the block the loader works. If that is where this program is ended, it goes on."""
        if isinstance(generator, GoesOnLoading) and generator.loading_goes_on:
            self.keep(addresses, _ENDED)
        try:
            yield
        except Exception:
            (self.folder / _LOADING).unlink(missing_ok=True)
            raise
        (self.folder / _LOADING).unlink(missing_ok=True)

    def keep(self, addresses: tuple[str, ...], failure: str) -> None:
        files.write_json(
            self.folder / _LOADING, {"addresses": addresses, "failure": failure}
        )

    def discard(self, snapshots: Sequence[Path], world: World) -> None:
        """Removes what no later load can go on from."""
        if not (self.folder / _LOADING).is_file():
            list(removal.here([self.folder], world))
            if disk_files.are_far(snapshots, world):
                disk_files.discard(snapshots, world)


def _roomy(spec: ClusterSpec, world: World) -> ClusterSpec:
    """Nodes for loading, which is not measured: they have all stages, and may have more memory, and
    all CPUs, where one need not ask for them, else those that nobody has asked for."""
    spec = replace(spec, without="nothing")
    if spec.node is None:
        return spec
    if isinstance(world.platform, machines.Promises):
        cpus = world.platform.free_cpus(spec.nodes)
    else:
        cpus = float(world.machine.facts().cpus)
    memory_bytes = max(spec.size.memory_bytes, _LOADING_MEMORY_BYTES // spec.nodes)
    node = NodeSize(max(spec.size.cpus, cpus), memory_bytes, spec.size.disk_bytes)
    return replace(spec, node=node, port=None)


def forget(world: World, only_list: bool = False) -> Iterator[removal.MarkedFolder]:
    """Removes all kept data sets and what a killed run left of its disks, as far as they carry our
    mark, or only lists them. What fails is said, and the rest goes on; then RunError."""
    failed: list[str] = []
    steps: tuple[Callable[[], Iterable[removal.MarkedFolder]], ...] = (
        lambda: removal.forget(_places(world), world, only_list),
        lambda: disk_files.forget(world, only_list),
        lambda: removal.here(_folders(world.cache), world, only_list),
    )
    for step in steps:
        try:
            for marked_folder in step():
                yield marked_folder
                if marked_folder.kept:
                    failed += [f"{marked_folder.place} cannot be removed"]
        except (TierbenchError, OSError) as error:
            failed.append(str(error))
    if failed:
        raise RunError(
            "; ".join(failed), advice="remove the cause, then `tierbench clean` again"
        )


def _folders(cache: Path) -> list[Path]:
    """What is ours in the cache, or looks so: earlier releases put no mark there, nor on `gates`.
    The cache may be any folder of a person, with a `datasets` or `disks` of theirs."""
    signs = {"datasets/*": (_LOADING, _PLACES, DATASET), "disks": ("*.img",)}
    signs |= {"gates": ("*.json",), "truth-gates": ()}
    return [
        folder
        for pattern, names in signs.items()
        for folder in sorted(cache.glob(pattern))
        if folder.is_dir()
        and any(any(folder.glob(sign)) for sign in (marked.MARK, *names))
    ]


def _places(world: World) -> set[Path]:
    """Folders on real disks that hold, or may hold, snapshots."""
    folders: set[Path] = set()
    for file in (world.cache / "datasets").glob(f"*/{_PLACES}"):
        with suppress(OSError, ValueError, TypeError):  # one that was cut says nothing
            folders |= {Path(place).parent for place in json.loads(file.read_text())}
    usual = [
        home / "datasets" for home in (world.cache, world.platform.folder(world.cache))
    ]
    return folders - set(usual)


def hold_to(most_bytes: int, plan: Plan, parts: Parts, world: World) -> None:
    """Removes what is ours of the longest unused data sets of the cache until all have no more than
    so many bytes (`--cache-max`). Those that `plan` starts from stay."""
    used = {
        whereabouts(as_used(profile, workload), workload, plan.seed, parts, world)[0]
        for profile in plan.profiles
        for workload in plan.workloads
    }
    kept = list((world.cache / "datasets").glob(f"*/{DATASET}"))
    sizes = {  # of the disk: images have holes
        file.parent: sum(
            of.stat().st_blocks * 512 for of in file.parent.rglob("*") if of.is_file()
        )
        for file in kept
    }
    for file in sorted(kept, key=lambda file: file.stat().st_mtime):
        if sum(sizes.values()) > most_bytes and file.parent.name not in used:
            for gone in removal.here([file.parent], world):
                world.progress.note(f"beyond --cache-max, so removed: {gone}")
            if not file.exists():
                del sizes[file.parent]
    left = sum(sizes.values())
    if left > most_bytes:
        what = f"kept data sets have {format_bytes(left)}, more than --cache-max"
        world.progress.warn(f"{what}: this campaign's stay")
