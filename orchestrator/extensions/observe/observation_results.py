"""What came of an observation, kept in its folder: readings, answers, and what to measure next.

A report follows from demand.parquet and the options alone.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.answers.record import Brief
from orchestrator.extensions.observe.judging.answered_observation import (
    AnsweredObservation,
    CandidateAnswer,
    DiskRead,
)
from orchestrator.extensions.observe.judging.demand import HOUR_S, QUANTITIES, Demand
from orchestrator.extensions.observe.judging.rate_caps import Caps
from orchestrator.extensions.observe.observation_files import DEMAND, FACTS
from orchestrator.keys import yaml_text
from orchestrator.registry.installed import origin_of
from orchestrator.system import files, parquet
from orchestrator.texts.foreign_text import csv_row

_QUESTION = "Does this disk carry the load that was observed?"
_ROWS_AT_ONCE = 2**16  # rows of a table that are written at once
_READ = ("node", "device", "resolution_s", "coverage")
# Columns of candidates.csv.
_COLUMNS = (
    "candidate",
    "monthly",
    "currency",
    "region",
    "iops",
    "bytes_per_s",
    "word",
    "why",
    "at_least",
    "waits_least_pct",
    "waits_most_pct",
    "queues_least_pct",
    "queues_most_pct",
    "with_less_pct",
    "with_more_pct",
    "binding",
    "empty_least_s",
    "empty_most_s",
)


def keep_readings(folder: Path, read: pd.DataFrame) -> None:
    """Keeps what was judged. `read`: INTERVALS. NotWrittenError."""
    with files.keeping("this observation"):
        files.make_folder(folder)
        parquet.write(folder / DEMAND, _in_parts(read))


def _in_parts(read: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The table piece by piece, because what writes it makes a copy. At least one piece."""
    for first in range(0, max(1, len(read)), _ROWS_AT_ONCE):
        yield read.iloc[first : first + _ROWS_AT_ONCE]


def write(
    folder: Path,
    observed: AnsweredObservation,
    hour: Mapping[str, float],
    options: Mapping[str, Any],
    texts: Mapping[str, str],
    brief: Brief,
) -> None:
    """Keeps what was found, beside the readings. NotWrittenError.

    hour: the busiest one; options: what was asked for; texts: path in the folder → profiles and
    report; brief: the answer.
    """
    with files.keeping("this observation"):
        files.make_folder(folder)
        rows = [csv_row(row(answer)) for answer in observed.answers]
        table = pd.DataFrame(rows)
        files.write_text(folder / "candidates.csv", table.to_csv(index=False))
        hours: list[pd.DataFrame] = []
        for answer in observed.answers:
            answer_hours = pd.DataFrame(vars(answer.on.hours))
            hours.append(answer_hours.assign(candidate=answer.purchase.name))
        parquet.write(folder / "hours.parquet", [pd.concat(hours)])
        files.write_json(folder / FACTS, _facts(observed, hour, options, brief))
        files.write_below(folder, texts)


def _facts(
    observed: AnsweredObservation,
    hour: Mapping[str, float],
    options: Mapping[str, Any],
    brief: Brief,
) -> dict[str, Any]:
    read = [_read_facts(disk) for disk in observed.disks]
    busiest_hour = {name: _or_none(rate) for name, rate in hour.items()}
    return {
        "schema_version": 1,
        "made_by": asdict(origin_of("observe")),
        "answer": asdict(brief),
        "options": dict(options),
        "read": read,
        "busiest_hour": busiest_hour,
        "refused": observed.refused,
        "reached": _bases(observed.source),
        "reported": _bases(observed.reported),
    }


def _bases(caps: Caps) -> dict[str, float]:
    return {cap.name: cap.base for cap in caps}


def _read_facts(disk: DiskRead) -> dict[str, Any]:
    return {name: getattr(disk, name) for name in _READ}


def _or_none(value: float) -> float | None:
    """JSON has no NaN."""
    if np.isnan(value):
        return None
    return value


