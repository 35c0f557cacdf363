"""How a campaign stands, from its folder alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.results import Results
from orchestrator.analysis.telemetry.causes.bottlenecks import bottlenecks
from orchestrator.analysis.telemetry.use import node_use
from orchestrator.cli.measure.concluding import conclude
from orchestrator.facts import Pause
from orchestrator.model import Measurement, Note, Phase, Record, Run
from orchestrator.run.progress import (
    campaign_time,
    judged_runs,
    judging,
    outlines,
    status,
    status_lines,
)
from orchestrator.system import campaign_writing, clock, store, stored_json
from orchestrator.system.runs_read_before import RunsReadBefore
from orchestrator.units import format_moment, format_seconds
from tests.calls import calls_of
from tests.campaigns import build_campaign, stored
from tests.fakes import Log, QuietProgress, fake_world
from tests.plans import a_plan, changed_plan
from tests.unit.run.conftest import Make

BEGAN_S = 1_750_000_000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three of four runs are finished, the last is in progress."""
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["insert"], repetitions=2
    )
    campaign = stored(made, tmp_path)
    last = made.plan.runs[-1].slug
    (campaign / "runs" / last / "record.json").unlink()
    return campaign


def line_of_the_first(campaign: Results) -> str:
    run = campaign.runs[0]
    judged = judging.judged_run(run, campaign)
    return status_lines.line_of_run(judged, len(campaign.plan.runs))


def test_a_run_is_a_line_with_rate_p99_limit_and_doubts(folder: Path) -> None:
    campaign = store.load(folder)
    line = line_of_the_first(campaign)
    assert line.startswith("run 1 of 4, premium × insert: ")
    assert "/s, p99 " in line and line.endswith((" note", " notes"))


def test_what_was_interrupted_says_how_to_go_on(tmp_path: Path) -> None:
    """Beside a report too, which shows the runs that are finished."""
    made = build_campaign(profiles=["ultra"], workloads=["insert"], interrupted=[2])
    campaign = stored(made, tmp_path)
    (campaign / "report.md").touch()
    lines = list(status.described(campaign, BEGAN_S))
    command = f"`tierbench resume {campaign}` makes the others"
    assert [line for line in lines if command in line]
    assert "2 of 3 runs are finished" in lines[-2] and lines[-1] == status.ENDED


@pytest.mark.parametrize("later_s", [0, 10, 7200])
def test_what_was_interrupted_is_not_asked_whether_it_runs(
    tmp_path: Path, later_s: int
) -> None:
    """However long ago that was, nothing is on the way, so no end is foretold."""
    made = build_campaign(profiles=["ultra"], workloads=["insert"], interrupted=[2])
    campaign = stored(made, tmp_path)
    newest_s = max(file.stat().st_mtime for file in campaign.rglob("*"))
    lines = list(status.described(campaign, newest_s + later_s))
    assert lines[-1].startswith("it was interrupted: the last file is of 20")
    assert "`tierbench resume " in lines[-2]
    assert "still running?" not in " ".join(lines) and ", until " not in " ".join(lines)


def test_the_p99_of_a_tpcc_derived_run_is_that_of_the_answer() -> None:
    """The answer has New-Order's; of all types together it was three times as long."""
    campaign = build_campaign(profiles=["ultra"], workloads=["tpcc"], repetitions=1)
    record = campaign.runs[0].record
    figures: dict[str, Measurement] = {}
    others: list[Measurement] = []
    for measurement in record.measurements:
        if measurement.metric == "latency_p99_s":
            figures[measurement.scope] = measurement
        else:
            others.append(measurement)
    whole = replace(figures["all"], value=1.01)
    of_new_order = replace(whole, scope="new_order", value=0.345)
    for measured, expected in (
        ((*others, whole, of_new_order), ["New-Order p99 345 ms"]),
        # Too few New-Orders for a p99 of theirs are no reason to show another's.
        ((*others, whole), []),
    ):
        shown = outlines.of_record(replace(record, measurements=measured)).figures
        assert [figure for figure in shown if "p99" in figure] == expected


