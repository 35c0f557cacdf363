"""How a campaign stands, from its folder alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestrator.analysis.telemetry.bottlenecks import bottlenecks
from orchestrator.model import Run
from orchestrator.run import status
from orchestrator.system import store
from tests.campaigns import build_campaign, stored
from tests.fakes import Log, fake_world
from tests.plans import a_plan
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


def test_a_run_is_a_line_with_rate_p99_limit_and_doubts(folder: Path) -> None:
    campaign = store.load(folder)
    line = status.of_run(campaign.runs[0], campaign)
    assert line.startswith("run 1 of 4, premium × insert: ")
    assert "/s, p99 " in line and line.endswith((" doubt", " doubts"))


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
    assert f", {said}, " in status.of_run(campaign.runs[0], campaign)


def test_what_is_left_and_how_the_decision_stands(folder: Path) -> None:
    said = list(status.described(folder, BEGAN_S + 3600))
    assert said[0].endswith("3 of 4 runs")
    assert [line.split(",")[0] for line in said[1:4]] == [
        f"run {n} of 4" for n in (1, 2, 3)
    ]
    assert " so far, about " in said[4] and " left, until 2025-" in said[4]
    assert "insert, by the runs so far: " in said[5]
    assert said[6].startswith("in progress: 04-") and said[7].startswith(
        "last written "
    )


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
    said = list(status.standing(store.load(stored(made, tmp_path)), BEGAN_S + 3600))
    assert said[1] == f"all 2 workloads, by the runs so far: {answer}"
    assert said[2].startswith("point-select, by the runs so far: ")


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


def test_a_campaign_that_wrote_nothing_for_long_may_be_gone(folder: Path) -> None:
    newest = max(file.stat().st_mtime for file in folder.rglob("*"))
    assert list(status.described(folder, newest + 7200))[-1].endswith(
        "is it still running?"
    )


def test_nothing_that_cannot_be_told_ends_a_campaign(folder: Path) -> None:
    shutil.rmtree(folder / "runs")
    world = fake_world()
    status.announce(folder, Run(1, "premium", "insert", 1), world)
