"""A cause: what limited a node, and the sentences that say so. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator import facts
from orchestrator.analysis.telemetry.use.node_values import Evidence


@dataclass(frozen=True)
class Cause:
    """Its name, and the sentences that a database administrator reads. `ahead_pct`: how much more
    of throughput follows it than the next. `is_no_disk`: whether a faster disk would not raise
    throughput, as far as counters tell."""

    name: facts.BottleneckCause
    text: str
    ahead_pct: float | None = None
    is_no_disk: bool = False


# Words of a cause's name that are no common ones.
_ABBREVIATIONS = {"iops": "IOPS", "cpu": "CPU", "wal": "WAL", "vm": "VM"}


def cause_in_words(name: str) -> str:
    """`IOPS cap`, for `iops_cap` as verdict.json has it."""
    words: list[str] = []
    for word in name.split("_"):
        words.append(_ABBREVIATIONS.get(word, word))
    return " ".join(words)


class Rule(NamedTuple):
    """When a cause holds, and what is then said of a node."""

    holds: Callable[[Evidence], bool]
    cause: Callable[[Evidence, str], Cause]


def first_of(rules: Sequence[Rule], values: Evidence, node: str) -> Cause | None:
    """The cause of the first rule that holds."""
    for rule in rules:
        if rule.holds(values):
            return rule.cause(values, node)
    return None