@pytest.mark.parametrize(
    ("has_telemetry", "cause", "said"),
    [
        (True, "iops_cap", "limited by the disk's IOPS"),
        (False, "unattributed", "limit not known"),
    ],
)
def test_a_run_s_line_has_the_cause_that_its_report_has(
    has_telemetry: bool, cause: str, said: str
) -> None:
    campaign = build_campaign(
        profiles=["premium"],
        workloads=["point-select"],
        repetitions=1,
        frames=has_telemetry,
    )
    assert [limit.cause for limit in bottlenecks(campaign)] == [cause]
    assert f", {said}, " in line_of_the_first(campaign)


def test_what_is_left_and_how_the_decision_stands(folder: Path) -> None:
    for file in folder.rglob("*"):
        os.utime(file, (BEGAN_S + 3590, BEGAN_S + 3590))  # it was written to just now
    os.utime(folder / "fingerprint.json", (BEGAN_S, BEGAN_S))
    said = list(status.described(folder, BEGAN_S + 3600))
    assert said[0].endswith("3 of 4 runs")
    assert [line.split(",")[0] for line in said[1:4]] == [
        f"run {n} of 4" for n in (1, 2, 3)
    ]
    assert said[4] == "60 min so far, longer than expected"
    assert said[5] == (
        f"3 of 3 finished runs not judged yet: `tierbench analyze {folder}` does it"
    )
    assert said[6].startswith("in progress: 04-") and said[7].startswith(
        "last written "
    )


def failed(record: Record) -> Record:
    return replace(record, outcome="failed", failure="the server went away")


@pytest.mark.parametrize(
    ("retries", "said"),
    [(1, "all 2 runs are finished: "), (0, "1 of 2 runs is finished, 1 failed: ")],
)
def test_a_failed_run_is_missing_until_it_was_repeated_or_if_nothing_repeats_it(
    tmp_path: Path, retries: int, said: str
) -> None:
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["insert"], repetitions=1
    )
    first, second = made.runs
    runs = [replace(first, record=failed(first.record)), second]
    plan = changed_plan(made.plan, retry_failed=retries)
    if retries:
        again = replace(first.record.run, number=3)
        plan = replace(plan, runs=(*plan.runs, again))
        runs.append(replace(first, record=replace(first.record, run=again)))
    campaign = stored(replace(made, plan=plan, runs=tuple(runs)), tmp_path)
    assert status.how_to_go_on(campaign) == (
        f"{said}`tierbench analyze {campaign}` reports what was found"
    )


@pytest.mark.parametrize("since_last_s", [150.0, 900.0])
def test_a_run_that_takes_longer_than_expected_has_no_time_left(
    since_last_s: float,
) -> None:
    """Each run takes 150 s; one of four is left."""
    outline = three_of_four()
    now_s = (outline.runs[-1].ended_s or 0.0) + since_last_s
    line = status_lines.time_and_cost(outline, now_s, is_going=True)
    assert line.endswith(" so far, longer than expected")


def three_of_four() -> outlines.CampaignOutline:
    """Each run warms up and measures for 120 s and is checked for 30 s; one of four is left."""
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=2,
        warmup_s=20.0,
        measure_s=100.0,
        frames=False,
        change=checked_for_30_s,
    )
    *ended, _ = campaign.runs
    return outlines.of_campaign(replace(campaign, runs=tuple(ended)))


def checked_for_30_s(record: Record) -> Record:
    end_s = record.phases[-1].end_s
    phases = (*record.phases, Phase("check", end_s, end_s + 30.0))
    return replace(record, phases=phases)


@pytest.mark.parametrize(
    ("since_last_s", "left_s"),
    [(0.0, 150.0), (10.0, 140.0), (149.0, 1.0)],
)
def test_what_is_left_is_what_runs_took_less_what_has_passed_since_the_last(
    since_last_s: float, left_s: float
) -> None:
    outline = three_of_four()
    last = outline.runs[-1]
    assert last.began_s is not None and last.ended_s == last.began_s + 150.0
    now_s = last.ended_s + since_last_s
    elapsed, left, until, *_ = status_lines.time_and_cost(
        outline, now_s, is_going=True
    ).split(", ")
    began_s = outline.began_s or 0.0
    assert elapsed == f"{format_seconds(now_s - began_s)} so far"
    assert left == f"about {format_seconds(left_s)} left"
    assert until == f"until {format_moment(now_s + left_s)}"


