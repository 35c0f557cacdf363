"""Reading nodes one by one, each on its own machine or from web pages of its servers."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from orchestrator import errors, powers
from orchestrator.model import Node, Sample
from orchestrator.system import at_once

Reading = tuple[str, str, float]  # metric, unit, value
Where = Callable[[Node], powers.Machine]  # OSError if the node's machine is not known


@dataclass(frozen=True)
class Page:
    """A page with counters of the node `name`. `parse`: its text → readings."""

    name: str
    url: str
    parse: Callable[[str], Iterable[Reading]]


Subject = TypeVar("Subject", Node, Page)


def on(platform: powers.Platform) -> Where:
    """Finds the machine of a node among those of the platform."""

    def machine_of(node: Node) -> powers.Machine:
        return powers.machine_named(platform, node.machine)

    return machine_of


def in_container(node: Node) -> bool:
    """Whether its process runs in a container, wherever that is."""
    return bool(node.container_id) or node.process_id is not None


def each(
    subjects: Iterable[Subject],
    read: Callable[[Subject], Iterable[tuple[float, Reading]]],
) -> Iterator[Sample]:
    """Samples of all that `read` gives, each with its time; then OSError with the failures."""
    failures: list[str] = []
    for subject in subjects:
        try:
            for time_s, (metric, unit, value) in read(subject):
                if not 0 <= value < math.inf:  # NaN neither
                    raise _no_counter(metric, value)
                yield Sample(time_s, subject.name, metric, unit, value)
        except (OSError, *errors.UNREADABLE) as error:
            # One node that cannot be read leaves a gap of its own: all others are read.
            failures.append(f"{subject.name}: {_in_words(error)}")
    if failures:
        raise OSError("; ".join(failures))


def _no_counter(metric: str, value: float) -> OSError:
    return OSError(f"{metric} is {value:g}, which no counter or gauge can be")


def _in_words(error: Exception) -> str:
    """Messages of our own stand alone; others need the kind of error, such as KeyError."""
    if type(error) is OSError:
        return str(error)
    return f"{type(error).__name__}: {error}"


class ReadingPace:
    """Says when something is due again that is not read at every tick."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._due_s = 0.0

    def is_due(self, now_s: float) -> bool:
        """If it is, it is due next when `every_s` have passed."""
        if now_s < self._due_s:
            return False
        self._due_s = now_s + self._every_s
        return True


class OnItsMachine:
    """A collector of files: of all nodes that are `watched`, each read on its machine. What a
    machine has read before counts as of then, and not as of `now_s`."""

    def __init__(self, where: Where) -> None:
        self._where = where

    def watched(self, node: Node) -> bool:
        return in_container(node)

    def readings(self, machine: powers.Machine, node: Node) -> Iterable[Reading]:
        """OSError if a file is not there."""
        raise NotImplementedError

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        def readings(node: Node) -> Iterator[tuple[float, Reading]]:
            machine = self._where(node)
            for reading in self.readings(machine, node):
                yield _read_s(machine, now_s), reading

        watched = [node for node in nodes if self.watched(node)]
        return each(watched, readings)


def _read_s(machine: powers.Machine, now_s: float) -> float:
    """When a machine has read what it gives, if that was before."""
    read_s = machine.read_at()
    if read_s is None:
        return now_s
    return read_s


_TIMEOUT_S = 2.0  # a reading must be short: the other collectors wait meanwhile

Get = Callable[[str, float], str]


def samples(pages: Sequence[Page], now_s: float, get: Get) -> Iterator[Sample]:
    """Samples of all pages that can be read; then OSError with the failures of the others."""
    # All are asked at once. Disks of one exporter share a page, which is asked for once.
    bodies = {}
    for page in pages:
        if page.url not in bodies:
            bodies[page.url] = at_once.begun(partial(get, page.url, _TIMEOUT_S))

    def read(page: Page) -> Iterator[tuple[float, Reading]]:
        body = bodies[page.url].result()
        for reading in page.parse(body):
            yield now_s, reading

    return each(pages, read)
