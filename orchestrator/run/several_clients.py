"""One workload carried by several clients: started together, ended together, read as one.

Each client is a container (`client-1`, …) with a folder of its own for raw output, and carries its
share (`parts.SplitLoad`) on a thread of this program. What is known of each, and of the only client
if it is on another machine, is kept in `clients.json`, by which `read` merges what they left. Times
are by this computer's clock; the measured window is the time in which all of them measured."""

import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.analysis.figures import rebuilt, slowed
from orchestrator.errors import UNREADABLE, LoadError, TierbenchError, UsageError
from orchestrator.facts import GeneratorFacts
from orchestrator.model import CLIENT, ClusterSpec, Node, Phase, Tls, Workload
from orchestrator.parts import ClientLoad, LoadGenerator, Result, Share, SplitLoad
from orchestrator.planning import client_shares
from orchestrator.powers import Progress, World
from orchestrator.run import merged_facts
from orchestrator.run.client_clocks import ShiftedClock, compare_clocks
from orchestrator.system import at_once, files

LEAD_S = 2.0  # from the moment at which all are ready, to tell each when to begin
# Each hears of the window at its next report, a second later at most.
AGREED_AHEAD_S = 1.5
READY_WITHIN_S = 100.0  # the first waits for the last; the scripts wait a little longer
_NOTES = "clients.json"
Notes = dict[str, float]  # what is kept there of a client, by this computer's clock


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
        notes_of_all = _Together(generator, loads, load.world).run()
        files.write_json(load.out / _NOTES, notes_of_all)
        return _common(notes_of_all.values())
    records = generator.abilities.split_load is not None
    if load.world.is_here:
        return generator.run(load)

    def run_by_its_clock(shifted: ClientLoad, _: float) -> tuple[Phase, Phase]:
        return generator.run(shifted)

    notes = _by_its_clock(run_by_its_clock, load, shifts=records)
    if records or "clock_offset_s" in notes:  # else it changes nothing
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
    with reading(generator.name):
        notes = files.content(out / _NOTES)
        split_load = generator.abilities.split_load
        if not notes:  # the only one was here
            result = generator.read(workload, out, start_s, end_s)
        elif split_load is not None:
            result = _read_of_all(split_load, workload, out, (start_s, end_s), notes)
        else:
            (name,) = notes
            result = generator.read(workload, out, start_s, end_s)
            return replace(
                result, facts=merged_facts.one_of({name: result.facts}, notes)
            )
        window_s = (start_s, end_s)
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
    shifts_s: list[float] = []
    for noted in notes.values():
        shifts_s.append(float(noted["shifted_s"]))
    records = split_load.merged(tables, shifts_s)
    facts_of_all = merged_facts.one_of(facts, notes)
    return split_load.result(workload, (records, facts_of_all), *window_s)


def _by_its_clock(
    run: Callable[[ClientLoad, float], tuple[Phase, Phase]],
    load: ClientLoad,
    shifts: bool = True,
) -> Notes:
    """`run` gets a world with the client's clock, if that `shifts`, and by how much it is later.
    Returns what is noted of it."""
    world = load.world
    before = compare_clocks(load.client, world)
    shift_s = 0.0
    if before and shifts:
        shift_s = before.shift_s
    shifted = replace(
        world,
        clock=ShiftedClock(world.clock, shift_s),
        window_begins=lambda time_s: world.window_begins(time_s - shift_s),
    )
    warmup, measure = run(replace(load, world=shifted), shift_s)
    notes: Notes = {
        "threads": load.workload.threads,
        "began_s": warmup.start_s - shift_s,
        "measured_from_s": measure.start_s - shift_s,
        "measured_to_s": measure.end_s - shift_s,
        "shifted_s": shift_s,
    }
    after = None
    if before:
        after = compare_clocks(load.client, world)
    if before and after:
        notes["clock_offset_s"] = before.offset_s
        notes["clock_offset_after_s"] = after.offset_s
        notes["clock_uncertainty_s"] = max(before.within_s, after.within_s)
    return notes


