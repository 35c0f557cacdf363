"""What is varied beside the tier: each value is a workload of its own, on the same tiers. Pure.

A value of `--vary` changes one thing: a key of the workload or of its data set (read as by
`--set`), the size of the data (as by `--data`), a key of the cluster or of the tier, or whether
caches are warm. Or it takes a stage away (`--without`), beside the run that has all of them.

A value of `--sweep` is a load, and so is the rate of `--latency-at`: a number of threads is a
closed loop; a rate is an open one, by the built-in scripts' Poisson arrivals, whose latency counts
from when a transaction was due."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, get_args

from orchestrator.errors import Mistake, UsageError
from orchestrator.facts import Question, Varied
from orchestrator.keys import strict_yaml
from orchestrator.model import ClientPlace, Profile, Stage, Workload
from orchestrator.tier import Emulated, Limits, OthersDisks, Tier, Unlimited
from orchestrator.units import counted, format_link_rate, parse_link_rate, parse_size

THREADS, RATE_OPTION = "threads", "arrival_rate"
MOST = 10_000  # of threads, and of all else that is counted
OPEN_LOOP = "sysbench"  # the generator whose latency counts from the moment of arrival
EXISTING = "existing"  # the database of a cluster that others run
CACHE, DATA, NODES, COPIES, STRIPED = (
    "cache",
    "data",
    "nodes",
    "replication_factor",
    "count",
)
WITHOUT, NOTHING = "without", "nothing"
_COLD, _CACHES = "cold", ("cold", "warm")
_PLACES, STAGES = get_args(ClientPlace), get_args(Stage)
_COUNTED = re.compile(r"([\d,._ ]*\d) +([a-z_]+)")  # `20,30 tables`
_NO_VALUES = "is no factor with its values, two or more, each once"
_OPTIONS = {"factor": "--vary", "load": "--sweep", "same rate": "--latency-at"}
_RATE = re.compile(r"(\d+(?:\.\d+)?)(?:/s)?$")
# What stands behind a value in words; a factor that has none stands before its value.
_NOUNS: Mapping[str, str] = {
    NODES: "nodes",
    "clients": "load clients",
    "network": "network",
    DATA: "of data",
    "tables": "tables",
    "warehouses": "warehouses",
    CACHE: "cache",
    STRIPED: "striped disks",
    THREADS: "threads",
}


def _whole(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise ValueError(f"{text} is no whole number from 1 to {MOST:,}")
    return int(text)


def data_size(text: str) -> float:
    """`100GiB` → bytes, `4x` → times the nodes' memory. ValueError for another text."""
    factor = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*x", text.strip())
    if (number := float(factor[1]) if factor else float(parse_size(text))) <= 0:
        raise ValueError(f"a data set is larger than {text}")
    return number


def data_value(text: str) -> Varied:
    """One value of `data`: `12 tables`, `10GiB`, `4x`. ValueError for any other text."""
    every = [Varied("", *value) for value in _values(f"{DATA}={text}", "factor")]
    if len(every) != 1 or not (every[0].number is None or every[0].number % 1 == 0):
        raise ValueError(
            f"{text} is not one size of data, such as 10GiB or `12 tables`"
        )
    return every[0]


def _rate(text: str) -> float:
    """Transactions/s: `50`, `0.7/s`."""
    match = _RATE.match(text)
    if not match or not float(match[1]):
        raise ValueError(f"{text} is no number above zero")
    return float(match[1])


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
    "client": OfCluster(
        "client", "place of load clients", partial(_one_of, _PLACES, "client")
    ),
    "network": OfCluster(
        "network_bytes_per_s", "network", parse_link_rate, format_link_rate
    ),
    WITHOUT: OfCluster(
        "without", "stage taken away", partial(_one_of, STAGES, "stage")
    ),
}
# What reads a value of what is no key of the workload.
READERS = {name: of.read for name, of in OF_CLUSTER.items()}
READERS |= {DATA: data_size, STRIPED: _whole, CACHE: partial(_one_of, _CACHES, "cache")}
_LOADS = {THREADS: _whole, RATE_OPTION: _rate}  # what `--sweep` varies


def parse(text: str | None, question: Question = "factor") -> tuple[Varied, ...]:
    """The values of a factor, or the loads of a sweep, in rising order if they are numbers; none
    without a text. UsageError for what is none of them with two values or more."""
    if text is None:
        return ()
    try:
        every = [Varied("", *value, question) for value in _values(text, question)]
        if len({in_words(value) for value in every}) < max(2, len(every)):
            raise ValueError(_NO_VALUES)
    except ValueError as error:
        if text.startswith(WITHOUT):
            raise _no_stage(str(error)) from error
        if question == "load":
            raise _bad_sweep(text, str(error)) from error
        raise _no_factor(text, str(error)) from error
    numbers = [value.number for value in every]
    return tuple(
        every if None in numbers else sorted(every, key=lambda each: each.number or 0)
    )


