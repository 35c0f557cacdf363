"""A factor varied beside the tier: the values of `--vary`, each a workload of its own. Pure.

A value changes one thing: a key of the workload or of its data set (read as by `--set`), the size
of the data (as by `--data`), a key of the cluster or of the tier, or whether caches are warm. Or it
takes a stage away (`--without`), beside the run that has all of them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, get_args

from orchestrator.errors import UsageError
from orchestrator.facts import Varied
from orchestrator.keys.messages import failure
from orchestrator.keys.strict_yaml import shipped
from orchestrator.model import ClientPlace, Profile, Stage, Workload
from orchestrator.planning.load_points import RATE_OPTION
from orchestrator.tier import Emulated, Limits, OthersDisks, Tier, Unlimited
from orchestrator.units import counted, format_link_rate, parse_link_rate, parse_size

VARY = "--vary"
EXISTING = "existing"  # the database of a cluster that others run
CACHE, DATA, NODES, COPIES, STRIPED = "cache", "data", "nodes", "replication_factor", "count"
WITHOUT, NOTHING = "without", "nothing"
_COLD, _CACHES = "cold", ("cold", "warm")
_PLACES, STAGES = get_args(ClientPlace), get_args(Stage)
_COUNTED = re.compile(r"([\d,._ ]*\d) +([a-z_]+)")  # `20,30 tables`
_WORDS: Mapping[str, str] = shipped(__package__, "words.yaml")["factors"]
_STAYS: Mapping[str, str] = shipped(__package__, "words.yaml")["stages that stay"]


def _whole(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(f"{text} is not above zero")
    return number


def _size(text: str) -> float:
    """Bytes, or times the nodes' memory: `4x`."""
    if (number := float(text[:-1]) if text.endswith("x") else parse_size(text)) <= 0:
        raise ValueError(f"a data set is larger than {text}")
    return number


def _one_of(known: Sequence[str], what: str, text: str) -> str:
    if text not in known:
        raise ValueError(f"a {what} is {' or '.join(known)}, not {text}")
    return text


class OfCluster(NamedTuple):
    """A key of `ClusterSpec`, its `field`; `read` raises ValueError for a bad value."""

    field: str
    title: str
    read: Callable[[str], Any]
    show: Callable[[Any], str] = str


OF_CLUSTER: Mapping[str, OfCluster] = {
    NODES: OfCluster("nodes", "number of nodes", _whole),
    COPIES: OfCluster("replication_factor", "replication factor", _whole),
    "clients": OfCluster("clients", "number of load clients", _whole),
    "client": OfCluster("client", "place of load clients", partial(_one_of, _PLACES, "client")),
    "network": OfCluster("network_bytes_per_s", "network", parse_link_rate, format_link_rate),
    WITHOUT: OfCluster("without", "stage taken away", partial(_one_of, STAGES, "stage")),
}
# What reads a value of what is no key of the workload.
_READERS = {name: of.read for name, of in OF_CLUSTER.items()}
_READERS |= {DATA: _size, STRIPED: _whole, CACHE: partial(_one_of, _CACHES, "cache")}


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
        raise failure(UsageError, "host cache")
    words = [word.strip() for word in values.split(",")]
    if name == WITHOUT:  # each beside the full run
        words = [NOTHING, *words]
    if not (name and equals and all(words)) or len(set(words)) < max(2, len(words)):
        raise failure(UsageError, "no factor", text=text)
    try:
        read = [_READERS.get(name, str)(word) for word in words]
    except ValueError as error:
        raise failure(UsageError, "bad value of a factor", text=text, error=error) from error
    numbers = list(map(_number, read))
    every = [Varied("", name, *pair) for pair in zip(words, numbers, strict=True)]
    return tuple(every if None in numbers else sorted(every, key=lambda each: each.number or 0))


def _number(value: object) -> float | None:
    with suppress(ValueError):
        return float(str(value))
    return None


def is_key(value: Varied) -> bool:
    """Whether it is a key of the workload, as `--set` takes it."""
    return value.factor not in _READERS


