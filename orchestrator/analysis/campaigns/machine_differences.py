"""What the machines of two campaigns differ in, by what their fingerprints have of them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis import differences
from orchestrator.analysis.results import Results
from orchestrator.facts import group
from orchestrator.texts.prose import listed
from orchestrator.units import format_bytes


@dataclass(frozen=True)
class _MachineFact:
    """`key`: of `host` in fingerprint.json."""

    key: str
    title: str


_NAME = _MachineFact("hostname", "machine")
_KERNEL = _MachineFact("kernel", "kernel")
_HARDWARE = (
    _MachineFact("cpu_model", "CPU"),
    _MachineFact("cpus", "cores"),
    _KERNEL,
)
_MEMORY = _MachineFact("memory_bytes", "memory of the machine")


@dataclass(frozen=True)
class MachineDifference:
    """What the machines of two campaigns differ in. `left`, `right`: what each side has, in
    words."""

    fact: _MachineFact
    left: str
    right: str

    @property
    def is_of_kernel(self) -> bool:
        """Whether it is about the kernel, which is updated on the same machine."""
        return self.fact.key == _KERNEL.key

    def __str__(self) -> str:
        """`kernel 6.1 against 6.2`."""
        return f"{self.fact.title} {self.left} against {self.right}"


def unlike_machines(
    before: Results, after: Results, across: bool
) -> Iterator[MachineDifference]:
    """What machines differ in: of all machines if both recorded them, and of all parts of a
    campaign that was gone on with; `across`: of any name."""
    facts = list(_HARDWARE)
    if not across:
        # Two machines of one kind may differ, and that would be in every difference.
        facts.insert(0, _NAME)
    machines_before = _first_machines(before)
    machines_after = _first_machines(after)
    # Campaigns of earlier versions recorded one machine alone: then only that is compared.
    others_before = _other_machines(before)
    others_after = _other_machines(after)
    if others_before is not None and others_after is not None:
        machines_before += others_before
        machines_after += others_after
    for fact in facts:
        left = _kinds(machines_before, fact)
        right = _kinds(machines_after, fact)
        # What one side has not recorded cannot be called different.
        if left and right and left != right:
            yield MachineDifference(fact, _listed(left), _listed(right))
    yield from _unlike_memory(machines_before, machines_after)


def _parts(campaign: Results) -> Iterator[Mapping[str, Any]]:
    """The fingerprints of its parts, without those that are missing."""
    yield campaign.fingerprint
    for fingerprint in campaign.later_fingerprints:
        if fingerprint:
            yield fingerprint


def _first_machines(campaign: Results) -> list[Mapping[str, Any]]:
    """For each part of a campaign, the machine from which it was measured."""
    return [group(fingerprint, "host") for fingerprint in _parts(campaign)]


def _other_machines(campaign: Results) -> list[Mapping[str, Any]] | None:
    """The other machines of all parts; None if a part has not recorded them."""
    machines: list[Mapping[str, Any]] = []
    for fingerprint in _parts(campaign):
        recorded = fingerprint.get("other_machines")
        if not isinstance(recorded, list):
            return None
        machines += [group(machine) for machine in recorded]
    return machines


def _unlike_memory(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> Iterator[MachineDifference]:
    """How memory differs, by the smallest and the largest machine of each side."""
    sizes_before = _kinds(before, _MEMORY)
    sizes_after = _kinds(after, _MEMORY)
    if not sizes_before or not sizes_after:
        return
    left = [min(sizes_before), max(sizes_before)]
    right = [min(sizes_after), max(sizes_after)]
    if differences.unlike_memory(left, right):
        left_in_words = _listed([format_bytes(size) for size in left])
        right_in_words = _listed([format_bytes(size) for size in right])
        yield MachineDifference(_MEMORY, left_in_words, right_in_words)


def _kinds(machines: Sequence[Mapping[str, Any]], fact: _MachineFact) -> list[Any]:
    """What machines have of a fact, each once and in order; empty if one does not say it."""
    values = {machine.get(fact.key) for machine in machines}
    # The others are not all of the campaign if one of them does not say it.
    if not all(values):
        return []
    # Values are numbers or texts, which do not sort together.
    return sorted(values, key=str)


def _listed(values: Sequence[object]) -> str:
    texts = dict.fromkeys([str(value) for value in values])
    return listed(list(texts))