def _no_stage(why: str) -> UsageError:
    return UsageError(
        f"--without: {why}",
        advice="name what is taken away, such as `--without disk`, or several, "
        "`--without disk,network`",
    )


def _bad_sweep(text: str, why: str) -> UsageError:
    return UsageError(
        f"--sweep {text!r}: {why}",
        advice="for example threads=1,4,16,64 or rate=50,100,200 (transactions/s)",
    )


def _no_factor(text: str, why: str) -> UsageError:
    return UsageError(
        f"--vary {text!r}: {why}",
        advice="for example nodes=3,6,9 or data=20,30 tables: two or more values, each "
        "once",
    )


def _values(text: str, question: Question) -> Iterator[tuple[str, str, float | None]]:
    """Factor, value and number of each. ValueError for what is no factor with its values."""
    name, equals, values = (part.strip() for part in text.partition("="))
    name = {"rate": RATE_OPTION}.get(name, name.replace("-", "_"))
    if name == DATA and (match := _COUNTED.fullmatch(values)):
        values, name = match.groups()
    if name == "host_cache":
        raise UsageError(
            "--vary cannot change the host cache of a disk",
            advice="it is set where a disk is attached: attach one with each setting, "
            "compare profiles",
        )
    words = [word.strip() for word in values.split(",")]
    if question == "load" and name not in _LOADS:
        raise ValueError("names neither threads nor rate")
    if name == WITHOUT:  # each beside the full run
        words = [NOTHING, *words]
    if not (name and equals and all(words)):
        raise ValueError(_NO_VALUES)
    read = (READERS | _LOADS).get(name, str)
    for word in words:
        plain = word.removesuffix("/s") if name == RATE_OPTION else word
        yield name, plain, _number(read(word))


def _number(value: object) -> float | None:
    with suppress(ValueError):
        return float(str(value))
    return None


def option(value: Varied) -> str:
    """The one that asked for it."""
    return f"--{WITHOUT}" if value.factor == WITHOUT else _OPTIONS[value.question]


def parse_latency_at(text: str) -> tuple[float, bool]:
    """`70%` or `120` (transactions/s): the number, and whether it is a share, in percent, of the
    slowest tier's capacity. UsageError for anything else."""
    words = text.replace(" ", "")
    match = _RATE.match(words.removesuffix("%"))
    value = float(match[1]) if match else 0.0
    share = words.endswith("%")
    if match and match[0] == match[1] == words and 0 < value < 1:
        raise _share_or_rate(text, value * 100, words)
    if not value or (share and (value >= 100 or words.endswith("/s%"))):
        raise _neither_share_nor_rate(text)
    return value, share


def _share_or_rate(text: str, share_pct: float, rate: str) -> UsageError:
    return UsageError(
        f"--latency-at {text!r} may be a share of the slowest tier's capacity or a rate",
        advice=f"write {share_pct:g}% for the share, {rate}/s for transactions/s",
    )


def _neither_share_nor_rate(text: str) -> UsageError:
    return UsageError(
        f"--latency-at {text!r} is neither a share of the slowest tier's capacity, "
        "above 0 and below 100 %, nor a rate",
        advice="for example 70%, which is usual, or 120 for 120 transactions/s",
    )


def in_words(value: Varied) -> str:
    """`20 tables`, `replication factor 3`, `cold cache`, `1,200/s`."""
    if (value.factor, value.value) == (WITHOUT, NOTHING):
        return "all stages"
    number = _number(value.value)
    text = value.value if number is None else f"{number:,.12g}"
    if value.factor == RATE_OPTION:
        words = f"{text}/s"
    elif value.factor in _NOUNS:
        words = f"{text} {_NOUNS[value.factor]}"
    else:
        words = f"{value.factor.replace('_', ' ')} {text}"
    return words.removesuffix("s") if words.startswith("1 ") else words


def at(workload: Workload, value: Varied) -> Workload:
    """The workload at one value. With cold caches what it reads first is in the window."""
    words = in_words(value)
    plain = words.replace(",", "").replace("/s", " per s")
    load = replace(
        workload,
        name=f"{workload.name}-at-{re.sub(r'[^A-Za-z0-9._]+', '-', plain)}",
        title=f"{workload.title}, {words.replace('/s', ' transactions/s asked for')}",
        varied=replace(value, of=workload.name),
    )
    if value.factor == CACHE and value.value == _COLD:
        return replace(load, warm=False, warmup_s=0.0, warmup_most_s=None)
    return replace(load, warm=True) if value.factor == CACHE else load


