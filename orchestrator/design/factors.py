"""The factors that are varied beside the tier, and their values as a person writes them. Pure.

Each value is a workload of its own, on the same tiers (`varied_workloads`, `varied_profiles`).

A value of `--vary` changes one thing: a key of the workload or of its data set (read as by
`--set`), the size of the data (as by `--data`), a key of the cluster or of the tier, or whether
caches are warm. Or it takes a stage away (`--without`), beside the run that has all of them.

A value of `--sweep` is a load, and so is the rate of `--latency-at`."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, get_args

from orchestrator.errors import UsageError
from orchestrator.facts import Question, Varied
from orchestrator.model import ClientPlace, ClusterSpec, Stage
from orchestrator.units import format_link_rate, parse_link_rate, parse_size

THREADS = "threads"
RATE_OPTION = "arrival_rate"
MOST = 10_000  # the most threads, and the most of all else that is counted
OPEN_LOOP = "sysbench"  # the generator whose latency counts from the moment of arrival
# Keys of a data set that say how large it is.
SIZE_KEYS = ("warehouses", "rows", "table_size", "bytes")
EXISTING = "existing"  # the database of a cluster that others run

CACHE = "cache"
CLIENT = "client"
CLIENTS = "clients"
COPIES = "replication_factor"
DATA = "data"
MEMORY = "memory"
NETWORK = "network"
NODES = "nodes"
STRIPED = "count"
WITHOUT = "without"
NOTHING = "nothing"  # the value of `without` that takes nothing away

COLD = "cold"
_CACHES = (COLD, "warm")
PLACES: Mapping[str, ClientPlace] = {place: place for place in get_args(ClientPlace)}
STAGES: Mapping[str, Stage] = {stage: stage for stage in get_args(Stage)}

_COUNTED = re.compile(r"([\d,._ ]*\d) +([a-z_]+)")  # `20,30 tables`
_TIMES = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*x")
_RATE = re.compile(r"(\d+(?:\.\d+)?)(?:/s)?$")
_NO_VALUES = "must name a factor with two or more values, each once"
_OPTIONS: Mapping[Question, str] = {
    "factor": "--vary",
    "load": "--sweep",
    "same rate": "--latency-at",
}
# Words that stand behind a value; a factor that has none stands before its value.
_NOUNS: Mapping[str, str] = {
    NODES: "nodes",
    CLIENTS: "load clients",
    NETWORK: "network",
    DATA: "of data",
    MEMORY: "of memory a node",
    "tables": "tables",
    "warehouses": "warehouses",
    CACHE: "cache",
    STRIPED: "striped disks",
    THREADS: "threads",
}
_WITH_UNITS = (DATA, MEMORY, NETWORK)  # are shown as they were given


def is_of_others(cluster: ClusterSpec) -> bool:
    """Whether others run it: then no option changes what its nodes run."""
    return cluster.database == EXISTING


# ------------------------------------------------------------------ one value


@dataclass(frozen=True)
class DataSize:
    """How large data are to be: so many bytes, or times what the nodes hold in memory.

    `text`: as it was given.
    """

    text: str
    number: float
    of_memory: bool


def data_size(text: str) -> DataSize:
    """`100GiB`, or `4x`, times the nodes' memory. ValueError for another text."""
    try:
        size = _size_read(text)
    except ValueError as error:
        raise ValueError(f"{error}; or times the nodes' memory, such as 4x") from error
    if size.number <= 0:
        raise ValueError(f"a data set is larger than {text}")
    return size


def _size_read(text: str) -> DataSize:
    times = _TIMES.fullmatch(text.strip())
    if times:
        return DataSize(text, float(times[1]), of_memory=True)
    return DataSize(text, float(parse_size(text)), of_memory=False)


def size_asked(value: Varied) -> DataSize:
    """The size that a value of `data` asks for."""
    # No unit of bytes ends in x, so these are times what memory holds.
    return DataSize(value.value, value.number or 0.0, value.value.endswith("x"))


# A function that reads a value: its number in a base unit, by which values are ordered. None is for
# a word. ValueError is for what is no value of that factor.
ReadsValue = Callable[[str], float | None]


