"""A campaign that ended before its plan did goes on in its folder.

Method: fake parts; a program that is killed is an exception that no code of ours catches, after
which the folder is gone on with by new objects, as another process would.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.campaigns import machine_differences
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.results import Results
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import NodeError, UsageError
from orchestrator.facts import Varied
from orchestrator.model import Measurement, Plan, Workload
from orchestrator.parts import LoadAbilities, MeasuredPoints
from orchestrator.platforms import own_images
from orchestrator.powers import Completed
from orchestrator.run.progress import campaign_time
from orchestrator.run.resuming.resuming import Resumption
from orchestrator.system import (
    file_checksums,
    store,
    stored_json,
    unfinished_runs,
)
from tests.fake_parts import FakeGenerator
from tests.fakes import Log, completed
from tests.plans import a_plan, changed_plan
from tests.unit.run.conftest import (
    FACTS,
    HERE,
    PLAN,
    Campaign,
    Failing,
    Killed,
    Make,
    begun,
    go_on,
    kept,
    real,
)


def records(folder: Path) -> dict[str, bytes]:
    return {
        one.parent.name: one.read_bytes() for one in folder.glob("runs/*/record.json")
    }


@pytest.mark.parametrize(
    "word", ["disks of ultra up", "warm", "run point-select", "read"]
)
@pytest.mark.parametrize("error", [Killed(), KeyboardInterrupt()], ids=repr)
def test_the_planned_set_is_made_each_run_once(
    make: Make, tmp_path: Path, word: str, error: BaseException
) -> None:
    folder = begun(
        make(Failing(word, error, (2 if word != "disks of ultra up" else 1,)))
    )
    before = {
        name: text
        for name, text in records(folder).items()
        if b'"outcome": "done"' in text
    }
    campaign = Campaign(tmp_path)
    assert go_on(campaign) == folder.resolve()
    assert [record.run for record in campaign.records()] == list(PLAN.runs)
    assert campaign.outcomes() == ["done"] * 4
    after = records(folder)
    assert {name: after[name] for name in before} == before
    measured = len(before) + (word == "read")
    assert campaign.log.words.count("run point-select") == 4 - measured


def test_the_stored_plan_says_how_often_and_when_it_was_interrupted(
    make: Make, tmp_path: Path
) -> None:
    folder = begun(make(Failing("warm", Killed(), (2,))))
    with pytest.raises(Killed):
        go_on(make(Failing("warm", Killed(), (2,))))
    go_on(make())
    notes = [
        one.text for one in store.load(folder).plan.notes if one.kind == "interrupted"
    ]
    assert [text.split(",")[0] for text in notes] == [
        "interruption 1: 1 of 4 runs were finished",
        "interruption 2: 2 of 4 runs were finished",
    ]
    assert all(" UTC" in text for text in notes)


@pytest.mark.parametrize(
    ("left_s", "pauses"), [(None, 0), (99.0, 1), (100.0, 0), (101.0, 0)]
)
def test_a_pause_is_the_time_since_the_campaign_was_left(
    left_s: float | None, pauses: int
) -> None:
    plan = campaign_time.with_pause(a_plan(), left_s, now_s=100.0)
    assert len(plan.pauses) == pauses


def test_what_an_unfinished_run_left_is_put_aside(make: Make) -> None:
    folder = begun(make(Failing("run point-select", Killed(), (2,))))
    (slug,) = [one.name for one in folder.glob("runs/02-*")]
    (folder / "runs" / slug / "raw" / "half").write_text("x")
    go_on(make())
    assert (folder / "interrupted" / f"{slug}-1" / "raw" / "half").read_text() == "x"
    assert not (folder / "runs" / slug / "raw" / "half").exists()


def test_a_record_that_was_cut_is_measured_again(make: Make) -> None:
    campaign = make()
    campaign.execute(plan=PLAN)
    file = next((campaign.results / "latest").glob("runs/01-*/record.json"))
    file.write_text(file.read_text()[:40])
    go_on(make())
    assert campaign.outcomes() == ["done"] * 4


def test_a_campaign_without_missing_runs_only_asks_what_follows(make: Make) -> None:
    campaign = make()
    campaign.execute(plan=a_plan(repetitions=1))
    seen: list[Path] = []

    def following(folder: Path) -> Plan | None:
        seen.append(folder)
        return a_plan(repetitions=2) if len(seen) == 1 else None

    go_on(campaign, {}, following=[following])
    assert [record.run.number for record in campaign.records()] == [1, 2]


def test_gates_of_before_are_kept_beside_new_ones(make: Make) -> None:
    begun(make(Failing("warm", Killed(), (2,))), real(a_plan(repetitions=2)))
    campaign = make()
    go_on(campaign)
    assert len(kept(campaign)) == 3  # before, when it went on, and after the last run


def test_a_last_gate_that_alone_is_missing_is_taken(make: Make) -> None:
    begun(make(Failing("gate of premium", Killed(), (2,))), real(a_plan(repetitions=2)))
    campaign = make()
    go_on(campaign)
    assert campaign.log.words.count("run point-select") == 0
    assert len(kept(campaign)) == 2  # before the first run and, now, after the last


def test_the_missing_last_gate_of_a_factors_value_is_taken(make: Make) -> None:
    """A tier of two striped disks has a gate of its own, which no profile names."""
    plan = real(a_plan(repetitions=2))
    (profile,) = plan.profiles
    two_disks = replace(profile, tier_of={"2": replace(profile.tier, count=2)})
    at_two = replace(plan.workloads[0], varied=Varied("point-select", "count", "2", 2))
    plan = replace(plan, profiles=(two_disks,), workloads=(at_two,))
    tier = as_used(two_disks, at_two).tier
    begun(make(Failing(f"gate of {tier.name}", Killed(), (2,))), plan)
    campaign = make()
    go_on(campaign)
    assert campaign.log.words.count("run point-select") == 0
    assert [gate.tier for gate in kept(campaign)] == [tier.name] * 2


def test_a_last_gate_that_was_taken_is_not_taken_again(make: Make) -> None:
    make().execute(plan=real(a_plan(repetitions=2)))
    campaign = make()
    go_on(campaign)
    assert len(kept(campaign)) == 2


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("code", {"revision": "b" * 40}),
        ("code", {"revision_changed": True}),
        ("machine", {"host": {**HERE, "hostname": "there"}}),
        ("machine", {"host": {**HERE, "cpus": 4}}),
        ("kernel", {"host": {**HERE, "kernel": "6.2"}}),
    ],
)
def test_what_differs_is_refused_with_both_values_unless_it_is_named(
    make: Make, name: str, facts: dict[str, Any]
) -> None:
    folder = begun(make(Failing("warm", Killed(), (2,))))
    files = sorted(folder.rglob("*"))
    with pytest.raises(UsageError, match=rf"{name}: .* against ") as refused:
        go_on(make(), {**FACTS, **facts})
    assert f"--despite {name}" in refused.value.advice
    assert sorted(folder.rglob("*")) == files  # nothing was begun
    campaign = make()
    go_on(campaign, {**FACTS, **facts}, despite=(name,))
    assert campaign.outcomes() == ["done"] * 4
    doubts = [
        one for one in kinds.find(store.load(folder)) if one.kind == "gone on despite"
    ]
    assert [name in one.text for one in doubts] == [True]


@pytest.mark.parametrize("word", ["updated", "kernel of"])
def test_a_change_of_wording_changes_no_aspect(word: str) -> None:
    """What may differ is chosen by the fact that differs, never by how a title begins."""
    before = Results("", PLAN, {"host": HERE}, ())
    after = replace(before, fingerprint={"host": {**HERE, "cpus": 4, "kernel": "6.2"}})
    aspects: dict[str, bool] = {}
    for difference in machine_differences.unlike_machines(before, after, across=False):
        fact = replace(difference.fact, title=f"{word} {difference.fact.title}")
        retitled = replace(difference, fact=fact)
        aspects[str(retitled)] = retitled.is_of_kernel
    assert aspects == {
        f"{word} cores 2 against 4": False,
        f"{word} kernel 6.1 against 6.2": True,
    }


def test_another_image_of_the_database_is_refused(make: Make) -> None:
    before = make(Failing("warm", Killed(), (2,)))
    tag = before.parts.databases["postgresql"].image(
        PLAN.profiles[0].cluster, before.world
    )
    before.world.platform.images.here[tag] = "old"  # type: ignore[attr-defined]
    begun(before)
    with pytest.raises(UsageError, match=f"image: {tag} old against new"):
        now = make()
        now.world.platform.images.here[tag] = "new"  # type: ignore[attr-defined]
        go_on(now)


def with_packages(make: Make, listed: str, *wrongs: Failing) -> Campaign:
    """Its image of disks has these of Debian's packages."""
    campaign = make(*wrongs)
    platform: Any = campaign.world.platform
    tag = own_images.tag(campaign.world.root, "disk")
    platform.images.here[tag] = f"built {time.monotonic_ns()}"

    def answer(name: str, _argv: Sequence[str]) -> Completed:
        if "packages-disk" in name:
            return completed(listed)
        return completed()

    platform.answer = answer
    return campaign


