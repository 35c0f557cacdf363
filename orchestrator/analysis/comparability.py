"""Whether runs of a campaign differ in their tier alone, and those of two campaigns in time alone;
else their figures are not compared. Pure.

The size of the disk belongs to the tier (many tiers grow with it), so it may differ. Between two
campaigns another code revision or image may be what one wants to compare: it is allowed and said.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import ne
from typing import Any

from orchestrator.analysis import results
from orchestrator.analysis.results import Cell, Results, RunData
from orchestrator.facts import group
from orchestrator.model import Record
from orchestrator.planning import factors, rehearsal, sizes
from orchestrator.tier import Tier, as_written
from orchestrator.units import format_bytes, gathered, listed

MAX_DATA_DIFFERENCE_PCT = 5.0
MEMORY_TOLERANCE_PCT = 1.0  # a kernel keeps some for itself, and not always as much
# Of DatabaseFacts.
_COMPARED: tuple[str, ...] = (
    "version",
    "image",
    "stand_in",
    "durable",
    "durability",
    "execution",
)
# Words about a tier, not the tier; how its data are put back does not change them.
_NOT_THE_DISK = frozenset(
    {
        "name",
        "title",
        "catalog_type",
        "snapshots",
        "price",
        "source",
        "as_of",
        "notes",
        "vm_caps",
    }
)
_DATA = "data before the run"
_OF_CLUSTER = (  # which follow from its keys
    _DATA,
    "running database's durability.synchronous_standby_names",
    *("CPUs of the machines, as seen,", "memory of the machines, as seen,"),
)
_HARDWARE = {"cpu_model": "CPU", "cpus": "cores", "kernel": "kernel"}


def differences(left: Record, right: Record) -> tuple[str, ...]:
    """Differences besides the tier, a phrase each: `database version 17.2 against 16.4`."""
    told = _told(left)
    other = _told(right)
    shared = [title for title in told if title in other]
    known = ({title: of[title] for title in shared} for of in (told, other))
    return (*_leaves("", _asked(left), _asked(right)), *_leaves("", *known))


def not_known(records: Sequence[Record]) -> tuple[str, ...]:
    """What of clusters that others run could not be compared, because not all of them told it."""
    of_others = [record for record in records if results.of_others(record)]
    told: dict[str, list[Any]] = {
        "CPUs and memory of the nodes": [
            _seen(record, "database", "cpus") for record in of_others
        ],
        "settings": [results.database(record).settings for record in of_others],
    }
    return tuple(
        title for title, values in told.items() if any(values) and not all(values)
    )


def among(runs: Sequence[RunData]) -> tuple[str, ...]:
    """Differences among runs that should be alike, each once."""
    phrases = (
        phrase for run in runs[1:] for phrase in differences(runs[0].record, run.record)
    )
    return tuple(dict.fromkeys(phrases))


def obstacle(runs: Sequence[RunData], factor: str = "") -> str:
    """Why runs of several tiers, or at two values of a `factor`, must not be compared; or empty."""
    if factor:
        allowed = _allowed(factor)
    else:
        allowed = ()
    if factor and len({str(run.record.workload.dataset) for run in runs}) > 1:
        allowed = (*allowed, f"{_DATA} ")
    unlike = [phrase for phrase in among(runs) if not phrase.startswith(allowed)]
    if unlike:
        return (
            f"the runs differ in more than the {factor or 'tier'}: {'; '.join(unlike)}"
        )
    records = [run.record for run in runs]
    if any(
        rehearsal.is_rehearsed(record.profile, record.workload) for record in records
    ):
        return rehearsal.WARNING
    return ""


def _allowed(factor: str) -> tuple[str, ...]:
    """How differences begin that are the factor itself, or follow from it."""
    names = ["workload's name", "workload's varied"]
    if factor in factors.OF_CLUSTER:
        names += [factors.OF_CLUSTER[factor].title, *_OF_CLUSTER]
        if factor == factors.WITHOUT:
            names += [factors.OF_CLUSTER[name].title for name in ("client", "network")]
    elif factor == factors.CACHE:
        names += [f"workload's {key}" for key in ("warm", "warmup_s", "warmup_most_s")]
    for key in sizes.KEYS if factor == factors.DATA else (factor,):
        names += [
            f"{of} {key}" for of in ("data set's", "workload option", "workload's")
        ]
    of_commits: tuple[str, ...] = ()
    if factor == factors.WITHOUT:
        of_commits = ("running database's dura",)
    return (*of_commits, *(f"{name} " for name in names))  # durable, and durability


def _asked(record: Record) -> dict[str, Any]:
    """What was asked for, by title; of clusters that others run, `_told` has the settings. An SLO
    judges figures and a title names them: neither changes one. What is tried out comes when the
    window is over."""
    cluster = record.profile.cluster
    load = record.workload
    keys = {field.name: getattr(load, field.name) for field in fields(load)}
    for name in ("slo", "title", "confirm_s", "dataset", "options"):
        del keys[name]
    return {
        "database": cluster.database,
        "asked-for version": cluster.version,
        **{
            title: getattr(cluster, field)
            for field, title, *_ in factors.OF_CLUSTER.values()
        },
        "size of a node": "declared" if cluster.node else "not declared",
        **_titled("setting ", {} if results.of_others(record) else cluster.settings),
        "data set": load.dataset.family,
        **_titled("data set's ", load.dataset.parameters),
        **_titled("workload option ", load.options),
        **_titled("workload's ", keys),
    }


def _told(record: Record) -> dict[str, Any]:
    """What is known of machines, nodes, servers, load generator and data, by title: compared where
    both know it. Data are those before the run: after it, faster tiers have inserted more."""
    facts = results.database(record)
    generator = results.generator(record)
    node = record.profile.cluster.node
    names = _COMPARED
    pooler = None
    seen = {"host": "the machines"}
    if results.of_others(
        record
    ):  # own settings follow from the profile, as sizes of nodes do
        names = (*_COMPARED, "settings")
        if facts.pooler:
            pooler = "seen"
        else:
            pooler = "not seen"
        seen["database"] = "the nodes"
    every = {
        **{
            f"{what} of {whose}, as seen,": _seen(record, role, name)
            for role, whose in seen.items()
            for what, name in (("CPUs", "cpus"), ("memory", "memory_bytes"))
        },
        "CPUs per node": node and node.cpus,
        "memory per node": node and node.memory_bytes,
        "connection pooler": pooler,
        **_titled(
            "running database's ", {name: getattr(facts, name) for name in names}
        ),
        "load generator's version": generator.version,
        "load generator's batching of statements": generator.statements_batched,
        "workload's scripts (hash)": results.identity(record).scripts,
        "`tls` of sessions": facts.more.get("tls"),
        _DATA: results.database_before(record).data_bytes,
        **_credit(record),
    }
    return {
        title: value
        for title, value in every.items()
        if value not in (None, {}, [], set())
    }


def _titled(title: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{title}{key}": value for key, value in values.items()}


def unlike_memory(left: Sequence[float], right: Sequence[float]) -> bool:
    """Whether two lists of bytes, each in order of size, differ by more than kernels explain."""
    most = 1 + MEMORY_TOLERANCE_PCT / 100
    pairs = [sorted(pair) for pair in zip(left, right, strict=False)]
    return len(left) != len(right) or any(
        large > small * most for small, large in pairs
    )


def _seen(record: Record, role: str, name: str) -> list[float]:
    """What was seen of its nodes, in order of size; empty where it was not of each. Of machines the
    smallest and the largest: how many of a kind are used depends on where nodes are placed."""
    values = [getattr(node, name) for node in record.nodes if node.role == role]
    if not values or not all(values):
        return []
    if role == "host":
        return [min(values), max(values)]
    return sorted(values)


def _credit(record: Record) -> dict[str, set[str]]:
    """What is known of the credit with which its real disks began, by title; empty if one of them
    is not known."""
    disks = group(record.facts, "burst_credit").values()
    every = (pair for buckets in disks for pair in buckets.items())
    states = gathered((name, str(bucket["state"])) for name, bucket in every)
    return {
        f"burst credit for {name} at the begin:": set()
        if "unknown" in known
        else set(known)
        for name, known in states.items()
    }


def _any_of(words: Iterable[str]) -> str:
    return " or ".join(sorted(words))


# How a title begins → what tells that two values are unlike, and how they are shown.
_RULES: Mapping[str, tuple[Callable[[Any, Any], bool], Callable[[Any], str]]] = {
    **{of.title: (ne, of.show) for of in factors.OF_CLUSTER.values()},
    "memory per node": (ne, format_bytes),
    "memory of ": (unlike_memory, lambda sizes: ", ".join(map(format_bytes, sizes))),
    "`tls` of sessions": (lambda *modes: modes.count("off") == 1, str),
    _DATA: (
        lambda *s: max(s) - min(s) > MAX_DATA_DIFFERENCE_PCT / 100 * max(s),
        format_bytes,
    ),
    # Of which one is known to have begun on credit and the other without: no tier's difference.
    "burst credit for ": (set.isdisjoint, _any_of),
    "file system": (ne, _any_of),
}


def _leaves(
    title: str, left: Mapping[str, Any], right: Mapping[str, Any]
) -> Iterator[str]:
    """`title`: ends in a space, or in the dot after an outer key."""
    for key in dict.fromkeys((*left, *right)):
        first = left.get(key)
        second = right.get(key)
        if isinstance(first, Mapping) and isinstance(second, Mapping):
            yield from _leaves(f"{title}{key}.", first, second)
        else:
            yield from _unlike(f"{title}{key}", first, second)


def _unlike(title: str, left: Any, right: Any) -> Iterator[str]:
    rules = (rule for begin, rule in _RULES.items() if title.startswith(begin))
    unlike, show = next(rules, (ne, str))
    if unlike(left, right):
        words = (
            "not given" if value is None else show(value) for value in (left, right)
        )
        yield f"{title} {' against '.join(words)}"


# ------------------------------------------------------------------ two campaigns


def obstacle_over_time(
    before: Results, after: Results, cell: Cell, across: Collection[str] = ()
) -> str:
    """Why a profile × workload, of which both have finished runs, must not be compared, or an empty
    text. `across`: "machines": those of other names count as one if they are of the same kind;
    "tiers": the profile's disk may have been changed."""
    if before.published or after.published:
        return "published figures: what they were measured on is not known well enough"
    runs = [results.finished(campaign, *cell) for campaign in (before, after)]
    tiers = [of_campaign[0].record.profile.tier for of_campaign in runs]
    every = [*runs[0], *runs[1]]
    unlike = [*unlike_machines(before, after, "machines" in across)]
    if "tiers" in across:
        unlike += []
    else:
        unlike += changes_of_tier(*tiers)
    unlike += [*_file_systems(*runs), *among(every)]
    if unlike:
        return f"unlike {'; '.join(unlike)}"
    return obstacle(every)


