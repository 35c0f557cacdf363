"""Clients that carry one load together: they begin, measure and end at the same time.

Each is on a thread of this program. What is noted of it is by this computer's clock.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from orchestrator.errors import LoadError, TierbenchError
from orchestrator.model import Node, Phase
from orchestrator.parts import ClientLoad, LoadGenerator, Share
from orchestrator.powers import Progress, World
from orchestrator.run.clients.client_clocks import ShiftedClock, compare_clocks
from orchestrator.system import at_once

# Seconds from the moment at which all are ready. Each client must hear of the start within them.
LEAD_S = 2.0
# Each hears of the window at its next report, a second later at most.
AGREED_AHEAD_S = 1.5
READY_WITHIN_S = 100.0  # the first waits for the last; the scripts wait a little longer
# Moments that are noted of a client, by this computer's clock.
Notes = dict[str, float]


def by_its_clock(
    run: Callable[[ClientLoad, float], tuple[Phase, Phase]],
    load: ClientLoad,
    shifts: bool,
) -> Notes:
    """`run` gets a world with the client's clock, if that `shifts`, and by how much it is later.
    Returns what is noted of it."""
    world = load.world
    before = compare_clocks(load.client, world)
    shift_s = 0.0
    if before and shifts:
        # The script writes the times of the client's clock, so moments given to it are shifted
        # too.
        shift_s = before.shift_s
    shifted = replace(
        world,
        clock=ShiftedClock(world.clock, shift_s),
        # The client's times are turned back to this computer's clock.
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
    # Read again, because a clock that has moved puts transactions into wrong seconds.
    after = None
    if before:
        after = compare_clocks(load.client, world)
    if before and after:
        notes["clock_offset_s"] = before.offset_s
        notes["clock_offset_after_s"] = after.offset_s
        notes["clock_uncertainty_s"] = max(before.within_s, after.within_s)
    return notes


class Together:
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
            # The message names the client: otherwise nobody could tell which one failed.
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
                # The first failure alone is kept: the others fail because all are ended then.
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
            share = Share(
                number=at + 1,
                clients=several,
                first_thread=first,
                begin=begin,
                agree=agree,
            )
            return self._generator.run(replace(shifted, share=share))

        return by_its_clock(run_share, replace(load, world=world), shifts=True)

    def _agree(self) -> None:
        """Once, when all clients are ready."""
        self._begins_s = self._world.clock.now() + LEAD_S

    def _begin(self) -> float:
        try:
            # A barrier and no wait of the clock: all clients begin, or none does.
            self._ready.wait()
        except threading.BrokenBarrierError:
            raise LoadError(
                f"not all clients were ready to begin within {READY_WITHIN_S:g} s",
                advice="see in the raw files of the run what the slowest was doing",
            ) from None
        return self._begins_s

    def _agree_on_window(self, at: int, shift_s: float, would: bool) -> float | None:
        with self._lock:
            self._would_begin[at] = would
            if self._agreed_s is None and all(self._would_begin):
                # Agreed once for all, so that clients which hear of it at unlike moments begin
                # together.
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
        # Clients that still wait to begin would wait for the one that failed.
        self._ready.abort()
        for load in self._loads:
            with suppress(TierbenchError):
                # A thread cannot be ended; without its container its client ends by itself.
                self._world.platform.container(load.client.container or "").stop(1.0)


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
