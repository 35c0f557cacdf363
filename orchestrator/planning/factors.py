"""A factor varied beside the tier: the values of `--vary`, each a workload of its own. Pure.

A value changes one thing: a key of the workload or of its data set (read as by `--set`), the size
of the data (as by `--data`), a key of the cluster or of the tier, or whether caches are warm.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.facts import Varied
from orchestrator.model import Profile, Workload
from orchestrator.planning.load_points import RATE_OPTION
from orchestrator.tier import OthersDisks, Snapshots, Tier, Unlimited
from orchestrator.units import counted, parse_size

VARY = "--vary"
EXISTING = "existing"  # the database of a cluster that others run
CACHE, DATA, NODES, COPIES, STRIPED = "cache", "data", "nodes", "replication_factor", "count"
COLD, WARM = "cold", "warm"
_EXAMPLE = "for example nodes=3,6,9 or data=20,30 tables: two or more values, each once"
_COUNTED = re.compile(r"([\d,._ ]*\d) +([a-z_]+)")  # `20,30 tables`
_NOUNS = {NODES: "node", "clients": "load client", "tables": "table", "warehouses": "warehouse"}
_NOUNS |= {"table_size": "row", "threads": "thread"}
_WORDS = {COPIES: "replication factor {}", DATA: "{} of data", CACHE: "{} cache"}
_WORDS |= {STRIPED: "{} disks striped", RATE_OPTION: "{}/s"}
_HOST_CACHE = "it is set where a disk is attached: attach one with each setting, compare profiles"


def _whole(text: str) -> int:
    """ValueError unless it is a whole number above zero."""
    if (number := int(text)) < 1:
        raise ValueError(f"{text} is not above zero")
    return number


@dataclass(frozen=True)
class ClusterKey:
    """A key of `ClusterSpec`: its title, and what reads a value, with ValueError for a bad one."""

    title: str
    read: Callable[[str], Any]


OF_CLUSTER: Mapping[str, ClusterKey] = {
    NODES: ClusterKey("number of nodes", _whole),
    COPIES: ClusterKey("replication factor", _whole),
    "clients": ClusterKey("number of load clients", _whole),
}


def parse(text: str | None) -> tuple[Varied, ...]:
    """The values of a factor, in rising order if they are numbers; none without a text. UsageError
    for what is no factor with two values or more."""
    if text is None:
        return ()
    name, equals, values = (part.strip() for part in text.partition("="))
    name = {"rate": RATE_OPTION}.get(name, name.replace("-", "_"))
    if name == DATA and (match := _COUNTED.fullmatch(values)):
        values, name = match.groups()
    if name == "host_cache":
        raise UsageError(f"{VARY} cannot change the host cache of a disk", advice=_HOST_CACHE)
    words = [word.strip() for word in values.split(",")]
    if not (name and equals and all(words)) or len(set(words)) < max(2, len(words)):
        raise UsageError(f"{VARY} {text!r} is no factor with its values", advice=_EXAMPLE)
    read = _READERS.get(name, str)
    try:
        every = [Varied("", name, word, _number(read(word))) for word in words]
    except ValueError as error:
        raise UsageError(f"{VARY} {text!r}: {error}", advice=_EXAMPLE) from error
    if any(value.number is None for value in every):
        return tuple(every)
    return tuple(sorted(every, key=lambda value: value.number or 0.0))


def _size(text: str) -> float:
    """Bytes, or times the nodes' memory: `4x`."""
    number = float(text[:-1]) if text.endswith("x") else parse_size(text)
    if number <= 0:
        raise ValueError(f"a data set is larger than {text}")
    return number


def _state(text: str) -> str:
    if text not in (COLD, WARM):
        raise ValueError(f"the cache is {COLD} or {WARM}, not {text}")
    return text


_READERS = {name: key.read for name, key in OF_CLUSTER.items()}
_READERS |= {DATA: _size, CACHE: _state, STRIPED: _whole}


def _number(value: object) -> float | None:
    with suppress(ValueError):
        return float(str(value))
    return None


def is_key(value: Varied) -> bool:
    """Whether it is a key of the workload, as `--set` takes it."""
    return value.factor not in _READERS


def in_words(value: Varied) -> str:
    """`20 tables`, `replication factor 3`, `cold cache`."""
    noun = _NOUNS.get(value.factor)
    if noun and value.number is not None and value.number % 1 == 0:
        return counted(int(value.number), noun)
    return _WORDS.get(value.factor, f"{value.factor.replace('_', ' ')} {{}}").format(value.value)


def at(workload: Workload, value: Varied) -> Workload:
    """The workload at one value. With cold caches what it reads first is in the window."""
    words = in_words(value)
    if value.value == COLD:
        workload = replace(workload, warmup_s=0.0, warmup_most_s=None)
    return replace(
        workload,
        name=f"{workload.name}-at-{re.sub(r'[^A-Za-z0-9._]+', '-', words)}",
        title=f"{workload.title}, {words}",
        varied=replace(value, of=workload.name),
    )


def is_cold(workload: Workload) -> bool:
    """Whether its caches are left as they are when nodes have started from a copy."""
    value = workload.varied
    return value is not None and (value.factor, value.value) == (CACHE, COLD)


def group(workload: Workload) -> str:
    """The workload that it is at one value of a factor, or its own name."""
    return workload.varied.of if workload.varied else workload.name


def with_tiers(of_values: Mapping[str, Sequence[Profile]]) -> tuple[Profile, ...]:
    """The profiles, as read at the last of the values, with the tier that each has at every one."""
    *_, last = of_values.values()
    return tuple(
        replace(profile, tier_of={
            value: _renamed(profiles[place]) for value, profiles in of_values.items()
        })
        for place, profile in enumerate(last)
    )  # fmt: skip


def _renamed(profile: Profile) -> Tier:
    """The tier under a name of its own: each has a gate."""
    disks = counted(profile.tier.count, "disk")
    return replace(profile.tier, name=f"{profile.tier.name}, {disks}")


def misfit(profile: Profile, values: Sequence[Varied]) -> str:
    """Why the factor cannot be varied on this cluster, with what to do; or an empty text."""
    factor, cluster = values[0].factor, profile.cluster
    most = max(value.number or 0 for value in values)
    if factor == COPIES and most > cluster.nodes:
        return f"{most:g} copies on {counted(cluster.nodes, 'node')}: say --nodes {most:g}"
    disk = profile.tier.disk
    loads = (
        isinstance(disk, (Unlimited, OthersDisks))
        or (disk.snapshots or Snapshots("copy")).way == "none"
    )
    if loads and factor == CACHE:
        return "each run loads its data, which are in the cache then: vary something else"
    if cluster.database == EXISTING and factor in (NODES, COPIES):
        return "others run this cluster: vary the data or the load, or attach to two clusters"
    if disk.is_real and factor == STRIPED:
        return "its disks are real, and stay as they are mounted: compare a profile of each stripe"
    return ""


def with_common_copies(profile: Profile, values: Sequence[Varied]) -> tuple[Profile, str]:
    """The profile with a replication factor that each number of nodes can have, and what must be
    said about it: so that nodes differ alone."""
    least = int(min(value.number or 1 for value in values))
    cluster = profile.cluster
    if values[0].factor != NODES or cluster.replication_factor <= least:
        return profile, ""
    text = f"replication factor {least} at each number of nodes, not {cluster.replication_factor}: "
    text += f"{counted(least, 'node')} can hold no more copies"
    return replace(profile, cluster=replace(cluster, replication_factor=least)), text