def busiest_hour(demands: Sequence[Demand]) -> dict[str, float]:
    """What all disks together were asked in it, which is the load that a campaign should have:
    reads, writes and bytes per second. Reads NaN: `writes` has them too."""
    hour_tables: list[pd.DataFrame] = []
    for demand in demands:
        hour_tables.append(_hours(demand))
        # The seconds of one disk alone are then in memory at a time.
        demand.forget()
    hours = pd.concat(hour_tables)
    busiest_s = _busiest_begin_s(hours)
    disks = hours.loc[[busiest_s]]
    # Rates of each disk over the time in which it was read.
    rates = disks[list(QUANTITIES)].div(disks["read_s"], axis=0)
    # A sum without one disk would look like that of all.
    total = rates.sum(skipna=False)
    busiest = {"begin_s": busiest_s}
    for name in QUANTITIES:
        busiest[f"{name}_per_s"] = float(total[name])
    return busiest


def _busiest_begin_s(hours: pd.DataFrame) -> float:
    """When the hour begins in which all disks together were asked for most I/Os."""
    ios_of_disks = hours[["reads", "writes"]].sum(axis=1)
    ios = ios_of_disks.groupby(level=0).sum()
    return float(ios.index.to_numpy()[ios.argmax()])


def _hours(demand: Demand) -> pd.DataFrame:
    """A row for each hour, by its begin: the seconds that were read in it, and QUANTITIES, NaN
    where no value is known."""
    steps = pd.DataFrame(demand.amounts.T, columns=list(QUANTITIES))
    steps.insert(0, "read_s", demand.step_s)
    # Whole hours of Unix time, which are the same for all disks.
    hour_s = demand.begin_s // HOUR_S * HOUR_S
    # The sum of nothing known would be 0 without `min_count`.
    return steps.groupby(hour_s).sum(min_count=1)


def row(answer: CandidateAnswer) -> dict[str, Any]:
    """A candidate as a flat row of candidates.csv."""
    tier = answer.purchase.tier
    on = answer.on
    values: dict[str, Any] = {
        "candidate": answer.purchase.name,
        "iops": tier.limits.iops,
        "bytes_per_s": tier.limits.bytes_per_s,
        "word": answer.word,
        "why": answer.why,
        "at_least": answer.at_least,
        "binding": on.binding,
    }
    shares = {
        "waits_least_pct": on.waits.least,
        "waits_most_pct": on.waits.most,
        "queues_least_pct": on.queues.least,
        "queues_most_pct": on.queues.most,
        "with_less_pct": on.at_cap_least,
        "with_more_pct": on.at_cap_most,
    }
    for name, share in shares.items():
        values[name] = _percent(share)
    if tier.price:
        values["monthly"] = tier.price.monthly
        values["currency"] = tier.price.currency
        values["region"] = tier.price.region
    if on.empty_s:
        values["empty_least_s"] = on.empty_s.least
        values["empty_most_s"] = on.empty_s.most
    # Every row has all columns, in their order.
    return {name: values.get(name) for name in _COLUMNS}


def _percent(share: float) -> float | None:
    if np.isnan(share):
        return None
    return 100 * share


@dataclass(frozen=True)
class NextCampaign:
    """What is worth a campaign. `texts`: path in the observation's folder → profile, and the
    command that measures them, which is `command`; it is empty without any."""

    texts: Mapping[str, str]
    command: str


def next_campaign(
    folder: Path, observed: AnsweredObservation, cluster_of: Mapping[str, str]
) -> NextCampaign:
    """cluster_of: provider → one of profiles/clusters."""
    texts = dict[str, str]()
    for pair in observed.worth.values():
        for answer in pair:
            cluster = cluster_of[answer.purchase.provider]
            texts[_profile_path(answer)] = _profile(answer, cluster)
    command = ""
    if texts:
        command = _compare([str(folder / path) for path in texts])
    # The file is written without a command too. A line of an earlier answer would stay otherwise.
    texts["profiles/compare.sh"] = f"{command}\n"
    return NextCampaign(texts, command)


def _profile_path(answer: CandidateAnswer) -> str:
    """Called by the candidate, in what every shell takes as it is."""
    stem = re.sub("[^a-z0-9]+", "-", answer.purchase.name.lower()).strip("-")
    return f"profiles/{stem}.yaml"


def _profile(answer: CandidateAnswer, cluster: str) -> str:
    content = {
        "question": _QUESTION,
        "cluster": cluster,
        "tier": dict(answer.purchase.keys),
    }
    return yaml_text.written(content)


def _compare(profiles: Sequence[str]) -> str:
    names = ",".join(profiles)
    words = ["tierbench", "compare", "--profiles", names, "--workloads", "tpcc"]
    return shlex.join(words)