@pytest.mark.parametrize(
    ("listed", "differs"),
    [
        ("fio 3.40-1\npasswd 1:4.17\n", "fio 3.39-1 against 3.40-1"),
        ("fio 3.39-1\npasswd 1:4.18\n", "passwd 1:4.17 against 1:4.18"),
    ],
)
def test_an_image_that_was_built_anew_with_another_package_is_refused(
    make: Make, listed: str, differs: str
) -> None:
    """Its tag is that of its folder's content, and so the same."""
    begun(
        with_packages(
            make, "fio 3.39-1\npasswd 1:4.17\n", Failing("warm", Killed(), (2,))
        )
    )
    told = f"image: {differs} in tierbench/disk:"
    with pytest.raises(UsageError, match=told) as refused:
        go_on(with_packages(make, listed))
    assert "--despite image" in refused.value.advice


def test_an_image_that_was_built_anew_with_the_same_packages_is_no_other(
    make: Make,
) -> None:
    listed = "fio 3.39-1\npasswd 1:4.17\n"
    begun(with_packages(make, listed, Failing("warm", Killed(), (2,))))
    campaign = with_packages(make, listed)
    go_on(campaign)
    assert campaign.outcomes() == ["done"] * 4


@pytest.mark.parametrize(("version", "goes_on"), [("3.39-1", True), ("3.40-1", False)])
def test_packages_as_earlier_releases_recorded_them_are_compared(
    make: Make, version: str, goes_on: bool
) -> None:
    """Each under its name, so that the version of `passwd` was hidden."""
    listed = "fio 3.39-1\npasswd 1:4.17\n"
    folder = begun(with_packages(make, listed, Failing("warm", Killed(), (2,))))
    file = folder / "fingerprint.json"
    facts = stored_json.facts(file, [])
    (tag,) = facts["packages"]
    facts["packages"] = {tag: {"fio": version, "passwd": "1:4.17"}}
    stored_json.write(file, facts)
    assert "***" in file.read_text()
    if goes_on:
        go_on(with_packages(make, listed))
        return
    with pytest.raises(UsageError, match=r"fio 3\.40-1 against 3\.39-1"):
        go_on(with_packages(make, listed))