def at_load(workload: Workload, value: Varied) -> Workload:
    """The workload with one number of threads, or at one rate."""
    load, number = at(workload, value), value.number or 0.0
    if value.factor == THREADS:
        return replace(load, threads=int(number))
    return replace(load, options={**load.options, RATE_OPTION: number})


def same_rate(rate_per_s: float) -> Varied:
    """The rate that all tiers are asked for alike."""
    return Varied("", RATE_OPTION, f"{rate_per_s:.12g}", rate_per_s, "same rate")


def at_loads(
    workloads: Sequence[Workload], loads: Sequence[Varied], latency_at: str | None
) -> tuple[tuple[Workload, ...], float | None]:
    """The workloads at each load of a sweep, or at one rate, and the share (in %) of a capacity
    that these must find first, if one was asked for. UsageError where a load cannot be set so."""
    rate, is_share = parse_latency_at(latency_at) if latency_at else (None, False)
    loads = loads if rate is None else [same_rate(rate)]
    wrong = [
        Mistake(f"{option(load)}: {workload.name}", why)
        for load in loads[:1]
        for workload in workloads
        if (why := _misfit_of_load(workload, load.factor))
    ]
    strict_yaml.raise_all(wrong)
    if is_share or not loads:
        return tuple(workloads), rate
    return tuple(
        at_load(workload, load) for workload in workloads for load in loads
    ), None


def _misfit_of_load(workload: Workload, factor: str) -> str:
    if workload.database == "none":
        return "measures the disk alone, at loads of its own"
    if workload.thinks:
        return "its terminals think, so their number sets the pace: set `think: none`"
    if workload.options.get(RATE_OPTION):
        return f"has an `{RATE_OPTION}` of its own: leave it out of the file"
    if factor == RATE_OPTION and workload.generator != OPEN_LOOP:
        only = f"only {OPEN_LOOP} with its built-in scripts has an open loop"
        return f"is run by {workload.generator}; {only} whose latency holds the wait in the queue"
    return ""


def asks(workload: Workload, question: Question) -> Varied | None:
    """Its value, if that is what is asked of it."""
    varied = workload.varied
    return varied if varied is not None and varied.question == question else None


def subject(workload: Workload) -> str:
    """What a decision on it is called: all loads of a sweep have one together."""
    load = asks(workload, "load")
    return load.of if load else workload.name


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
        tier = Tier(
            f"{tier.name}, without disk", title, Limits(), Emulated(in_memory=True)
        )
    return replace(profile, tier=tier, cluster=cluster)


def _stays(profile: Profile, stage: str, is_one_engine: bool) -> str:
    """Why that stage cannot be taken away, or an empty text."""
    cluster = profile.cluster
    beside = cluster.client == "beside" and not cluster.network_bytes_per_s
    if cluster.database == EXISTING:
        return "others run this cluster, so no stage of it can be taken away"
    if stage == "disk" and not is_one_engine:
        return (
            "data are kept in memory on one Docker engine alone, where a disk of ours is "
            "in the memory of the machine that runs the nodes; measure it there"
        )
    if stage == "network" and not is_one_engine:
        return (
            "clients share the network of a node on one Docker engine alone, elsewhere "
            "its machine at most; measure it there"
        )
    if stage == "network" and beside:
        return "clients are in the first node's network already, and no link is limited"
    return ""


def misfit(
    profile: Profile, values: Sequence[Varied], is_one_engine: bool = True
) -> str:
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
        return (
            "each run loads its data, which are in the cache then: vary something else"
        )
    if factor in (NODES, COPIES) and profile.cluster.database == EXISTING:
        return "others run this cluster: vary the data or the load, or attach to two clusters"
    if factor == STRIPED and disk.is_real:
        return "its disks are real, and stay as they are mounted: compare a profile of each stripe"
    return ""


def misfit_of(workload: Workload) -> str:
    """Why a workload cannot be measured at its value, or an empty text."""
    if workload.database:
        return "measures a disk alone, by cells of its own"
    if lacks(workload) == "commit" and not workload.writes:
        return "it only reads, so no commit waits for a disk"
    return ""


def with_common_copies(
    profile: Profile, values: Sequence[Varied]
) -> tuple[Profile, str]:
    """The profile with as many copies as each number of nodes can hold, so that nodes differ alone,
    and what must be said of it."""
    least, copies = int(values[0].number or 1), profile.cluster.replication_factor
    if values[0].factor != NODES or copies <= least:
        return profile, ""
    text = f"replication factor {least} at each number of nodes, not {copies}: "
    text += f"{counted(least, 'node')} can hold no more copies"
    return replace(
        profile, cluster=replace(profile.cluster, replication_factor=least)
    ), text
