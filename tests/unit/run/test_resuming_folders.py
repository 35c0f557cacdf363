"""What a campaign's folder may look like when it is gone on with, and what is needed to do so.

Method: as `test_resuming`: fake parts, and a program that is killed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis import results
from orchestrator.analysis.campaigns import machine_differences
from orchestrator.errors import UsageError
from orchestrator.model import Plan
from orchestrator.run import experiment
from orchestrator.run.resuming import resumed_conditions
from orchestrator.run.resuming.resuming import Resumption
from orchestrator.system import store
from tests.plans import a_plan
from tests.unit.run.conftest import (
    FACTS,
    HERE,
    Campaign,
    Failing,
    Killed,
    Make,
    begun,
    go_on,
)

THERE = {
    **FACTS,
    "revision": "b" * 40,
    "host": {**HERE, "hostname": "there", "cpus": 64, "kernel": "9"},
}


def killed(make: Make) -> Path:
    """The folder of a campaign that was killed in its second run."""
    return begun(make(Failing("warm", Killed(), (2,)))).resolve()


def killed_again(make: Make, facts: dict[str, Any] = FACTS, **more: Any) -> None:
    """Goes on until the next run is measured."""
    with pytest.raises(Killed):
        go_on(make(Failing("run point-select", Killed(), (1,))), facts, **more)


# ------------------------------------------------------------------ a fingerprint of each part


def gone(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    file.write_text(file.read_text()[:20])


def edited(file: Path) -> None:
    content = json.loads(file.read_text())
    content["host"] = THERE["host"]
    content["revision"] = THERE["revision"]
    file.write_text(json.dumps(content))


def without_machine(file: Path) -> None:
    content = json.loads(file.read_text())
    del content["host"]
    del content["content_sha256"]
    file.write_text(json.dumps(content))


def a_link(file: Path) -> None:
    elsewhere = file.with_name("elsewhere.json")
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


DAMAGE = [gone, cut, edited, without_machine, a_link]


@pytest.mark.parametrize("damage", DAMAGE)
def test_without_the_fingerprint_nothing_goes_on(
    make: Make, damage: Callable[[Path], None]
) -> None:
    folder = killed(make)
    damage(folder / "fingerprint.json")
    before = sorted(folder.rglob("*"))
    with pytest.raises(UsageError, match=r"machine: fingerprint\.json") as refused:
        go_on(make(), THERE)
    assert "--despite machine" in refused.value.advice
    assert sorted(folder.rglob("*")) == before


def test_the_rule_does_not_depend_on_how_a_changed_file_is_told(
    make: Make,
) -> None:
    folder = killed(make)
    edited(folder / "fingerprint.json")
    stored = store.load(folder)
    notes = tuple(replace(note, text="in other words") for note in stored.plan.notes)
    reworded = replace(stored, plan=replace(stored.plan, notes=notes))
    assert results.left_out(reworded) == ("in other words",)
    unlike = resumed_conditions.differences(reworded, folder, stored.fingerprint)
    assert dict(unlike) == {
        "machine": "fingerprint.json was changed after it was written"
    }


def test_without_the_fingerprint_it_goes_on_if_that_is_asked_for(make: Make) -> None:
    folder = killed(make)
    gone(folder / "fingerprint.json")
    campaign = make()
    go_on(campaign, THERE, despite=("machine",))
    assert campaign.outcomes() == ["done"] * 4
    notes = [note.text for note in store.load(folder).plan.notes]
    assert any("on machine: fingerprint.json" in text for text in notes)


def test_each_part_leaves_its_fingerprint(make: Make) -> None:
    folder = killed(make)
    killed_again(make, THERE, despite=("machine", "kernel", "code"))
    go_on(make())
    stored = store.load(folder)
    hosts = [facts["host"]["hostname"] for facts in stored.later_fingerprints]
    assert hosts == ["there", "here"]
    assert stored.fingerprint["host"]["hostname"] == "here"


def test_without_the_fingerprint_of_a_later_part_nothing_goes_on(make: Make) -> None:
    folder = killed(make)
    killed_again(make)
    gone(folder / "fingerprint-02.json")
    with pytest.raises(UsageError, match=r"machine: fingerprint-02\.json") as refused:
        go_on(make())
    assert "earlier versions of tierbench kept no fingerprint of part 2" in str(
        refused.value
    )
    advice = refused.value.advice
    assert advice.startswith("go on with `--despite machine`"), "nothing to put back"
    campaign = make()
    go_on(campaign, despite=("machine",))
    assert campaign.outcomes() == ["done"] * 4


def test_a_later_campaign_is_held_against_the_machines_of_all_parts(
    make: Make,
) -> None:
    folder = killed(make)
    go_on(make(), THERE, despite=("machine", "kernel", "code"))
    moved = store.load(folder)
    alone = replace(moved, later_fingerprints=())
    assert list(machine_differences.unlike_machines(alone, alone, across=False)) == []
    unlike = machine_differences.unlike_machines(alone, moved, across=False)
    words = [str(difference) for difference in unlike]
    assert "machine here against here and there" in words


def test_the_checksum_has_the_fingerprints_of_all_parts(make: Make) -> None:
    folder = killed(make)
    go_on(make())
    before = store.checksum(folder)
    edited(folder / "fingerprint-02.json")
    assert store.checksum(folder) != before


# ------------------------------------------------------------------ read under the lock


def test_a_plan_that_grew_while_this_one_waited_is_not_written_over(
    make: Make,
) -> None:
    folder = killed(make)
    waiting = Resumption(folder)
    assert len(waiting.plan.runs) == 4
    grown: list[Plan] = []

    def following(campaign: Path) -> Plan | None:
        if grown:
            return None
        runs = a_plan(("premium", "ultra"), repetitions=3).runs
        grown.append(replace(store.load(campaign).plan, runs=runs))
        return grown[0]

    go_on(make(), following=[following])
    campaign = make()
    with pytest.raises(UsageError, match="meanwhile, and changed its plan"):
        experiment.execute(
            waiting.plan,
            campaign.parts,
            campaign.world,
            campaign.results,
            FACTS,
            begun=waiting,
        )
    assert len(store.load(folder).plan.runs) == 6


# ------------------------------------------------------------------ what lies in the folder


def done(make: Make) -> Campaign:
    campaign = make()
    go_on(campaign)
    assert campaign.outcomes() == ["done"] * 4
    return campaign


def test_a_dangling_link_is_no_trouble(make: Make) -> None:
    (killed(make) / ".#plan.json").symlink_to("me@host.123:456")
    done(make)


def test_a_run_is_put_aside_under_a_number_that_is_free(make: Make) -> None:
    folder = begun(make(Failing("run point-select", Killed(), (2,))))
    killed_again(make)
    killed_again(make)
    aside = folder / "interrupted"
    (first, second) = sorted(aside.iterdir())
    shutil.rmtree(first)
    done(make)
    third = f"{second.name.removesuffix('2')}3"
    assert sorted(path.name for path in aside.iterdir()) == [second.name, third]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_in_place_of_the_folder_of_interrupted_runs_is_refused(
    make: Make, kind: str, tmp_path: Path
) -> None:
    folder = begun(make(Failing("run point-select", Killed(), (2,))))
    aside = folder / "interrupted"
    if kind == "file":
        aside.write_text("a file of a person")
    else:
        aside.symlink_to(tmp_path)
    with pytest.raises(UsageError, match=f"interrupted is a {kind}"):
        go_on(make())
    aside.unlink()
    done(make)


@pytest.mark.parametrize("kind", ["file", "link", "copy", "pipe inside"])
def test_something_else_in_place_of_a_run_is_put_aside(
    make: Make, kind: str, tmp_path: Path
) -> None:
    folder = begun(make(Failing("run point-select", Killed(), (2,))))
    (place,) = folder.glob("runs/02-*")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("of a person")
    if kind == "pipe inside":
        (place / "raw" / "log").symlink_to(precious)
    else:
        shutil.rmtree(place)
    if kind == "file":
        place.write_text("x")
    elif kind == "link":
        place.symlink_to(precious)
    elif kind == "copy":
        (first,) = folder.glob("runs/01-*")
        shutil.copytree(first, place)
    done(make)
    assert (folder / "interrupted" / f"{place.name}-1").exists()
    assert [path.name for path in precious.iterdir()] == ["file"]


def test_a_copy_of_a_finished_run_is_not_counted(make: Make) -> None:
    folder = killed(make)
    (first,) = folder.glob("runs/01-*")
    shutil.copytree(first, folder / "runs" / "copy-of-01")
    done(make)
    said = results.left_out(store.load(folder))
    assert any("copy-of-01" in text for text in said)
