"""What two runs differ in besides their tier: each difference names its subject. Pure.

The size of the disk belongs to the tier (many tiers grow with it), so it may differ.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis.run_values import ComparedValues
from orchestrator.analysis.subjects import Subject, Topic, Values
from orchestrator.design import factors, slow_disks
from orchestrator.units import format_bytes

# Two loads of the same rows do not take the same bytes: files are rewritten at other times.
MAX_DATA_DIFFERENCE_PCT = 5.0
MEMORY_TOLERANCE_PCT = 1.0  # a kernel keeps some for itself, and not always as much
# The records of slow disks have no text of their own.
_SLOW_DISKS = Subject(Topic.WORKLOAD, "slow")


@dataclass(frozen=True)
class Difference:
    """Two values of one subject that are unlike; None of a side that has none."""

    subject: Subject
    left: Any
    right: Any

    def __str__(self) -> str:
        """`database version 17.2 against 16.4`."""
        left = _shown(self.subject, self.left)
        right = _shown(self.subject, self.right)
        return f"{self.subject.title} {left} against {right}"


def in_words(differences: Iterable[Difference]) -> tuple[str, ...]:
    """A phrase each; those that read alike once."""
    return tuple(dict.fromkeys([str(difference) for difference in differences]))


def between(left: ComparedValues, right: ComparedValues) -> tuple[Difference, ...]:
    """All differences of two runs but the tier: what was asked for, then what was seen."""
    asked = unlike(left.asked, right.asked)
    # What one side did not tell is no difference: it may be as the other's.
    shared = [subject for subject in left.seen if subject in right.seen]
    seen = unlike(
        {subject: left.seen[subject] for subject in shared},
        {subject: right.seen[subject] for subject in shared},
    )
    return (*asked, *seen)


def unlike(left: Values, right: Values) -> Iterator[Difference]:
    """The subjects whose values are unlike, and those that one side lacks; of mappings by key."""
    # Most runs are alike, and Python compares equal mappings faster than a loop does.
    if left == right:
        return
    for subject in dict.fromkeys((*left, *right)):
        first = left.get(subject)
        second = right.get(subject)
        if isinstance(first, Mapping) and isinstance(second, Mapping):
            yield from unlike(_inner(subject, first), _inner(subject, second))
        elif _are_unlike(subject.topic, first, second):
            yield Difference(subject, first, second)


def _inner(subject: Subject, values: Mapping[str, Any]) -> Values:
    return {
        Subject(subject.topic, f"{subject.key}.{name}"): value
        for name, value in values.items()
    }


# ------------------------------------------------------------------ the rule of each topic


def _are_unlike(topic: Topic, left: Any, right: Any) -> bool:
    if topic in (Topic.MACHINE_MEMORY, Topic.NODE_MEMORY):
        return unlike_memory(left, right)
    if topic is Topic.TLS:
        # Encryption takes CPU; how far a certificate is checked changes no session.
        return bool((left == "off") != (right == "off"))
    if topic is Topic.DATA_BEFORE:
        # Two loads of the same rows do not take the same bytes.
        larger = max(left, right)
        apart = larger - min(left, right)
        return bool(apart > MAX_DATA_DIFFERENCE_PCT / 100 * larger)
    if topic is Topic.BURST_CREDIT:
        # One is known to have begun on credit and the other without: no tier's difference.
        return set(left).isdisjoint(right)
    return bool(left != right)


def unlike_memory(left: Sequence[float], right: Sequence[float]) -> bool:
    """Whether two lists of bytes, each in order of size, differ by more than kernels explain."""
    if len(left) != len(right):
        return True
    most = 1 + MEMORY_TOLERANCE_PCT / 100
    pairs = [sorted(pair) for pair in zip(left, right, strict=True)]
    return any(large > small * most for small, large in pairs)


def _shown(subject: Subject, value: Any) -> str:
    topic = subject.topic
    if value is None:
        return "not given"
    if subject == _SLOW_DISKS:
        return slow_disks.all_described(value) or "not given"
    if topic is Topic.CLUSTER:
        return factors.OF_CLUSTER[subject.key].show(value)
    if topic in (Topic.MEMORY_PER_NODE, Topic.DATA_BEFORE):
        return format_bytes(value)
    if topic in (Topic.MACHINE_MEMORY, Topic.NODE_MEMORY):
        return ", ".join([format_bytes(size) for size in value])
    if topic in (Topic.BURST_CREDIT, Topic.FILE_SYSTEM):
        return " or ".join(sorted(value))
    return str(value)