class _Together:
    """One run by several clients, a thread for each."""

    def __init__(
        self, generator: LoadGenerator, loads: Sequence[ClientLoad], world: World
    ) -> None:
        self._generator = generator
        self._loads = loads
        self._world = world
        self._lock = threading.Lock()
        self._failure: tuple[Node, BaseException] | None = None
        self._windows_s: list[float] = []
        self._begins_s = 0.0
        self._would_begin = [False] * len(loads)
        self._agreed_s: float | None = None
        self._per_s = [0.0] * len(loads)
        self._ready = threading.Barrier(len(loads), self._agree, READY_WITHIN_S)

    def run(self) -> dict[str, Notes]:
        """Client → what is noted of it."""
        calls: list[at_once.StartedCall[Notes]] = []
        for number in range(len(self._loads)):
            calls.append(at_once.begun(partial(self._carried, number), "client"))
        try:
            at_once.all_ended(calls)
        except BaseException:  # an interrupt: the threads end when their clients do
            self._end()
            at_once.all_ended(calls)
            raise
        if self._failure:
            client, error = self._failure
            if isinstance(error, LoadError):
                what = f"{client.name}: {error.what}"
                raise LoadError(what, error.advice, error.evidence) from error
            raise error
        notes: dict[str, Notes] = {}
        for load, call in zip(self._loads, calls, strict=True):
            notes[load.client.name] = call.result()
        return notes

    def _carried(self, at: int) -> Notes:
        try:
            return self._carry(at)
        except BaseException as error:
            with self._lock:
                self._failure = self._failure or (self._loads[at].client, error)
            self._end()
            raise

    def _carry(self, at: int) -> Notes:
        load = self._loads[at]
        several = len(self._loads)
        progress = _Prefixed(self._world.progress, load.client.name, several, at == 0)
        world = replace(
            self._world,
            progress=progress,
            window_begins=self._window_begins,
            throughput_seen=partial(self._throughput_seen, at),
        )
        first = 0
        for before in self._loads[:at]:
            first += before.workload.threads

        def run_share(shifted: ClientLoad, shift_s: float) -> tuple[Phase, Phase]:
            def begin() -> float:
                return self._begin() + shift_s

            agree = partial(self._agree_on_window, at, shift_s)
            share = Share(at + 1, several, first, begin, agree)
            return self._generator.run(replace(shifted, share=share))

        return _by_its_clock(run_share, replace(load, world=world))

    def _agree(self) -> None:
        """Once, when all clients are ready."""
        self._begins_s = self._world.clock.now() + LEAD_S

    def _begin(self) -> float:
        try:
            self._ready.wait()
        except threading.BrokenBarrierError:
            raise LoadError(
                f"not all clients were ready to begin within {READY_WITHIN_S:g} s",
            ) from None
        return self._begins_s

    def _agree_on_window(self, at: int, shift_s: float, would: bool) -> float | None:
        with self._lock:
            self._would_begin[at] = would
            if self._agreed_s is None and all(self._would_begin):
                self._agreed_s = self._world.clock.now() + AGREED_AHEAD_S
            if self._agreed_s is None:
                return None
            return self._agreed_s + shift_s

    def _window_begins(self, time_s: float) -> None:
        """The window of all begins when that of the last does."""
        with self._lock:
            self._windows_s.append(time_s)
            last = len(self._windows_s) == len(self._loads)
        if last:
            self._world.window_begins(max(self._windows_s))

    def _throughput_seen(self, at: int, per_s: float) -> None:
        """Tells the throughput of all clients together, when the first has reported."""
        self._per_s[at] = per_s
        if at == 0:
            self._world.throughput_seen(sum(self._per_s))

    def _end(self) -> None:
        """Ends all clients; what runs in them ends with an error, which is not the first."""
        self._ready.abort()
        for load in self._loads:
            with suppress(TierbenchError):
                self._world.platform.container(load.client.container or "").stop(1.0)


def _common(notes_of_all: Collection[Notes]) -> tuple[Phase, Phase]:
    """The warm-up since all were running, and the time in which all measured. LoadError if none."""
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


class _Prefixed:
    """Shows the steps of the first client for all of them, and every message with its client."""

    def __init__(
        self, progress: Progress, client: str, count: int, shown: bool
    ) -> None:
        self._progress = progress
        self._client = client
        self._count = count
        self._shown = shown
        self.run = progress.run

    def step(self, text: str, expected_s: float | None = None) -> None:
        if self._shown:
            self._progress.step(f"{self._client} of {self._count}: {text}", expected_s)

    def note(self, text: str) -> None:
        self._progress.note(f"{self._client}: {text}")

    def warn(self, text: str) -> None:
        self._progress.warn(f"{self._client}: {text}")
