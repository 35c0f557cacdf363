"""Options that have no effect on a tier or a workload of the campaign. Pure.

Each is noted, with the reason. Where it has none at all, and whoever gave it would take the figures
for others than they are, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.model import Note, Profile, Workload
from orchestrator.planning import costs
from orchestrator.planning.plan import EXISTING
from orchestrator.tier import Price
from orchestrator.units import listed


@dataclass(frozen=True)
class Rule:
    """`why`: why the option has no effect on a thing of the kind `of`, or "" if it has one."""

    word: str
    of: type[Profile] | type[Workload]
    why: Callable[[Any], str]
    refused: bool = False


def unused(
    given: Collection[str],
    profiles: Sequence[Profile],
    workloads: Sequence[Workload] = (),
    own_prices: Mapping[str, Price | None] | None = None,
) -> tuple[Note, ...]:
    """A note of each option `given`, by its field's name, that has no effect on some of these;
    UsageError for one that is refused. `own_prices`: those of the profiles without a list."""
    notes: list[Note] = []
    for option, rule in _rules(own_prices or {}):
        things = profiles if rule.of is Profile else workloads
        why_of = {one.name: rule.why(one) for one in things if option in given}
        texts = [
            f"{rule.word} has no effect on {listed([n for n in why_of if why_of[n] == why])}: {why}"
            for why in dict.fromkeys(filter(None, why_of.values()))
        ]
        if rule.refused and texts and all(why_of.values()):
            raise UsageError("; ".join(texts), advice=f"leave out {rule.word}")
        notes += (Note("no effect", text) for text in texts)
    return tuple(notes)


def _rules(own_prices: Mapping[str, Price | None]) -> Iterator[tuple[str, Rule]]:
    """Field of an option → where it has no effect."""

    def unpriced(one: Profile) -> str:
        same = one.tier.price == own_prices.get(one.name)
        return "the list says nothing else of its disk" if same else ""

    yield "database", Rule("--db", Workload, _alone)
    yield "nodes", Rule("--nodes", Profile, _of_others, refused=True)
    yield "nodes", Rule("--nodes", Workload, _alone)
    yield "clients", Rule("--clients", Workload, _alone)
    yield "windows", Rule("--windows", Workload, _writes_nothing)
    yield "gate_every", Rule("--gate-every", Profile, _not_checked, refused=True)
    yield "drain", Rule("--drain", Profile, _not_drained, refused=True)
    yield "price_list", Rule("--prices", Profile, unpriced)
    yield "max_cost", Rule(costs.MAX_COST, Profile, _not_rented)


def _alone(load: Workload) -> str:
    return "it measures one disk alone, without a database" if load.database else ""


def _writes_nothing(load: Workload) -> str:
    return _alone(load) or ("" if load.writes else "it writes nothing")


def _of_others(profile: Profile) -> str:
    theirs = profile.cluster.database == EXISTING
    return "it is a cluster that others run" if theirs else ""


def _not_checked(profile: Profile) -> str:
    return _of_others(profile) or ("" if profile.tier.is_real else "its disks are not real ones")


def _not_drained(profile: Profile) -> str:
    if profile.tier.kind == "storage-class":
        return "each run rents volumes of its own, whose credit is not known"
    drained = profile.tier.can_be_drained
    return _not_checked(profile) or ("" if drained else "it declares no `burst`")


def _not_rented(profile: Profile) -> str:
    return "" if costs.is_rented(profile) else "nothing of it is rented"