def test_a_pause_is_no_part_of_the_run_in_progress() -> None:
    """One of four runs of 120 s is left; it began when a pause of an hour was over."""
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=2,
        warmup_s=20.0,
        measure_s=100.0,
        frames=False,
    )
    *ended, _ = campaign.runs
    ended_s = ended[-1].record.phases[-1].end_s
    pauses = (Pause(ended_s + 10.0, ended_s + 3610.0),)
    plan = replace(campaign.plan, pauses=pauses)
    campaign = replace(campaign, plan=plan, runs=tuple(ended))
    now_s = ended_s + 3610.0 + 50.0
    line = status_lines.time_and_cost(
        outlines.of_campaign(campaign), now_s, is_going=True
    )
    _, left, *_ = line.split(", ")
    assert left == f"about {format_seconds(70.0)} left"


@pytest.mark.parametrize(
    ("repetitions", "noise_pct", "answer"), [(3, 0.3, "ultra"), (1, 0.3, "open")]
)
def test_the_answer_for_the_cluster_comes_first(
    repetitions: int, noise_pct: float, answer: str, tmp_path: Path
) -> None:
    made = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["point-select", "tpcc"],
        repetitions=repetitions,
        noise_pct=noise_pct,
        frames=False,
    )
    said = judging.decision_lines(store.load(stored(made, tmp_path)))
    assert said[0] == f"both workloads, by the runs so far: {answer}"
    assert said[1].startswith("point-select, by the runs so far: ")


class Asking(Log):
    """Asks how the campaign stands while the second run is read, as from another terminal."""

    def __init__(self, results: Path) -> None:
        super().__init__()
        self._results, self.told = results, list[str]()

    def say(self, word: str) -> None:
        super().say(word)
        if word == "read" and self.words.count(word) == 2:
            self.told = list(status.described(self._results / "latest", BEGAN_S))


def test_a_run_that_is_being_read_is_said_to_be_and_not_called_interrupted(
    tmp_path: Path, make: Make
) -> None:
    log = Asking(tmp_path / "results")
    make(log).execute(plan=a_plan(repetitions=3))
    assert log.told[0].endswith("1 of 3 runs") and "interrupted" not in " ".join(
        log.told
    )
    assert log.told[-2].startswith("in progress: 02-") and log.told[-2].endswith(
        " is being read"
    )


@pytest.mark.parametrize(
    ("silent_s", "may_be_gone", "elapsed_s"),
    [
        (900.0, False, 4500.0),
        # Then its time ended with its last file.
        (901.0, True, 3600.0),
    ],
)
def test_a_campaign_that_wrote_nothing_for_a_quarter_of_an_hour_may_be_gone(
    folder: Path, silent_s: float, may_be_gone: bool, elapsed_s: float
) -> None:
    written_s = BEGAN_S + 3600.0
    for file in folder.rglob("*"):
        os.utime(file, (written_s, written_s))
    os.utime(folder / "fingerprint.json", (BEGAN_S, BEGAN_S))
    lines = list(status.described(folder, written_s + silent_s))
    assert lines[-1].endswith("is it still running?") is may_be_gone
    assert f"{format_seconds(elapsed_s)} so far" in " ".join(lines)


@pytest.mark.parametrize(
    ("later_s", "written_s"), [(600.0, 7200.0), (601.0, 0.0), (-601.0, 0.0)]
)
def test_dates_of_files_count_that_were_written_as_the_campaign_began(
    tmp_path: Path, later_s: float, written_s: float
) -> None:
    """Its fingerprint is written in the first ten minutes: copied files have later dates."""
    for name, date_s in (("fingerprint.json", later_s), ("plan.json", 7200.0)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (BEGAN_S + date_s, BEGAN_S + date_s))
    outline = outlines.CampaignOutline(clock.stamp(BEGAN_S), a_plan(), (), ())
    assert campaign_time.last_written_s(outline, tmp_path) == BEGAN_S + written_s


