"""Reading nodes one by one, each on its own machine or from web pages of its servers."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from orchestrator import errors, powers
from orchestrator.model import Node, Sample
from orchestrator.platforms.common.agent import AgentMachine
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
        for machine in platform.machines():
            if machine.name == node.machine:
                return machine
        raise OSError(f"no machine {node.machine!r} is known")

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
                    raise ValueError(
                        f"{metric} is {value:g}, as no counter or gauge is"
                    )
                yield Sample(time_s, subject.name, metric, unit, value)
        except (OSError, *errors.UNREADABLE) as error:
            # Messages of our own stand alone; others need the kind of error, such as KeyError.
            if type(error) is OSError:
                kind = ""
            else:
                kind = f"{type(error).__name__}: "
            failures.append(f"{subject.name}: {kind}{error}")
    if failures:
        raise OSError("; ".join(failures))


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
                read_s = None
                if isinstance(machine, AgentMachine):
                    read_s = machine.read_at()
                yield (now_s if read_s is None else read_s), reading

        return each(filter(self.watched, nodes), readings)


# They are read all at once, because a reading must be short: the other collectors wait meanwhile.
_TIMEOUT_S = 2.0

Get = Callable[[str, float], str]


def samples(pages: Sequence[Page], now_s: float, get: Get) -> Iterator[Sample]:
    """Samples of all pages that can be read; then OSError with the failures of the others. Disks
    of one exporter share a page, which is asked for once."""
    bodies = {
        u: at_once.begun(partial(get, u, _TIMEOUT_S))
        for u in {page.url for page in pages}
    }

    def read(page: Page) -> Iterator[tuple[float, Reading]]:
        return ((now_s, reading) for reading in page.parse(bodies[page.url].result()))

    return each(pages, read)