@pytest.mark.parametrize("name", ["profile", "workload"])
def test_a_plan_that_was_edited_since_is_refused(make: Make, name: str) -> None:
    folder = begun(make(Failing("warm", Killed(), (2,))))
    plan = json.loads((folder / "plan.json").read_text())
    if name == "profile":
        plan["profiles"] = [{**one, "question": "another"} for one in plan["profiles"]]
    else:
        plan["workloads"][0]["threads"] = 99
    (folder / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(UsageError, match=f"{name}: "):
        go_on(make())


def test_a_name_that_nothing_has_is_refused(make: Make) -> None:
    begun(make(Failing("warm", Killed(), (2,))))
    with pytest.raises(UsageError, match="--despite moon"):
        go_on(make(), despite=("moon",))


def test_a_failed_run_is_finished_and_stays(make: Make) -> None:
    plan = a_plan(repetitions=3)
    log = Failing("warm", NodeError("died"), (1,))
    log.broken["run point-select"] = Killed()
    folder = begun(make(log), plan)
    before = records(folder)
    campaign = make(Log())
    go_on(campaign)
    assert campaign.outcomes() == ["failed", "done", "done"]
    assert (
        records(folder).items()
        >= {k: v for k, v in before.items() if k[:2] == "01"}.items()
    )


def test_a_plan_of_one_more_reading_is_that_of_the_folder(make: Make) -> None:
    """Not of files that changed since: `Resumption` reads no profile and no workload."""
    folder = begun(
        make(Failing("warm", Killed(), (2,))), changed_plan(PLAN, margin_pct=7.0)
    )
    assert Resumption(folder.resolve(), ()).plan == changed_plan(PLAN, margin_pct=7.0)


def test_a_run_whose_raw_files_are_whole_is_read_and_not_measured_again(
    make: Make,
) -> None:
    folder = begun(make(Failing("read", Killed(), (2,))))
    campaign = make()
    go_on(campaign)
    assert campaign.outcomes() == ["done"] * 4
    assert campaign.log.words.count("run point-select") == 2
    figures = [one.measurements for one in campaign.records()]
    assert figures[1] == figures[2]
    (note,) = [
        one.text for one in store.load(folder).plan.notes if one.kind == "interrupted"
    ]
    assert re.search(
        r"02-\S+ was measured before, and read afterwards from its raw files", note
    )


def test_a_run_read_afterwards_has_all_that_was_known_of_it(make: Make) -> None:
    folder = begun(make(Failing("read", Killed(), (2,))))
    before = json.loads(next(folder.glob("runs/02-*/record.json")).read_bytes())
    go_on(make())
    after = json.loads(next(folder.glob("runs/02-*/record.json")).read_bytes())
    for name in ("phases", "nodes", "gate", "doubts"):
        assert after[name] == before[name]
    assert after["facts"].items() >= before["facts"].items()
    assert "samples.parquet" in after["files"]


@pytest.mark.parametrize(
    ("lacks", "why"),
    [
        ("checked", "before its data were checked"),
        ("measure", "before its data were checked"),
        ("samples.parquet", "telemetry is missing"),
        ("raw/log", "raw/log was cut"),
    ],
)
def test_a_run_that_lacks_something_essential_is_made_again_and_says_why(
    make: Make, lacks: str, why: str
) -> None:
    folder = begun(make(Failing("read", Killed(), (2,))))
    file = next(folder.glob("runs/02-*/record.json"))
    (file.parent / "raw" / "log").write_text("whole")
    content = json.loads(file.read_text())
    content["files"] |= file_checksums.checksums(file.parent, file)
    content["facts"].pop(lacks, None)
    content["phases"] = [one for one in content["phases"] if one["name"] != lacks]
    file.write_text(json.dumps(content))
    if "." in lacks:
        (file.parent / lacks).unlink()
    if lacks == "raw/log":
        (file.parent / lacks).write_text("")
    campaign = make()
    go_on(campaign)
    assert campaign.log.words.count("run point-select") == 3
    (note,) = [
        one.text for one in store.load(folder).plan.notes if one.kind == "interrupted"
    ]
    assert re.search(rf"02-\S+ is made again: .*{why}", note)


class Noting(Log):
    """Notes which file of telemetry is there when the run is read."""

    def __init__(self, results: Path) -> None:
        super().__init__()
        self._results, self.files = results, list[int]()

    def say(self, word: str) -> None:
        super().say(word)
        if word == "read":
            (file,) = self._results.glob("latest/runs/*/samples.parquet")
            self.files.append(file.stat().st_ino)


def test_the_telemetry_of_a_run_that_is_done_is_written_once(
    tmp_path: Path, make: Make
) -> None:
    log = Noting(tmp_path / "results")
    make(log).execute()
    (file,) = (tmp_path / "results").glob("latest/runs/*/samples.parquet")
    assert log.files == [file.stat().st_ino], "another file has taken its place"


class InPoints(FakeGenerator):
    """A generator that measures points, each by itself."""

    @property
    def abilities(self) -> LoadAbilities:
        return LoadAbilities(points=MeasuredPoints("points", self.so_far))

    def so_far(self, workload: Workload, out: Path) -> tuple[Measurement, ...]:
        return ()


@pytest.mark.parametrize("changed_limits", [False, True])
def test_a_run_of_points_goes_on_with_those_it_has(
    make: Make, changed_limits: bool
) -> None:
    folder = begun(make(Failing("run point-select", Killed(), (2,))))
    (raw,) = folder.glob("runs/02-*/raw")
    (raw / "points").mkdir()
    (raw / "points" / "one.json").write_text("measured")
    (raw / "points" / ".two.json.new").write_text("mea")
    if changed_limits:
        unfinished_runs.keep_limit_change(raw.parent, {"disk": "node-1"})
    campaign = make()
    campaign.parts = replace(
        campaign.parts, load_generators={"sysbench": InPoints(campaign.log)}
    )
    go_on(campaign)
    left = [file.name for file in (raw / "points").glob("*.json*")]
    assert left == ([] if changed_limits else ["one.json"])
    (note,) = [
        one.text for one in store.load(folder).plan.notes if one.kind == "interrupted"
    ]
    what = "is made again" if changed_limits else "goes on with the 1 point that it has"
    assert what in note