def _whole(text: str) -> float:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise ValueError(f"{text} is not a whole number from 1 to {MOST:,}")
    return float(text)


def _rate(text: str) -> float:
    """Transactions/s: `50`, `0.7/s`."""
    match = _RATE.match(text)
    if not match or not float(match[1]):
        raise ValueError(f"{text} is not a number above zero")
    return float(match[1])


def _link_rate(text: str) -> float:
    bytes_per_s = float(parse_link_rate(text))
    # A network of nothing cannot be set, and a run would only learn it when it began.
    if not bytes_per_s:
        raise ValueError(f"a network lets through more than {text}")
    return bytes_per_s


def _memory(text: str) -> float:
    size_bytes = float(parse_size(text))
    if size_bytes <= 0:
        raise ValueError(f"a node has more memory than {text}")
    return size_bytes


def _bytes_or_times(text: str) -> float:
    return data_size(text).number


def _one_of(words: Sequence[str], what: str, text: str) -> None:
    if text not in words:
        raise ValueError(f"a {what} is {' or '.join(words)}, not {text}")


def _number_or_word(text: str) -> float | None:
    """The number in the text, if it is one. A key of a workload may have any value."""
    try:
        return float(text)
    except ValueError:
        return None


class OfCluster(NamedTuple):
    """A key of `ClusterSpec`, its `field`; `read` raises ValueError for a bad value."""

    field: str
    title: str
    read: ReadsValue
    show: Callable[[Any], str] = str


_read_place = partial(_one_of, list(PLACES), "client")
_read_stage = partial(_one_of, list(STAGES), "stage")
_read_cache = partial(_one_of, _CACHES, "cache")
OF_CLUSTER: Mapping[str, OfCluster] = {
    NODES: OfCluster("nodes", "number of nodes", _whole),
    COPIES: OfCluster("replication_factor", "replication factor", _whole),
    CLIENTS: OfCluster("clients", "number of load clients", _whole),
    CLIENT: OfCluster("client", "place of load clients", _read_place),
    NETWORK: OfCluster("network_bytes_per_s", "network", _link_rate, format_link_rate),
    WITHOUT: OfCluster("without", "stage taken away", _read_stage),
}
# Readers of values that are no key of the workload.
READERS: dict[str, ReadsValue] = {
    **{name: key.read for name, key in OF_CLUSTER.items()},
    DATA: _bytes_or_times,
    MEMORY: _memory,
    STRIPED: _whole,
    CACHE: _read_cache,
}
# Readers of the factors that `--sweep` varies.
_LOADS: dict[str, ReadsValue] = {THREADS: _whole, RATE_OPTION: _rate}


# ------------------------------------------------------------------ all values of a text


def parse(text: str | None, question: Question = "factor") -> tuple[Varied, ...]:
    """The values of a factor, or the loads of a sweep, in rising order if they are numbers; none
    without a text. UsageError for what is none of them with two values or more."""
    if text is None:
        return ()
    name, _, words = text.partition("=")
    try:
        values = _values(_factor_named(name.strip()), words.strip(), question)
        # Values are compared in words, because `1` and `1.0` are one value.
        different = {in_words(value) for value in values}
        if len(different) < max(2, len(values)):
            raise ValueError(_NO_VALUES)
    except ValueError as error:
        raise _no_values_in(text, question, str(error)) from error
    # Words have no order but the one in which they were given.
    if any(value.number is None for value in values):
        return tuple(values)
    return tuple(sorted(values, key=_rising))


def _rising(value: Varied) -> float:
    return value.number or 0.0


def _factor_named(word: str) -> str:
    if word == "rate":
        return RATE_OPTION
    return word.replace("-", "_")