def test_the_dates_of_a_resumed_campaign_count_by_its_last_fingerprint(
    tmp_path: Path,
) -> None:
    resumed_s = BEGAN_S + 5000.0
    dates_s = {"fingerprint-02.json": resumed_s, "plan.json": BEGAN_S + 7200.0}
    for name, date_s in dates_s.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (date_s, date_s))
    resumed = replace(
        a_plan(),
        notes=(Note("interrupted", "it went on later"),),
        pauses=(Pause(BEGAN_S + 1000.0, resumed_s),),
    )
    outline = outlines.CampaignOutline(clock.stamp(BEGAN_S), resumed, (), ())
    assert campaign_time.last_written_s(outline, tmp_path) == BEGAN_S + 7200.0


def test_nothing_that_cannot_be_told_ends_a_campaign(folder: Path) -> None:
    shutil.rmtree(folder / "runs")
    progress = QuietProgress()
    world = replace(fake_world(), progress=progress)
    run = Run(1, "premium", "insert", 1)
    judging.announce(folder, run, world, RunsReadBefore())
    (said,) = progress.said
    assert "the state of the campaign is not known: " in said


# ------------------------------------------------------------------ what is kept


def unjudged(folder: Path) -> int:
    """Of how many runs `status` says that they are not judged."""
    return sum(line.endswith(", not judged yet") for line in told(folder))


def records_read(folder: Path) -> int:
    """How many records are read, parsed and checked until `status` has answered."""
    return calls_of({"records": store._record}, lambda: told(folder)).get("records", 0)


def told(folder: Path) -> list[str]:
    return list(status.described(folder, BEGAN_S + 3600))


def test_a_run_is_shown_as_it_was_judged_and_is_not_judged_to_be_shown(
    folder: Path,
) -> None:
    """To judge a thousand runs took half a minute."""
    calls = calls_of(
        {"tables": store.load_run, "judged": judging.judged_run}, lambda: told(folder)
    )
    assert calls == {}
    assert unjudged(folder) == 3
    assert not (folder / "judged.json").exists(), "to look writes nothing"
    campaign = conclude(folder).campaign
    assert told(folder)[1] == line_of_the_first(campaign)
    assert unjudged(folder) == 0


def test_of_a_thousand_records_only_those_that_changed_are_read(folder: Path) -> None:
    conclude(folder)
    assert records_read(folder) == 0, "each costs as much as all that is kept"
    first, *_ = sorted((folder / "runs").iterdir())
    other = stored_json.plain(first / "record.json")
    del other[stored_json.CHECKSUM]
    other["outcome"] = "failed"
    other["failure"] = "the client was killed"
    stored_json.write(first / "record.json", other)
    assert told(folder)[1] == (
        "run 1 of 4, premium × insert: failed: the client was killed"
    )


def test_the_nodes_of_a_run_are_looked_at_once_to_be_judged(folder: Path) -> None:
    """Of a thousand runs a second look took an eighth of all the time."""
    calls = calls_of({"looks": node_use._gathered}, lambda: conclude(folder))
    assert calls == {"looks": 3}


def test_what_was_decided_is_kept_as_the_verdict_has_it(folder: Path) -> None:
    verdict = conclude(folder).verdict
    (line,) = [line for line in told(folder) if "by the runs so far" in line]
    (decision,) = verdict.decisions
    assert line.endswith(decision.tier or "open")


def test_each_run_of_a_campaign_is_kept_when_it_has_ended(
    tmp_path: Path, make: Make
) -> None:
    make(Log()).execute(plan=a_plan(repetitions=3))
    assert unjudged(tmp_path / "results" / "latest") == 0


def test_what_was_decided_is_shown_while_the_next_run_goes_on(folder: Path) -> None:
    """The campaign goes on: a new folder without a record changes nothing that was judged."""
    conclude(folder)
    line = next(line for line in told(folder) if "by the runs so far" in line)
    (folder / "runs" / "04-next" / "raw").mkdir(parents=True)
    assert line in told(folder)


def test_what_is_not_judged_of_judged_runs_is_what_they_decide(folder: Path) -> None:
    """A disk is checked again before the next run."""
    conclude(folder)
    campaign_writing.save_gates(folder, ())
    assert unjudged(folder) == 0
    assert (
        "what the runs so far decide is not judged yet: the end of the next run does it, "
        f"or `tierbench analyze {folder}`"
    ) in told(folder)
    assert not any("by the runs so far: " in line for line in told(folder))


