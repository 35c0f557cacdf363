"""Loading a data set that is kept: from nothing, or going on where an earlier load ended.

A load is in one of three states when it begins:

- fresh: nothing is there;
- resumed: its loader failed, and goes on in the same database, or its program was ended
  while the loader worked;
- damaged: its program was ended, and what is there does not add up; it begins anew.

`loading.json` beside the snapshots says how a load ended that can go on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from orchestrator.errors import RunError, UnavailableError, UnfinishedError
from orchestrator.model import ClusterSpec, NodeSize
from orchestrator.parts import (
    Disks,
    LoadGenerator,
    NodesData,
    Parts,
)
from orchestrator.planning import data_sizes, paces
from orchestrator.powers import World
from orchestrator.run.data.kept_data import (
    DATASET,
    DataSet,
    content,
    disk_sizes,
    folder_of,
)
from orchestrator.run.disks import ended_disks
from orchestrator.run.runs_ahead import spent_times
from orchestrator.system import files, marked_folders

LOADING = "loading.json"
PLACES = "places.json"
_ENDED = "its program was ended"
_LOADING_MEMORY_BYTES = 3 * 2**30  # the least of all nodes together


@dataclass(frozen=True)
class _Before:
    """What an earlier load left in `folder`: its nodes' addresses and why it failed, if any."""

    folder: Path
    addresses: tuple[str, ...] = ()
    failure: str = ""

    @classmethod
    def prepared(cls, data: DataSet, world: World) -> Self:
        """Reads what is there; an empty folder if a load cannot go on."""
        folder = folder_of(data.snapshots, world)
        left: dict[str, Any] = {}
        if data.kept.are_there(data.snapshots, world):
            left = content(folder / LOADING)
        # The cache may say so while the disks on other machines are gone.
        if left and data.kept.are_on_nodes(data.snapshots, world):
            world.progress.note(
                f"an earlier load is continued; it had failed: {left['failure']}"
            )
            return cls(folder, tuple(left["addresses"]), left["failure"])
        list(marked_folders.remove_ours([folder], world, only_list=False))
        marked_folders.make(folder, world)
        return cls(folder)

    @property
    def resumed(self) -> bool:
        return bool(self.addresses)

    @property
    def was_ended(self) -> bool:
        """Its program was ended at some moment, so what it left may not add up."""
        return self.failure == _ENDED

    @contextmanager
    def going_on(self, addresses: tuple[str, ...]) -> Iterator[None]:
        """In the block the disks change. They are not started from again unless a failed load
        writes so.

        UnavailableError if the nodes would be at other addresses, at which some databases do not
        start.
        """
        if self.resumed and addresses != self.addresses:
            raise UnavailableError(
                "an unfinished load needs the addresses "
                f"{', '.join(self.addresses)}, which are taken",
                advice=f"stop what uses them; or remove {self.folder} to load from the start",
            )
        # Once the disks change, what the note says of them is not true any more.
        self.forget()
        yield

    @contextmanager
    def at_work(
        self, generator: LoadGenerator, addresses: tuple[str, ...]
    ) -> Iterator[None]:
        """In the block the loader works. If this program ends there, the next one goes on with the
        load."""
        # Noted beforehand, because a program that is killed writes nothing more.
        if generator.abilities.loading_goes_on:
            self.keep(addresses, _ENDED)
        try:
            yield
        except Exception:
            self.forget()
            raise
        self.forget()

    def keep(self, addresses: tuple[str, ...], failure: str) -> None:
        """Says that a later load can go on."""
        files.write_json(
            self.folder / LOADING, {"addresses": addresses, "failure": failure}
        )

    def forget(self) -> None:
        """No later load can go on."""
        (self.folder / LOADING).unlink(missing_ok=True)

    def discard(self, data: DataSet, world: World) -> None:
        """Removes what no later load can go on from."""
        if (self.folder / LOADING).is_file():
            return
        list(marked_folders.remove_ours([self.folder], world, only_list=False))
        data.kept.discard(data.snapshots, world)


@dataclass(frozen=True)
class _LoadOutcome:
    """How a load ended whose nodes were stopped cleanly. `failure`: its loader can go on."""

    addresses: tuple[str, ...]
    load_s: float = 0.0
    facts: dict[str, Any] | None = None
    failure: UnfinishedError | None = None


def load(data: DataSet, parts: Parts, world: World) -> None:
    """Loads a data set into its snapshots, and notes that it is complete.

    UnfinishedError if its loader failed and a later load can go on; the first of two that
    fail alike keeps what is there. Any other error leaves nothing.
    """
    before = _Before.prepared(data, world)
    started_s = world.clock.monotonic()
    try:
        outcome = _carried_out(data, before, parts, world)
    except RunError as error:
        # A load is at fault itself only if its program was killed. It then begins anew, once.
        if not before.was_ended:
            raise
        world.progress.warn(
            f"an interrupted load is damaged, so it starts again: {error}"
        )
        before = _Before.prepared(data, world)
        # The time of the damaged load is no part of the time that the data need.
        started_s = world.clock.monotonic()
        outcome = _carried_out(data, before, parts, world)
    if outcome.failure is not None:
        raise _unfinished(outcome.failure, outcome.addresses, data, before, world)
    took_s = world.clock.monotonic() - started_s
    _note_complete(data, outcome, took_s, world)
    # A load that went on took only part of the time that the data need.
    if not before.resumed:
        _note_pace(data, outcome.load_s, world)
    family = data.workload.dataset.family
    parameters = dict(data.workload.dataset.parameters)
    world.progress.note(
        f"loaded {family} {parameters} in {took_s:.0f} s; kept for later runs"
    )