def _host(campaign: Results) -> Mapping[str, Any]:
    return group(campaign.fingerprint, "host")


def unlike_machines(
    before: Results, after: Results, across: bool = False
) -> Iterator[str]:
    """`kernel 6.1 against 6.2`, of all machines if both recorded them; `across`: of any name."""
    others = [
        campaign.fingerprint.get("other_machines") for campaign in (before, after)
    ]
    if None not in others:
        rest = others
    else:
        rest = [(), ()]
    first = [_host(campaign) for campaign in (before, after)]
    every = [(host, *(of or ())) for host, of in zip(first, rest, strict=True)]
    if across:
        names = {}
    else:
        names = {"hostname": "machine"}
    for key, title in {
        **names,
        **_HARDWARE,
        "memory_bytes": "memory of the machine",
    }.items():
        values = [
            sorted({machine.get(key) or 0 for machine in each}, key=str)
            for each in every
        ]
        if any(0 in each for each in values):
            continue  # one of them does not say it
        of_memory = key == "memory_bytes"
        if of_memory:
            values = [[min(each), max(each)] for each in values]
        if unlike_memory(*values) if of_memory else values[0] != values[1]:
            words: Callable[[float], str] = str
            if of_memory:
                words = format_bytes
            texts = (listed([*dict.fromkeys(map(words, each))]) for each in values)
            yield f"{title} {' against '.join(texts)}"


