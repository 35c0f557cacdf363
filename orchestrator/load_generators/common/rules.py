"""What the file of a workload may say to its load generator: known without the libraries that read
figures, so that a file is checked at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.model import Workload


def _unknown_keys(_script: str) -> Mapping[str, Sequence[str]]:
    return {}


def _no_mistakes(_workload: Workload) -> Iterable[tuple[str, str]]:
    return ()


def _nothing_to_check(_workload: Workload) -> None:
    pass


@dataclass(frozen=True)
class WorkloadRules:
    """The rules of one load generator.

    `keys`: script → what it takes under `options` and `dataset`, and under `scale` which of its
    keys count, if not all; a group that is not there is not known, so nothing in it is refused.

    `mistakes`: what is wrong with a file, whatever the cluster, as key and what. `check`: the same
    for one that raises a UsageError in words of its own.

    `converted`: returns the workload of another load generator as one of this one, or raises a
    UsageError. None: it runs its own workloads alone.

    `keeps_transactions`: whether there is a record of each.
    """

    keys: Callable[[str], Mapping[str, Sequence[str]]] = _unknown_keys
    mistakes: Callable[[Workload], Iterable[tuple[str, str]]] = _no_mistakes
    check: Callable[[Workload], None] = _nothing_to_check
    converted: Callable[[Workload], Workload] | None = None
    keeps_transactions: bool = True