def _carried_out(
    data: DataSet, before: _Before, parts: Parts, world: World
) -> _LoadOutcome:
    """Removes what no later load can go on from, if it fails."""
    database = parts.databases[data.profile.cluster.member]
    family = data.workload.dataset.family
    places = [str(snapshot.parent) for snapshot in data.snapshots]
    # The places are noted before anything lies there. `tierbench clean` then finds it in any case.
    files.write_json(before.folder / PLACES, places)
    world.progress.step(f"loading {family}: starting {database.name}")
    try:
        return _on_nodes(data, before, parts, world)
    except BaseException as error:
        # The files there do not add up, so no later load may go on from them.
        if before.was_ended and isinstance(error, RunError):
            before.forget()
        # Interrupts count too, because half a data set must not be taken for a whole one.
        before.discard(data, world)
        raise


def _on_nodes(
    data: DataSet, before: _Before, parts: Parts, world: World
) -> _LoadOutcome:
    """Starts nodes, loads, and stops them: also after a failure that a later load goes on
    from, so that their disks can be started from again."""
    spec = data.profile.cluster
    database = parts.databases[spec.member]
    generator = parts.load_generators[data.workload.generator]
    nodes_data = NodesData(disk_sizes(spec), data.snapshots, before.resumed)
    scope = f"{world.scope}-load"
    with (
        data.kept.loading(data.profile.tier, nodes_data, world) as volumes,
        ended_disks.ends_told(Disks(volumes, {}).servers, world),
        # An unfinished load goes on at its addresses: some databases start on no others.
        world.platform.network(scope, spec.nodes, before.addresses) as network,
        before.going_on(network.addresses),
        database.running(_roomy(spec, world), volumes, network, world) as cluster,
        generator.client(cluster.network, world, cluster.tls) as client,
    ):
        family = data.workload.dataset.family
        world.progress.step(f"loading {family} (once; later runs restore it)")
        begun_s = world.clock.monotonic()
        try:
            with before.at_work(generator, network.addresses):
                generator.load(data.workload, cluster, client, world)
            # A snapshot of disks still at work would make each run begin with that work.
            database.settle(cluster, world)
            load_s = world.clock.monotonic() - begun_s
            facts = database.facts(cluster, world).recorded()
        except UnfinishedError as error:
            if before.was_ended:
                raise  # the files there do not add up
            return _LoadOutcome(network.addresses, failure=error)
        return _LoadOutcome(network.addresses, load_s, facts)


def _unfinished(
    failure: UnfinishedError,
    addresses: tuple[str, ...],
    data: DataSet,
    before: _Before,
    world: World,
) -> UnfinishedError:
    """Keeps the disks for a later load, unless the one before failed alike."""
    # Two loads that fail alike may fail because of what the first left on the disks.
    if failure.what == before.failure:
        before.discard(data, world)
        advice = (
            "it failed twice for the same cause, so the next run loads from the start"
        )
    else:
        before.keep(addresses, failure.what)
        advice = "the next run goes on with this load; `tierbench clean` removes it"
    return UnfinishedError(failure.what, failure.advice or advice, failure.evidence)


def _note_complete(
    data: DataSet, outcome: _LoadOutcome, took_s: float, world: World
) -> None:
    folder = folder_of(data.snapshots, world)
    complete: dict[str, Any] = {
        **data.identity,
        "addresses": outcome.addresses,
        "loaded_s": world.clock.now(),
        "took_s": took_s,
        "facts": outcome.facts,
    }
    files.write_json(folder / DATASET, complete)


def _note_pace(data: DataSet, load_s: float, world: World) -> None:
    """Later estimates learn from how long it took."""
    profile = data.profile
    what = paces.load_of(data.workload)
    name = paces.kept_as(what, profile.tier, world.platform.name, profile.cluster)
    spent_times.keep(name, load_s, world, data_sizes.data_bytes(data.workload))


def _roomy(spec: ClusterSpec, world: World) -> ClusterSpec:
    """Nodes for loading, which is not measured.

    The nodes have all stages, and may have more memory. They have all CPUs of the machine. Where
    CPUs must be asked for, they have the CPUs that nobody has asked for.
    """
    # Runs with and without a stage (`--without`) start from the same data, loaded with all.
    spec = replace(spec, without="nothing")
    if spec.node is None:
        return spec
    free_cpus = world.platform.abilities.free_cpus
    if free_cpus is None:
        cpus = float(world.machine.facts().cpus)
    else:
        cpus = free_cpus(spec.nodes)
    memory_bytes = max(spec.size.memory_bytes, _LOADING_MEMORY_BYTES // spec.nodes)
    node = NodeSize(max(spec.size.cpus, cpus), memory_bytes, spec.size.disk_bytes)
    # A port that others are to reach is of the measured cluster alone.
    return replace(spec, node=node, port=None)