def in_words(value: Varied) -> str:
    """`20 tables`, `replication factor 3`, `cold cache`."""
    if (value.factor, value.value) == (WITHOUT, NOTHING):
        return _WORDS[NOTHING]
    words = _WORDS.get(value.factor, f"{value.factor.replace('_', ' ')} {{}}").format(value.value)
    return words.removesuffix("s") if words.startswith("1 ") else words


def at(workload: Workload, value: Varied) -> Workload:
    """The workload at one value. With cold caches what it reads first is in the window."""
    words = in_words(value)
    name = f"{workload.name}-at-{re.sub(r'[^A-Za-z0-9._]+', '-', words)}"
    own = replace(value, of=workload.name)
    load = replace(workload, name=name, title=f"{workload.title}, {words}", varied=own)
    if value.factor != CACHE:
        return load
    if value.value == _COLD:
        return replace(load, warm=False, warmup_s=0.0, warmup_most_s=None)
    return replace(load, warm=True)


def lacks(workload: Workload) -> str:
    """The stage that is taken away. Then it is measured to name a limit, and says nothing of which
    tier to buy. An empty text where all are there."""
    varied = workload.varied
    if varied is None or varied.factor != WITHOUT or varied.value == NOTHING:
        return ""
    return varied.value


def taken_away(profile: Profile, stage: Stage) -> Profile:
    """The profile without that stage: its data in memory, or its clients in the network of the
    first node and no link limited. A database reads of its cluster that commits wait for no sync.
    """
    tier, cluster = profile.tier, replace(profile.cluster, without=stage)
    if stage == "network":
        cluster = replace(cluster, client="beside", network_bytes_per_s=None)
    elif stage == "disk":
        title = f"memory instead of {tier.title}"
        tier = Tier(f"{tier.name}, without disk", title, Limits(), Emulated(in_memory=True))
    return replace(profile, tier=tier, cluster=cluster)


def _stays(profile: Profile, stage: str, is_one_engine: bool) -> str:
    """Why that stage cannot be taken away, or an empty text."""
    cluster = profile.cluster
    beside = cluster.client == "beside" and not cluster.network_bytes_per_s
    if cluster.database == EXISTING:
        return _STAYS["existing"]
    if stage in ("disk", "network") and not is_one_engine:
        return _STAYS[stage]
    return _STAYS["beside"] if stage == "network" and beside else ""


def misfit(profile: Profile, values: Sequence[Varied], is_one_engine: bool = True) -> str:
    """Why the factor cannot be varied on this cluster, with what to do; or an empty text.
    `is_one_engine`: whether all containers run on one engine for containers."""
    factor, disk, nodes = values[0].factor, profile.tier.disk, profile.cluster.nodes
    if factor == WITHOUT:
        reasons = (_stays(profile, value.value, is_one_engine) for value in values)
        return next(filter(None, reasons), "")
    kept = not isinstance(disk, (Unlimited, OthersDisks))
    kept = kept and (disk.snapshots is None or disk.snapshots.way != "none")
    if factor == COPIES and (most := int(values[-1].number or 0)) > nodes:
        return f"{most} copies on {counted(nodes, 'node')}: say --nodes {most}"
    if factor == CACHE and not kept:
        return "each run loads its data, which are in the cache then: vary something else"
    if factor in (NODES, COPIES) and profile.cluster.database == EXISTING:
        return "others run this cluster: vary the data or the load, or attach to two clusters"
    if factor == STRIPED and disk.is_real:
        return "its disks are real, and stay as they are mounted: compare a profile of each stripe"
    return ""


def misfit_of(workload: Workload) -> str:
    """Why a workload cannot be measured at its value, or an empty text."""
    if workload.database:
        return "measures a disk alone, by cells of its own"
    return _STAYS["commit"] if lacks(workload) == "commit" and not workload.writes else ""


def with_common_copies(profile: Profile, values: Sequence[Varied]) -> tuple[Profile, str]:
    """The profile with as many copies as each number of nodes can hold, so that nodes differ alone,
    and what must be said of it."""
    least, copies = int(values[0].number or 1), profile.cluster.replication_factor
    if values[0].factor != NODES or copies <= least:
        return profile, ""
    text = f"replication factor {least} at each number of nodes, not {copies}: "
    text += f"{counted(least, 'node')} can hold no more copies"
    return replace(profile, cluster=replace(profile.cluster, replication_factor=least)), text
