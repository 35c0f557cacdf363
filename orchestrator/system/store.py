"""Results on disk: the only module that knows the layout of a results folder (docs/RESULTS.md).

Plan and fingerprint are saved before anything starts, each run's record when it ends, verdict and
report last, so that a crash loses one run at most. JSON files are written atomically. What a disk
or a person has cut all the same is passed over when a campaign is read, and a note of its plan
names it; only a campaign without a plan cannot be read."""

import contextlib
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from orchestrator.analysis.conclusions import Decision, Prediction, Verdict
from orchestrator.analysis.results import LEFT_OUT, Results, RunData
from orchestrator.analysis.telemetry.counters import Samples
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.metrics import INTERVAL_COLUMNS
from orchestrator.model import RESULTS_FORMAT, Note, Plan, Record, Run
from orchestrator.planning.factors import RATE_OPTION
from orchestrator.system import clock, parquet, results_formats
from orchestrator.system.files import CutError, checksums, write_json
from orchestrator.tier import Gate, as_written

SCHEMA_VERSION = 1  # of gates.json and predictions.json


_Read = TypeVar("_Read")
# Slower to make than to use.
_form: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def create(
    results: Path, plan: Plan, fingerprint: Mapping[str, Any], now_s: float
) -> Path:
    """Makes `results/<UTC time>-<name>/` with the plan and points `results/latest` at it."""
    folder = fresh_folder(results, f"{clock.stamp(now_s)}-{plan.name}")
    (folder / "runs").mkdir()
    save_plan(folder, plan)
    write_json(folder / "fingerprint.json", fingerprint)
    # Some file systems have no symbolic links (exFAT, drvfs): `newest` works without.
    with contextlib.suppress(OSError):
        link = results / f".latest-{folder.name[-40:]}"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name)
        link.replace(results / "latest")
    return folder


def save_plan(campaign: Path, plan: Plan) -> None:
    """Keeps the plan, as it is or as it has grown (see `run/schedule.py`)."""
    write_json(campaign / "plan.json", as_written(plan))


def save_left_behind(campaign: Path, what: str, look: Sequence[str]) -> None:
    """Keeps what may be left of the campaign, and the commands that show it."""
    write_json(campaign / "left-behind.json", {"what": what, "look": list(look)})


def fresh_folder(results: Path, name: str) -> Path:
    """Makes a new folder, although another program may choose the same name in that second."""
    results.mkdir(parents=True, exist_ok=True)
    names = [name]
    names += [f"{name}-{number}" for number in range(2, 1000)]
    for fresh_name in names:
        folder = results / fresh_name
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise UnavailableError(f"{results} has a thousand folders named {name}")


def newest(results: Path) -> Path | None:
    """Returns the folder of the newest campaign: `latest`, else the last by its time."""
    if (results / "latest" / "plan.json").is_file():
        return results / "latest"
    folders = [file.parent for file in results.glob("*/plan.json")]
    return max(folders, default=None)


def run_folder(campaign: Path, run: Run) -> Path:
    """Returns the folder of a run, and makes it with its `raw/`."""
    folder = campaign / "runs" / run.slug
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    return folder


def put_aside(campaign: Path, run: Run) -> Path | None:
    """Moves what an unfinished run left to `interrupted/<run>-<n>`, which it returns."""
    folder = campaign / "runs" / run.slug
    aside = campaign / "interrupted"
    if not folder.is_dir():
        return None
    aside.mkdir(exist_ok=True)
    earlier = list(aside.glob(f"{run.slug}-*"))
    return folder.rename(aside / f"{run.slug}-{len(earlier) + 1}")


_CHANGES = "limit-changes.jsonl"


def unfinished_run(results: Path, name: str) -> Path:
    """Returns the run in progress, by its slug or "latest". UsageError if there is no such run."""
    campaign = newest(results) or results / "latest"
    unfinished = in_progress(campaign)
    if unfinished is None:
        raise UsageError(f"no run is going on in {campaign}")
    if name not in ("latest", unfinished.name):
        raise UsageError(f"{name} is not going on; {unfinished.name} is")
    return unfinished


def in_progress(campaign: Path) -> Path | None:
    """Returns the folder of the run without a record, if there is one."""
    folders = (campaign / "runs").glob("*/")
    unfinished = [folder for folder in folders if not (folder / "record.json").exists()]
    return max(unfinished, default=None)


def keep_limit_change(run: Path, change: Mapping[str, Any]) -> None:
    """Adds a change of a running disk's limits to the run's raw files."""
    with (run / "raw" / _CHANGES).open("a") as file:
        file.write(json.dumps(change) + "\n")


