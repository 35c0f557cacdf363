"""One workload carried by several clients: started together, ended together, read as one.

Each client is a container (`client-1`, …) with a folder of its own for raw output, and carries its
share (`parts.SplitLoad`) on a thread of this program. What is known of each, and of the only client
if it is on another machine, is kept in `clients.json`, by which `read` merges what they left. Times
are by this computer's clock; the measured window is the time in which all of them measured."""

import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.analysis.figures import rebuilt, slowed
from orchestrator.errors import UNREADABLE, LoadError, UsageError
from orchestrator.facts import GeneratorFacts
from orchestrator.model import CLIENT, ClusterSpec, Node, Phase, Tls, Workload
from orchestrator.parts import ClientLoad, LoadGenerator, Result, SplitLoad
from orchestrator.planning import client_shares
from orchestrator.powers import World
from orchestrator.run.clients import merged_facts
from orchestrator.run.clients.clients_together import Notes, Together, by_its_clock
from orchestrator.system import at_once, files

_NOTES = "clients.json"


def check(generator: LoadGenerator, workload: Workload, spec: ClusterSpec) -> None:
    """UsageError if that many clients cannot carry the workload."""
    if spec.clients == 1:
        return
    what = ""
    if generator.abilities.split_load is None:
        what = (
            f"{generator.name} runs it and keeps no record of each transaction. "
            "Counts and percentiles of several clients could not be merged "
            "exactly"
        )
    elif workload.threads < spec.clients:
        what = (
            f"it has {workload.threads} threads, and each client needs one of its own"
        )
    if what:
        raise UsageError(
            f"{workload.name} cannot be carried by {spec.clients} clients: {what}",
            advice="leave out `--clients` and `clients`, or name another workload",
        )


@contextmanager
def running(
    generator: LoadGenerator,
    count: int,
    network: str,
    out: Path,
    world: World,
    tls: Tls,
) -> Iterator[tuple[Node, ...]]:
    """Starts all clients; the output of the only one is in `out`, of several in folders there."""
    if count == 1:
        with generator.client(network, world, tls) as client:
            yield (client,)
        return
    brackets: list[AbstractContextManager[Node]] = []
    for number in range(1, count + 1):
        name = f"{CLIENT}-{number}"
        files.make_folder(out, name)
        brackets.append(generator.client(network, world, tls, name))
    with at_once.entered(brackets) as clients:
        yield tuple(clients)


def run(
    generator: LoadGenerator, load: ClientLoad, clients: Sequence[Node]
) -> tuple[Phase, Phase]:
    """Runs the whole load by all clients, as the generator's own `run` does by one.

    LoadError that names the client if one fails, or if they did not measure at the same time. The
    clock of an only client is that of this computer if it runs there; times of a generator without
    a record of each transaction are by this computer's clock anyway.
    """
    if len(clients) > 1:
        loads = _loads(load, clients)
        notes_of_all = Together(generator, loads, load.world).run()
        files.write_json(load.out / _NOTES, notes_of_all)
        return _common(notes_of_all.values())
    records = generator.abilities.split_load is not None
    if load.world.is_here:
        return generator.run(load)

    def run_by_its_clock(shifted: ClientLoad, _: float) -> tuple[Phase, Phase]:
        return generator.run(shifted)

    notes = by_its_clock(run_by_its_clock, load, shifts=records)
    # The run is read as one from here if there is nothing to shift or to tell.
    if records or "clock_offset_s" in notes:
        files.write_json(load.out / _NOTES, {load.client.name: notes})
    return _common([notes])


def _loads(load: ClientLoad, clients: Sequence[Node]) -> list[ClientLoad]:
    """What each client carries of the load."""
    loads: list[ClientLoad] = []
    parts = client_shares.shares(load.workload, len(clients))
    for workload, client in zip(parts, clients, strict=True):
        out = load.out / client.name
        loads.append(replace(load, workload=workload, client=client, out=out))
    return loads


def read(
    generator: LoadGenerator,
    workload: Workload,
    out: Path,
    start_s: float,
    end_s: float,
) -> Result:
    """Reads the results of all clients, each transaction once.

    There are figures of a rebuild or a slow disk too, if there was one. LoadError if a result is
    unreadable.
    """
    window_s = (start_s, end_s)
    with reading(generator.name):
        notes = files.content(out / _NOTES)
        split_load = generator.abilities.split_load
        if not notes:
            # The only client was on this computer, whose clock needs no shift.
            result = generator.read(workload, out, start_s, end_s)
        elif split_load is not None:
            result = _read_of_all(split_load, workload, out, window_s, notes)
        else:
            # One client is alone here if transactions are not recorded: `check` refuses more.
            (name,) = notes
            result = generator.read(workload, out, start_s, end_s)
            facts = merged_facts.one_of({name: result.facts}, notes, {})
            # Figures of a rebuild or a slow disk need a record of each transaction.
            return replace(result, facts=facts)
        # A run has one of the two at most: checks refuse a lost node beside a slow disk.
        times = files.content(out / rebuilt.FILE)
        if times:
            return rebuilt.added(result, times, window_s, workload.thinks)
        slow = files.content(out / slowed.FILE)
        if slow:
            return slowed.added(result, slow, window_s, workload.thinks)
        return result


@contextmanager
def reading(generator: str) -> Iterator[None]:
    """While a run's raw files are read. LoadError if they are not as the generator writes them."""
    try:
        # A NaN made from a cut file would become a figure; raised, it is a LoadError.
        with np.errstate(invalid="raise"):
            yield
    except UNREADABLE as error:
        what = f"what {generator} left cannot be read: {type(error).__name__}: {error}"
        advice = "look at the raw files of the run: they may be cut"
        raise LoadError(what, advice, traceback.format_exc()) from error


def _read_of_all(
    split_load: SplitLoad,
    workload: Workload,
    out: Path,
    window_s: tuple[float, float],
    notes: Mapping[str, Mapping[str, Any]],
) -> Result:
    """What all clients left, as if one client had done all of it."""
    tables: list[Any] = []
    facts: dict[str, GeneratorFacts] = {}
    for name in notes:
        folder = out
        if len(notes) > 1:
            folder = out / name
        table, facts[name] = split_load.records(folder)
        tables.append(table)
    # Transactions of several clients at one moment would otherwise be counted in two different
    # seconds.
    shifts_s: list[float] = []
    for noted in notes.values():
        shifts_s.append(float(noted["shifted_s"]))
    records = split_load.merged(tables, shifts_s)
    facts_of_all = merged_facts.one_of(facts, notes, split_load.fact_rules)
    return split_load.result(workload, (records, facts_of_all), *window_s)


def _common(notes_of_all: Collection[Notes]) -> tuple[Phase, Phase]:
    """The warm-up since all were running, and the time in which all measured. LoadError if none."""
    # The whole load is on the database only while all of them measure.
    begun_s = max(notes["began_s"] for notes in notes_of_all)
    start_s = max(notes["measured_from_s"] for notes in notes_of_all)
    end_s = min(notes["measured_to_s"] for notes in notes_of_all)
    if end_s <= start_s:
        raise LoadError(
            "the clients never measured at the same time: the last began "
            f"{start_s - end_s:.1f} s after the first had ended",
            advice=(
                "measure for longer, or run the clients on machines that are "
                "equally fast"
            ),
        )
    warmup = Phase("warm-up", min(begun_s, start_s), start_s)
    return warmup, Phase("measure", start_s, end_s)
