"""A database on a disk, simulated by other means than the package's: the truth of bench_predict.

Work waits in explicit queues. CPU goes round by turns of a quantum, tokens of the disk come in
whole portions every millisecond. What the package's model does not know: a page cache that warms
up with the transactions done, and a hot row that some transactions hold until they have committed.

Pages are written as PostgreSQL writes them by default (its manual, "Background Writer"). Every
200 ms a background writer takes at most 100 pages (bgwriter_delay, bgwriter_lru_maxpages), starts
write-out behind every 64 of them (bgwriter_flush_after: 512 kB), and goes on when the disk has
them. It keeps twice as many clean as a round writes (bgwriter_lru_multiplier): where sessions
dirty pages faster, they write out as many themselves, and wait for each. Real ones were seen to:
`docs/research/PREDICTION.md`.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

QUANTUM_S, PORTION_S = 0.0005, 0.001
SAVED_S = 0.02  # for so long a disk keeps what was not used (docs/research/DISKS.md)
ROUND_S, ROUND_PAGES, BATCH_PAGES = 0.2, 100, 64  # of the background writer
DIRTY_PAGES = 2 * ROUND_PAGES  # so many, and sessions find no clean one
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
class Counted:
    """What database and disk count from the start on. Writes hold syncs; seconds are of all I/Os
    together, from when they were asked for."""

    done: int = 0
    reads: int = 0
    read_s: float = 0.0
    writes: int = 0
    write_s: float = 0.0
    syncs: int = 0
    sync_s: float = 0.0
    cpu_s: float = 0.0


@dataclass
class Outcome:
    """Transactions of the window; and at regular times, from the start of the warm-up on, what was
    counted, and how many sessions waited for what."""

    latencies_s: list[float] = field(default_factory=list)
    ticks: list[tuple[Counted, Mapping[str, int]]] = field(default_factory=list)


@dataclass
class _Work:
    left_s: float
    then: Then


class _World:
    def __init__(self, system: Reference, disk: ReferenceDisk, seed: int) -> None:
        self.system, self.disk, self.random = system, disk, random.Random(seed)
        self.now, self.counted, self.outcome = 0.0, Counted(), Outcome()
        self._waiting = Counter[str]()  # sessions, by what they wait for
        self._ahead: list[tuple[float, int, Then]] = []
        self._order = itertools.count()
        self._ready: deque[_Work] = deque()
        self._idle_cpus = system.cpus
        self._asked: deque[tuple[float, Then]] = deque()  # I/Os that wait for tokens
        self._tokens = 0.0
        self._dirty = self._to_clean = 0
        self._committing: list[Then] = []
        self._syncing = self._row_taken = False
        self._row_queue: deque[Then] = deque()

    def after(self, seconds: float, then: Then) -> None:
        heappush(self._ahead, (self.now + seconds, next(self._order), then))

    def run(self, warmup_s: float, window_s: float, ticks: int) -> Outcome:
        """`ticks`: how often it is looked at, at regular times."""
        end_s = warmup_s + window_s
        self.after(0.0, self._portion)
        self.after(0.0, self._round)
        self.after(warmup_s, self.outcome.latencies_s.clear)
        for tick in range(ticks + 1):
            self.after(min(end_s, tick * end_s / ticks), self._look)
        for _ in range(self.system.threads):
            self._transaction()
        while self._ahead[0][0] <= end_s:
            self.now, _, then = heappop(self._ahead)
            then()
        return self.outcome

    def _look(self) -> None:
        self.outcome.ticks.append((replace(self.counted), dict(self._waiting)))

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
                self.counted.cpu_s += part_s
                work.left_s -= part_s
                if work.left_s > 1e-9:
                    self._ready.append(work)
                else:
                    work.then()
                self._turn()

            self.after(part_s, ended)

    # ------------------------------------------------------------------ disk

    def _portion(self) -> None:
        most = self.disk.iops * SAVED_S + 1
        self._tokens = min(self._tokens + self.disk.iops * PORTION_S, most)
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

    def read(self, then: Then) -> None:
        asked_s = self.now

        def done() -> None:
            self.counted.reads += 1
            self.counted.read_s += self.now - asked_s
            then()

        self.io(done)

    def write(self, then: Then) -> None:
        asked_s = self.now

        def done() -> None:
            self.counted.writes += 1
            self.counted.write_s += self.now - asked_s
            then()

        self.io(done)

    def waits(self, kind: str, work: Callable[[Then], None], then: Then) -> None:
        """Does the work, for which a session waits."""
        self._waiting[kind] += 1

        def done() -> None:
            self._waiting[kind] -= 1
            then()

        work(done)

    # ------------------------------------------------------------------ pages that are written

    def _round(self) -> None:
        self._to_clean = min(ROUND_PAGES, self._dirty)
        self._batch()

    def _batch(self) -> None:
        """Writes the next pages of a round, and goes on when the disk has them all."""
        pages = min(BATCH_PAGES, self._to_clean)
        if not pages:
            self.after(ROUND_S, self._round)
            return
        self._to_clean -= pages
        self._dirty -= pages
        left = [pages]

        def written() -> None:
            left[0] -= 1
            if not left[0]:
                self._batch()

        for _ in range(pages):
            self.write(written)

    def _dirties(self, pages: int, then: Then) -> None:
        """A session that finds no clean page for one that it dirties writes one out, and waits."""
        if not pages:
            then()
            return
        self._dirty += 1
        if self._dirty <= DIRTY_PAGES:
            self._dirties(pages - 1, then)
            return
        self._dirty -= 1
        self.waits("reading", self.write, lambda: self._dirties(pages - 1, then))

    # ------------------------------------------------------------------ a transaction

    def _transaction(self) -> None:
        system, began_s = self.system, self.now
        more = 1 + system.cold * 2.718 ** (-self.counted.done / system.warm_after)
        holds = self.random.random() < system.held
        left = [system.statements]

        def statement() -> None:
            self.after(system.round_trip_s, parse)

        def parse() -> None:
            need_s = self.random.gammavariate(2, system.cpu_s / system.statements / 2)
            self.compute(need_s, lambda: read(self._reads(more)))

        def read(count: int) -> None:
            if count:
                self.waits("reading", self.read, lambda: read(count - 1))
                return
            left[0] -= 1
            if left[0]:
                statement()
            elif holds:
                self.waits("locked", self._take_row, write)
            else:
                write()

        def write() -> None:
            whole, part = divmod(system.writes, 1)
            self._dirties(int(whole) + (self.random.random() < part), commit)

        def commit() -> None:
            if system.commits:
                self.waits("syncing", self._commit, end)
            else:
                end()

        def end() -> None:
            if holds:
                self._give_row()
            self.counted.done += 1
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

    def _commit(self, then: Then) -> None:
        self._committing.append(then)
        if not self._syncing:
            self._sync()

    def _sync(self) -> None:
        together, self._committing, self._syncing = self._committing, [], True
        began_s = self.now

        def synced() -> None:
            self.counted.syncs += 1
            self.counted.sync_s += self.now - began_s
            self._syncing = False
            for then in together:
                then()
            if self._committing and not self._syncing:
                self._sync()

        self.write(synced)


def observe(
    system: Reference,
    disk: ReferenceDisk,
    seed: int,
    warmup_s: float,
    window_s: float,
    ticks: int,
) -> Outcome:
    """What the system does on the disk in a window after a warm-up."""
    return _World(system, disk, seed).run(warmup_s, window_s, ticks)