def limit_changes(run: Path) -> list[Any]:
    """Returns all changes of limits during the run, in order, without those that the disk refused,
    which never took effect. A line that was cut counts as one: it may have taken effect."""
    file = run / "raw" / _CHANGES
    changes: list[Any] = []
    if not file.exists():
        return changes
    for line in file.read_text().splitlines():
        try:
            change = dict(json.loads(line))
        except (ValueError, TypeError):
            change = {"cut": line}
        if "refused" not in change:
            changes.append(change)
        elif changes:  # what was refused was noted just before
            changes.pop()
    return changes


_INTERVALS = "intervals.csv"
_TRANSACTIONS = "latencies.parquet"
_SAMPLES = "samples.parquet"
_TEXTS = ("node", "metric", "unit", "phase")  # columns of samples.parquet


def save_run(
    folder: Path,
    record: Record,
    intervals: Any,
    latencies: Iterable[pd.DataFrame] | None,
    samples: Iterable[pd.DataFrame] | None,
) -> None:
    """Saves tables, which may be None or come in parts, then the record: the run is complete."""
    if intervals is not None:
        intervals.to_csv(folder / _INTERVALS, index=False, float_format="%.14g")
    if latencies is not None:
        parquet.write(folder / _TRANSACTIONS, latencies)
    if samples is not None:
        parquet.write(folder / _SAMPLES, samples)
    save_record(folder, record)


def has_samples(folder: Path) -> bool:
    """Whether a run has its telemetry, whole."""
    return _whole(partial(_is_table, folder / _SAMPLES), False, [])


def save_record(folder: Path, record: Record) -> None:
    """Saves the record with the checksums of all files of the run, which are then on the disk."""
    file = folder / "record.json"
    content = as_written(record)
    write_json(file, {**content, "files": checksums(folder, file)})


_GATES = "gates.json"
_PREDICTIONS = "predictions.json"


