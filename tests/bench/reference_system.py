"""A database on a disk, simulated by other means than the package's: the truth of bench_predict.

Work waits in explicit queues. CPU goes round by turns of a quantum, tokens of the disk come in
whole portions every millisecond, written pages are flushed together every tenth of a second. What
the package's model does not know: a page cache that warms up with the transactions done, and a hot
row that some transactions hold until they have committed.
"""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush

QUANTUM_S, PORTION_S, FLUSH_S = 0.0005, 0.001, 0.1
Then = Callable[[], None]


@dataclass(frozen=True)
class Reference:
    """One system. `statements`: of a transaction, each with a round trip, CPU and reads."""

    threads: int
    statements: int
    cpus: int
    cpu_s: float
    round_trip_s: float
    reads: float
    writes: float
    commits: bool
    held: float = 0.0  # share of the transactions that take the hot row
    cold: float = 0.0  # by how much more is read at the start, of `reads`
    warm_after: int = 1  # transactions after which a third of that is left


@dataclass(frozen=True)
class ReferenceDisk:
    iops: float
    latency_s: float
    spread: float = 0.3  # of the logarithm of its latencies


@dataclass
class Outcome:
    """What was counted in the window."""

    latencies_s: list[float] = field(default_factory=list)
    reads: int = 0
    writes: int = 0
    write_s: float = 0.0  # all of them together
    syncs: int = 0
    sync_s: float = 0.0
    cpu_s: float = 0.0


@dataclass
class _Work:
    left_s: float
    then: Then


class _World:
    def __init__(self, system: Reference, disk: ReferenceDisk, seed: int) -> None:
        self.system, self.disk, self.random = system, disk, random.Random(seed)
        self.now, self.done, self.outcome = 0.0, 0, Outcome()
        self._ahead: list[tuple[float, int, Then]] = []
        self._order = itertools.count()
        self._ready: deque[_Work] = deque()
        self._idle_cpus = system.cpus
        self._asked: deque[tuple[float, Then]] = deque()  # I/Os that wait for tokens
        self._tokens = 0.0
        self._dirty = 0.0
        self._committing: list[Then] = []
        self._syncing = self._row_taken = False
        self._row_queue: deque[Then] = deque()

    def after(self, seconds: float, then: Then) -> None:
        heappush(self._ahead, (self.now + seconds, next(self._order), then))

    def run(self, warmup_s: float, window_s: float) -> Outcome:
        self.after(0.0, self._portion)
        self.after(FLUSH_S, self._flush)
        self.after(warmup_s, self._begin)
        for _ in range(self.system.threads):
            self._transaction()
        while self._ahead[0][0] < warmup_s + window_s:
            self.now, _, then = heappop(self._ahead)
            then()
        return self.outcome

    def _begin(self) -> None:
        self.outcome = Outcome()

    # ------------------------------------------------------------------ CPU

    def compute(self, need_s: float, then: Then) -> None:
        self._ready.append(_Work(need_s, then))
        self._turn()

    def _turn(self) -> None:
        while self._idle_cpus and self._ready:
            work = self._ready.popleft()
            part_s = min(QUANTUM_S, work.left_s)
            self._idle_cpus -= 1

            def ended(work: _Work = work, part_s: float = part_s) -> None:
                self._idle_cpus += 1
                self.outcome.cpu_s += part_s
                work.left_s -= part_s
                if work.left_s > 1e-9:
                    self._ready.append(work)
                else:
                    work.then()
                self._turn()

            self.after(part_s, ended)

    # ------------------------------------------------------------------ disk

    def _portion(self) -> None:
        self._tokens = min(self._tokens + self.disk.iops * PORTION_S, 5 * self.disk.iops / 1000 + 1)
        self._pass()
        self.after(PORTION_S, self._portion)

    def _pass(self) -> None:
        while self._asked and self._tokens >= 1:
            self._tokens -= 1
            latency_s, then = self._asked.popleft()
            self.after(latency_s, then)

    def io(self, then: Then) -> None:
        spread = self.disk.spread
        factor = self.random.lognormvariate(-spread * spread / 2, spread)
        self._asked.append((self.disk.latency_s * factor, then))
        self._pass()

    def _flush(self) -> None:
        while self._dirty >= 1:
            self._dirty -= 1
            self.outcome.writes += 1
            self.io(partial(self._written, self.now))
        self.after(FLUSH_S, self._flush)

    def _written(self, asked_s: float) -> None:
        self.outcome.write_s += self.now - asked_s

    # ------------------------------------------------------------------ a transaction

    def _transaction(self) -> None:
        system, began_s = self.system, self.now
        more = 1 + system.cold * 2.718 ** (-self.done / system.warm_after)
        holds = self.random.random() < system.held
        left = [system.statements]

        def statement() -> None:
            self.after(system.round_trip_s, parse)

        def parse() -> None:
            need_s = self.random.gammavariate(2, system.cpu_s / system.statements / 2)
            self.compute(need_s, lambda: read(self._reads(more)))

        def read(count: int) -> None:
            if count:
                self.outcome.reads += 1
                self.io(lambda: read(count - 1))
                return
            left[0] -= 1
            if left[0]:
                statement()
            elif holds:
                self._take_row(commit)
            else:
                commit()

        def commit() -> None:
            self._dirty += system.writes
            if not system.commits:
                end()
                return
            self._committing.append(end)
            if not self._syncing:
                self._sync()

        def end() -> None:
            if holds:
                self._give_row()
            self.done += 1
            self.outcome.latencies_s.append(self.now - began_s)
            self._transaction()

        statement()

    def _reads(self, more: float) -> int:
        """Of one statement: as many pages as miss, of twice as many that it looks at."""
        mean = self.system.reads * more / self.system.statements
        looked = max(1, round(2 * mean))
        return sum(self.random.random() < mean / looked for _ in range(looked))

    def _take_row(self, then: Then) -> None:
        if self._row_taken:
            self._row_queue.append(then)
        else:
            self._row_taken = True
            then()

    def _give_row(self) -> None:
        self._row_taken = bool(self._row_queue)
        if self._row_queue:
            self.after(0.0, self._row_queue.popleft())

    def _sync(self) -> None:
        together, self._committing, self._syncing = self._committing, [], True
        began_s = self.now

        def synced() -> None:
            self.outcome.syncs += 1
            self.outcome.writes += 1
            self.outcome.sync_s += self.now - began_s
            self._syncing = False
            for then in together:
                then()
            if self._committing and not self._syncing:
                self._sync()

        self.io(synced)


def observe(
    system: Reference, disk: ReferenceDisk, seed: int, warmup_s: float, window_s: float
) -> Outcome:
    """What the system does on the disk in a window after a warm-up."""
    return _World(system, disk, seed).run(warmup_s, window_s)