def changes_of_tier(before: Tier, after: Tier) -> Iterator[str]:
    """What differs between two disks as declared."""
    disks = [as_written(tier) for tier in (before, after)]
    for key in (key for key in {**disks[0], **disks[1]} if key not in _NOT_THE_DISK):
        values = [disk.get(key) for disk in disks]
        if values[0] != values[1]:
            short = all(
                value is None or isinstance(value, (int, float, str))
                for value in values
            )
            words = ""
            if short:
                words = f" {values[0]} against {values[1]}"
            yield f"tier's {key}{words}"


def _file_systems(left: Sequence[RunData], right: Sequence[RunData]) -> Iterator[str]:
    sides = [
        [results.identity(run.record).file_systems for run in runs]
        for runs in (left, right)
    ]
    systems = [{str(system) for of in side for system in of.values()} for side in sides]
    if all(systems):
        yield from _unlike("file system", *systems)


def remarks(before: Results, after: Results) -> Iterator[str]:
    """Differences that are allowed and said, and what cannot be known, a sentence each."""
    both = before, after
    yield from (f"{c.name}: {text}" for c in both for text in results.left_out(c))
    names = [_host(campaign).get("hostname") for campaign in both]
    if (
        all(names) and names[0] != names[1]
    ):  # compared all the same only if that was asked for
        doubt = "what differs between two machines of a kind is in every difference"
        yield f"they were measured on machines of other names ({names[0]} and {names[1]}): {doubt}"
    first, second = map(revision, both)
    if first and second and first != second:
        yield f"they were measured by other code: tierbench {first} against {second}"
    elif "with changes" in first:
        yield f"both were measured with changes to tierbench {first}: the changes may differ"
    engines = [campaign.fingerprint.get("engine") for campaign in both]
    if (
        all(isinstance(engine, Mapping) for engine in engines)
        and engines[0] != engines[1]
    ):
        keys = dict.fromkeys(key for engine in engines for key in engine or ())
        unlike = [
            key for key in keys if len({str((e or {}).get(key)) for e in engines}) > 1
        ]
        yield f"the container engine was another, or set otherwise: {listed(unlike)} differ"
    sides = [[results.identity(run.record).images for run in c.runs] for c in both]
    images = [gathered(pair for of in side for pair in of.items()) for side in sides]
    for role in images[0].keys() & images[1].keys():
        left, right = (", ".join(sorted(set(map(str, of[role])))) for of in images)
        if left != right:
            unlike_images = f"images of the {role} differ ({left} against {right})"
            yield f"{unlike_images}: libraries in them may too"
    yield from (text for campaign in both if (text := _unrecorded(campaign)))


def revision(campaign: Results) -> str:
    """`0.1.0 (1a2b3c4d5e6f, with changes)`; empty if no revision was recorded."""
    facts = campaign.fingerprint
    if not facts.get("revision"):
        return ""
    changed = ""
    if facts.get("revision_changed"):
        changed = ", with changes"
    return (
        f"{facts.get('tierbench', '')} ({str(facts['revision'])[:12]}{changed})".strip()
    )


def _unrecorded(campaign: Results) -> str:
    host = _host(campaign)
    records = [run.record for run in campaign.done]
    recorded = {
        "the machine": host.get("hostname"),
        "its kernel": host.get("kernel") or not host.get("hostname"),
        "the code revision": campaign.fingerprint.get("revision"),
        "the load generator's version": all(
            results.generator(r).version for r in records
        ),
        "scripts, images and mount options": all(
            "identity" in r.facts for r in records
        ),
    }
    absent = [what for what, known in recorded.items() if not known]
    text = f"not recorded in {campaign.name}, and so not compared: {listed(absent)}"
    if absent:
        return text
    return ""