def save_gates(campaign: Path, gates: Sequence[Gate]) -> None:
    """Saves the truth gates of a campaign in the order in which they were taken."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "gates": [asdict(gate) for gate in gates],
    }
    write_json(campaign / _GATES, content)


def save_predictions(campaign: Path, predictions: Sequence[Prediction]) -> None:
    """Saves what was predicted of other tiers, over what was before."""
    content = [asdict(prediction) for prediction in predictions]
    write_json(
        campaign / _PREDICTIONS,
        {"schema_version": SCHEMA_VERSION, "predictions": content},
    )


def save_verdict(campaign: Path, verdict: Verdict) -> None:
    write_json(campaign / "verdict.json", asdict(verdict))


def decisions(campaign: Path) -> tuple[Decision, ...]:
    """Those of verdict.json as it stands; none if the campaign was not judged yet."""
    file = campaign / "verdict.json"
    return read_json(
        file,
        tuple[Decision, ...],
        RESULTS_FORMAT,
        part="decisions",
        older=results_formats.VERDICTS,
    )


def load(campaign: Path, tables: bool = True) -> Results:
    """Reads a campaign from its files. UsageError if it is none. `tables`: with intervals,
    samples and transactions."""
    if not (campaign / "plan.json").is_file():
        raise UsageError(
            f"{campaign} is not a results folder: it has no plan.json",
            advice="name a folder under results/, or results/latest",
        )
    plan = read_json(
        campaign / "plan.json", Plan, RESULTS_FORMAT, older=results_formats.PLANS
    )
    cut: list[str] = []  # what is passed over, and why
    fingerprint = _whole(
        partial(_fingerprint, campaign / "fingerprint.json"), dict[str, Any](), cut
    )
    gates = _kept_tuple(campaign / _GATES, tuple[Gate, ...], "gates", cut)
    predictions = _kept_tuple(
        campaign / _PREDICTIONS, tuple[Prediction, ...], "predictions", cut
    )
    runs = []
    for file in sorted((campaign / "runs").glob("*/record.json")):
        record = _whole(partial(_record, file), None, cut)
        if record:
            runs.append(_run_data(record, file.parent, tables, cut))
    return Results(
        campaign.resolve().name,
        _with_notes(plan, campaign, cut),
        fingerprint,
        tuple(runs),
        gates,
        predictions=predictions,
    )


def _kept_tuple(
    file: Path, noun: type[tuple[_Read, ...]], part: str, cut: list[str]
) -> tuple[_Read, ...]:
    """The `part` of a file that a campaign may have; none if it has no such file."""
    return _whole(partial(read_json, file, noun, part=part), (), cut)


def _with_notes(plan: Plan, campaign: Path, cut: Sequence[str]) -> Plan:
    """With a note of each file that was passed over, unless the plan has it already."""
    notes = []
    for text in cut:
        note = Note("other", text.replace(f"{campaign}/", ""))
        if note not in plan.notes:
            notes.append(note)
    return replace(plan, notes=(*plan.notes, *notes))


def checksum(campaign: Path) -> str:
    """SHA-256 of plan, fingerprint and records, which hold the checksums of the raw files."""
    digest = hashlib.sha256()
    for name in ("plan.json", "fingerprint.json", "runs/*/record.json"):
        for file in sorted(campaign.glob(name)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def load_run(folder: Path) -> RunData:
    """One run with its tables. CutError if its record was cut; cut tables are none."""
    return _run_data(_record(folder / "record.json"), folder, True, [])


def _record(file: Path) -> Record:
    return read_json(file, Record, RESULTS_FORMAT, older=results_formats.RECORDS)


def _whole(read: Callable[[], _Read], otherwise: _Read, cut: list[str]) -> _Read:
    """What is read; `otherwise` if its file was cut, which is then said in `cut`."""
    try:
        return read()
    except CutError as error:
        cut.append(f"{LEFT_OUT}{error.what}")
        return otherwise


def _fingerprint(file: Path) -> dict[str, Any]:
    with _in_form(file):
        if file.is_file():
            return dict(json.loads(file.read_bytes()))
        return {}


def _run_data(record: Record, folder: Path, tables: bool, cut: list[str]) -> RunData:
    intervals = pd.DataFrame(columns=list(INTERVAL_COLUMNS))
    if not tables:
        return RunData(record, intervals, Samples(tuple), _no_parts)
    file = folder / _INTERVALS
    if file.is_file():
        intervals = _whole(partial(_intervals, file), intervals, cut)
    samples = _parts_of(folder / _SAMPLES, cut, _TEXTS)
    transactions = _parts_of(folder / _TRANSACTIONS, cut)
    return RunData(record, intervals, Samples(samples), transactions)


def _parts_of(
    file: Path, cut: list[str], columns: Sequence[str] = ()
) -> Callable[[], Iterator[pd.DataFrame]]:
    """What reads the table of a file in parts; of one that is not there, or cut, none."""
    if _whole(partial(_is_table, file), False, cut):
        return partial(parquet.parts, file, columns)
    return _no_parts


def _no_parts() -> Iterator[pd.DataFrame]:
    return iter(())


def _is_table(file: Path) -> bool:
    """Whether there is one; its end says what is in it."""
    with _in_form(file, OSError):
        return file.is_file() and parquet.rows(file) >= 0


def _intervals(file: Path) -> pd.DataFrame:
    """Its last line ends like every other unless it was cut, and all have as many fields."""
    with _in_form(file):
        text = file.read_text()
        commas = {line.count(",") for line in text.splitlines()}
        if not text.endswith("\n") or len(commas) > 1:
            raise ValueError("a line is not whole")
        table = pd.read_csv(io.StringIO(text))
        table[list(INTERVAL_COLUMNS)].drop(columns="phase").astype(float)
        return table


def read_json(
    file: Path,
    noun: type[_Read],
    readable: int = SCHEMA_VERSION,
    part: str = "",
    older: Mapping[int, results_formats.Upgrade] = MappingProxyType({}),
) -> _Read:
    """All of it, or its `part`, of which there is none without the file: older campaigns have no
    such, nor those that ended before. UsageError for another version than the `readable` one and
    those `older` ones that can be upgraded."""
    if part and not file.is_file():
        return noun()
    with _in_form(file):
        content = json.loads(file.read_bytes())
        version = content.get("schema_version", 1)
        if isinstance(version, int) and version in older:
            older[version](content)
        elif isinstance(version, int) and version != readable:
            raise _other_version(file, version, readable)
        for load in (*content.get("workloads", ()), content.get("workload")):
            _with_its_load(load)
        if part:
            content = content[part]
        return cast(_Read, _form(noun).validate_python(content))


def _other_version(file: Path, version: int, readable: int) -> UsageError:
    advice = "an older version wrote it, and nothing converts it: measure again"
    if version > readable:
        advice = "a newer version wrote it: read it with that one, or a newer one still"
    return UsageError(
        f"{file} has schema_version {version}; "
        f"this version of tierbench reads {readable}",
        advice,
    )


def _with_its_load(workload: Any) -> None:
    """A load was once kept beside the value of a factor, as the `point` of a workload."""
    if not isinstance(workload, dict):
        return
    point = workload.pop("point", None)
    if not point:
        return
    factor = point["axis"]
    if factor == "rate":
        factor = RATE_OPTION
    question = point["protocol"]
    if question == "sweep":
        question = "load"
    workload["varied"] = {
        "of": point["of"],
        "factor": factor,
        "value": f"{point['value']:.12g}",
        "number": point["value"],
        "question": question,
    }


@contextlib.contextmanager
def _in_form(file: Path, *also: type[Exception]) -> Iterator[None]:
    """CutError if the block, which reads `file`, finds it in another form, or fails with `also`."""
    wrong: tuple[type[Exception], ...] = (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        *also,
    )
    try:
        yield
    except wrong as error:
        why = f"({type(error).__name__}: {error})"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            why = f"({error.error_count()} mistakes): {first['loc']}: {first['msg']}"
        raise CutError(
            f"{file} does not have the form this version reads {why}",
            advice="was it written by another version, or edited by hand?",
        ) from error
