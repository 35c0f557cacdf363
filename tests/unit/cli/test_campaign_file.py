"""`tierbench compare FILE`: what the file asks is planned; mistakes are told with their lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.common import campaign_files
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_USAGE
from tests import ROOT
from tests.asked import Ask, Planning, ask
from tests.fakes import QuietProgress

__all__ = ["ask"]
LEDGER = """\
question: Which disk for the ledger?
profiles: [premium, ultra]
workloads: [insert, tpcc]
slo: p99 < 50 ms
repeats: 3
scale: smoke
margin: 10
aa: true
set: [threads=3]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tierbench(*words: str) -> int:
    return exit_code(words, CampaignApp())


def said_by(capsys: pytest.CaptureFixture[str]) -> str:
    """All that was printed, on one line."""
    said = capsys.readouterr()
    return " ".join((said.out + said.err).split())


def write(folder: Path, text: str) -> str:
    file = folder / "ledger.yaml"
    file.write_text(text)
    return str(file)


def test_the_file_says_what_is_planned(ask: Ask, folder: Path) -> None:
    plan = ask(["compare", write(folder, LEDGER)]).plan
    assert plan.judging.question == "Which disk for the ledger?"
    assert [profile.name for profile in plan.tiers] == ["premium", "ultra"]
    assert [load.name for load in plan.workloads] == ["insert", "tpcc"]
    assert {load.slo[0].limit for load in plan.workloads} == {0.05}
    assert {load.threads for load in plan.workloads} == {3}
    assert (plan.repeats.repetitions, plan.scale, plan.judging.margin_pct) == (
        3,
        "smoke",
        10.0,
    )
    assert plan.twin


def test_several_things_of_one_text_may_be_a_list(ask: Ask, folder: Path) -> None:
    text = LEDGER.replace("p99 < 50 ms", "[p99 < 50 ms, p90 < 40 ms]")
    (insert, _) = ask(["compare", write(folder, text)]).plan.workloads
    assert [objective.metric for objective in insert.slo] == [
        "latency_p99_s",
        "latency_p90_s",
    ]


def test_what_is_nearer_goes_first(
    ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(folder, LEDGER)
    (folder / "tierbench.yaml").write_text("repeats: 9\nseed: 7\n")
    assert ask(["compare", file]).plan.repeats.repetitions == 3
    assert ask(["compare", file]).plan.repeats.seed == 7
    monkeypatch.setenv("TIERBENCH_REPEATS", "4")
    assert ask(["compare", file]).plan.repeats.repetitions == 4
    assert ask(["compare", file, "--repeats", "5"]).plan.repeats.repetitions == 5


def test_a_profile_beside_the_file_is_found_from_elsewhere(
    ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "mine.yaml").write_text((ROOT / "profiles/ultra.yaml").read_text())
    file = write(inner, LEDGER.replace("ultra", "mine.yaml"))
    plan = ask(["compare", file]).plan
    assert [profile.name for profile in plan.tiers] == ["premium", "mine"]


@pytest.mark.parametrize("option", ["on-end: rm -r x", "output: json", "dry-run: true"])
def test_how_a_command_is_carried_out_is_not_the_files(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(folder, f"{LEDGER}{option}\n")
    assert tierbench("compare", file, "--dry-run", "--offline") == EXIT_USAGE
    key, _, _ = option.partition(":")
    said = said_by(capsys)
    assert f"ledger.yaml:10: {key}: a campaign's file does not have it" in said
    assert f"give --{key} with the command" in said
    assert "did you mean" not in said
    assert key in campaign_files.NOT_OF_A_CAMPAIGN


@pytest.mark.parametrize(
    ("before", "after", "mistake"),
    [
        ("repeats: 3", "repeats: many", "ledger.yaml:5: repeats: "),
        ("repeats: 3", "repeat: 3", "did you mean repeats"),
        ("[premium, ultra]", "[premium, ulta]", "did you mean ultra?"),
        ("p99 < 50 ms", "p99 < fifty", "fifty"),
        (
            "repeats: 3",
            "repeats: true",
            "ledger.yaml:5: repeats: expected a value, not",
        ),
        ("Which disk for the ledger?", "[a, b]", "expected one value, not a list"),
        (
            "[premium, ultra]",
            "[premium, [ultra]]",
            "ledger.yaml:2: profiles: expected a",
        ),
        ("[premium, ultra]", "[]", "ledger.yaml:2: profiles: the list is empty"),
        ("repeats: 3", "profile: ultra", "profiles and profile are one option"),
        ("repeats: 3", "need: nopm > 9", "slo and need are one option"),
        ("repeats: 3", "repeats: five", "expected a whole number (given: 'five')"),
        ("repeats: 3", "repeats: 0", "expected at least 1 (given: '0')"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(
    before: str,
    after: str,
    mistake: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = write(folder, LEDGER.replace(before, after))
    assert tierbench("validate", file) == EXIT_USAGE
    assert mistake in said_by(capsys)
    assert tierbench("compare", file, "--dry-run", "--offline") == EXIT_USAGE
    assert mistake.rpartition(": ")[2] in said_by(capsys)


def test_a_file_that_is_not_there_is_no_profile(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tierbench("compare", "ultra", "--dry-run", "--offline") == EXIT_USAGE
    assert "`--profiles premium,ultra`" in said_by(capsys)


def test_what_init_writes_is_valid_and_is_planned(
    ask: Ask, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tierbench("init", "--campaign", "ledger") == EXIT_DONE
    assert "next: tierbench compare ledger.yaml --dry-run" in said_by(capsys)
    assert tierbench("validate", "ledger.yaml") == EXIT_DONE
    assert "a campaign without mistakes" in said_by(capsys)
    text = (folder / "ledger.yaml").read_text()
    with_comments = text.replace("\n# until", "\nuntil").replace("\n# slo", "\nslo")
    file = write(folder, with_comments.replace("\n# max-repeats", "\nmax-repeats"))
    plan = ask(["compare", file]).plan
    assert max(plan.repeats.looks) == 10


def test_a_profile_in_the_place_of_a_campaign_is_told_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = str(ROOT / "profiles/ultra.yaml")
    assert tierbench("compare", file, "--dry-run", "--offline") == EXIT_USAGE
    assert f"give it as `--profiles {file}`" in said_by(capsys)


def test_a_rehearsal_takes_the_file_and_names_what_it_does_without(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = replace(Planning(), progress=QuietProgress())
    assert exit_code(["rehearse", write(folder, LEDGER)], app) == EXIT_DONE
    plan = app.asked[-1].plan
    assert plan.judging.question == "Which disk for the ledger?"
    assert [load.name for load in plan.workloads] == ["insert", "tpcc"]
    assert (plan.repeats.repetitions, plan.scale) == (3, "smoke")
    assert {load.slo[0].limit for load in plan.workloads} == {0.05}
    assert isinstance(app.progress, QuietProgress)
    assert app.progress.said == ["rehearse does without `margin`, `aa` and `set`"]


def test_a_rehearsal_refuses_what_is_no_key_of_a_campaign(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tierbench("rehearse", write(folder, "reepeats: 3\n")) == EXIT_USAGE
    assert "repeats" in said_by(capsys)