def kept_limits(folder: Path) -> dict[str, str]:
    """What `status` says of the limit of each run."""
    limits: dict[str, str] = {}
    for line in told(folder)[1:4]:
        title, _, figures = line.partition(": ")
        limits[title] = figures.split(", ")[2]
    return limits


@pytest.mark.parametrize(
    "damage",
    [
        lambda run: (run / "intervals.csv").write_text(""),
        lambda run: (run / "record.json").write_text(
            (run / "record.json").read_text() + " "
        ),
    ],
    ids=["another table", "another record"],
)
def test_what_is_kept_of_other_files_is_not_believed(
    folder: Path, damage: Callable[[Path], object]
) -> None:
    conclude(folder)
    kept = stored_json.plain(folder / "judged.json")
    for run in kept["runs"].values():
        run["limit"] = "limited by what was kept"
    seal(folder, kept)
    assert set(kept_limits(folder).values()) == {"limited by what was kept"}
    first, *_ = sorted((folder / "runs").iterdir())
    damage(first)
    limits = list(kept_limits(folder).values())
    assert limits[0] != "limited by what was kept" == limits[1]


def test_decisions_that_were_made_from_other_tables_are_not_shown(folder: Path) -> None:
    conclude(folder)
    kept = stored_json.plain(folder / "judged.json")
    kept["decisions"] = ["insert, by the runs so far: what was kept"]
    seal(folder, kept)
    assert any("what was kept" in line for line in told(folder))
    first, *_ = sorted((folder / "runs").iterdir())
    (first / "intervals.csv").write_text("")
    assert not any("what was kept" in line for line in told(folder))


def test_what_is_kept_by_another_version_is_not_believed(
    folder: Path,
) -> None:
    conclude(folder)
    kept = stored_json.plain(folder / "judged.json")
    assert kept["digest"] and unjudged(folder) == 0
    kept["digest"] = "0" * 64
    for run in kept["runs"].values():
        run["digest"] = "0" * 64
    seal(folder, kept)
    assert unjudged(folder) == 3


def test_a_changed_value_of_what_is_kept_is_never_shown(folder: Path) -> None:
    before = told(folder)
    conclude(folder)
    file = folder / "judged.json"
    as_written = file.read_text()
    count = len(places_in(json.loads(as_written)))
    assert count > 30
    for number in range(count):
        content = json.loads(as_written)
        parent, key = places_in(content)[number]
        parent[key] = unlike(parent[key])
        file.write_text(json.dumps(content))
        assert judged_runs.kept(folder) == judged_runs.JudgedRuns({}), key
    assert told(folder)[:4] == before[:4]


def test_what_is_kept_without_its_checksum_is_not_believed(folder: Path) -> None:
    conclude(folder)
    content = json.loads((folder / "judged.json").read_text())
    del content[stored_json.CHECKSUM]
    (folder / "judged.json").write_text(json.dumps(content))
    assert unjudged(folder) == 3


def places_in(content: Any) -> list[tuple[Any, Any]]:
    """Each value of a JSON that holds no other: what it stands in, and its key there."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(content, dict):
        items = content.items()
    if isinstance(content, list):
        items = enumerate(content)
    places: list[tuple[Any, Any]] = []
    for key, value in items:
        if isinstance(value, (dict, list)):
            places += places_in(value)
        else:
            places.append((content, key))
    return places


def unlike(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, str):
        return f"{value}0"
    if value is None:
        return 1.0
    return value + 1


def seal(folder: Path, content: dict[str, Any]) -> None:
    """Writes judged.json as this program would, with a checksum of what it has now."""
    del content[stored_json.CHECKSUM]
    stored_json.write(folder / "judged.json", content)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"runs": {"01": {"limit": 3}}}'])
def test_a_damaged_file_of_what_is_kept_is_as_none(folder: Path, text: str) -> None:
    before = told(folder)
    (folder / "judged.json").write_text(text)
    assert told(folder)[:-1] == before[:-1]


def test_an_slo_for_once_changes_nothing_that_is_kept(folder: Path) -> None:
    conclude(folder, "p99 < 1 us")
    assert not (folder / "judged.json").exists()