def _values(factor: str, text: str, question: Question) -> list[Varied]:
    """Each of the values, read. ValueError for what is no factor with its values."""
    rows = _COUNTED.fullmatch(text)
    # `data=20,30 tables` is the parameter `tables` of the data set.
    if factor == DATA and rows:
        text = rows[1]
        factor = rows[2]
    if factor == "host_cache":
        raise UsageError(
            "--vary cannot change the host cache of a disk",
            advice=(
                "host cache is set where a disk is attached. Attach one disk with "
                "each setting, and compare profiles"
            ),
        )
    words = [word.strip() for word in text.split(",")]
    if question == "load" and factor not in _LOADS:
        raise ValueError("names neither threads nor rate")
    if factor == WITHOUT:  # each beside the full run
        words = [NOTHING, *words]
    if not factor or not all(words):
        raise ValueError(_NO_VALUES)
    # Any other factor is a key of the workload, whose values are checked as in its file.
    read = (READERS | _LOADS).get(factor, _number_or_word)
    values = []
    for word in words:
        number = read(word)
        plain = word
        # `in_words` adds the unit again.
        if factor == RATE_OPTION:
            plain = word.removesuffix("/s")
        values.append(
            Varied(of="", factor=factor, value=plain, number=number, question=question)
        )
    return values


def _no_values_in(text: str, question: Question, why: str) -> UsageError:
    if text.startswith(WITHOUT):
        return UsageError(
            f"--without: {why}",
            advice="name what is taken away, such as `--without disk`, or several, "
            "`--without disk,network`",
        )
    if question == "load":
        return UsageError(
            f"--sweep {text!r}: {why}",
            advice="for example threads=1,4,16,64 or rate=50,100,200 (transactions/s)",
        )
    return UsageError(
        f"--vary {text!r}: {why}",
        advice="for example nodes=3,6,9 or data=20,30 tables: two or more values, each "
        "once",
    )


def option(value: Varied) -> str:
    """The one that asked for it."""
    if value.factor == WITHOUT:
        return f"--{WITHOUT}"
    return _OPTIONS[value.question]


def parse_latency_at(text: str) -> tuple[float, bool]:
    """`70%` or `120` (transactions/s): the number, and whether it is a share, in percent, of the
    slowest tier's capacity. UsageError for anything else."""
    words = text.replace(" ", "")
    is_share = words.endswith("%")
    match = _RATE.match(words.removesuffix("%"))
    if match is None:
        raise _neither_share_nor_rate(text)
    value = float(match[1])
    has_unit = words != match[1]
    # `0.7` is a share to some and a rate to others, and the answers are far apart.
    if not has_unit and 0 < value < 1:
        raise _share_or_rate(text, value * 100, words)
    # A queue grows without end at the capacity or above, and its latency with it.
    if is_share and (value >= 100 or words.endswith("/s%")):
        raise _neither_share_nor_rate(text)
    if not value:
        raise _neither_share_nor_rate(text)
    return value, is_share


def _share_or_rate(text: str, share_pct: float, rate: str) -> UsageError:
    return UsageError(
        f"--latency-at {text!r} may be a share of the slowest tier's capacity or a rate",
        advice=f"write {share_pct:g}% for the share, {rate}/s for transactions/s",
    )


def _neither_share_nor_rate(text: str) -> UsageError:
    return UsageError(
        f"--latency-at {text!r} is neither a rate nor a share of the slowest tier's "
        "capacity (0 to 100 %)",
        advice="for example 70%, which is usual, or 120 for 120 transactions/s",
    )


def in_words(value: Varied) -> str:
    """`20 tables`, `replication factor 3`, `cold cache`, `1,200/s`."""
    if value.factor == WITHOUT and value.value == NOTHING:
        return "all stages"
    text = _value_alone(value)
    if value.factor == RATE_OPTION:
        return f"{text}/s"
    if value.factor not in _NOUNS:
        return f"{value.factor.replace('_', ' ')} {text}"
    noun = _NOUNS[value.factor]
    if text == "1":
        noun = noun.removesuffix("s")
    return f"{text} {noun}"


def span_in_words(first: Varied, last: Varied) -> str:
    """`from 20 to 30 tables`, `from replication factor 1 to replication factor 3`."""
    text = in_words(first)
    # A noun that stands behind its value stands behind both.
    if first.factor in _NOUNS:
        text = _value_alone(first)
    return f"from {text} to {in_words(last)}"


def _value_alone(value: Varied) -> str:
    """`1,200` of `1,200/s`, `20` of `20 tables`."""
    if value.number is not None and value.factor not in _WITH_UNITS:
        return f"{value.number:,.12g}"
    return value.value
