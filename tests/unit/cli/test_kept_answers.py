"""A campaign that was judged is shown as it was found, and judged anew where anything changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.analysis.results import Results
from orchestrator.cli.measure import concluding
from orchestrator.cli.measure.kept_answers import kept_answer
from orchestrator.errors import EXIT_DONE
from orchestrator.registry.extension import DoubtEntry, Extension
from orchestrator.registry.installed import Installed
from orchestrator.registry.references import CORE, ExtensionOrigin
from orchestrator.run.progress import judged_runs, judging
from orchestrator.system import campaign_folders, campaign_writing, run_tables
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.calls import calls_of
from tests.campaigns import build_campaign, in_files, stored

WHOLE = build_campaign(
    profiles=["premium", "ultra"], workloads=["insert", "tpcc"], repetitions=2
)
ONE = build_campaign(profiles=["premium"], workloads=["tpcc"], repetitions=1)


def made(campaign: Results, results: Path) -> Path:
    """The campaign with its tables, in a folder."""
    return results / in_files(campaign, results, rows=10_000).name


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`WHOLE` with its tables, before it is judged. Tests change copies of it alone."""
    return made(WHOLE, tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def whole_concluded(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, judged, with its report."""
    folder = copied(whole, tmp_path_factory.mktemp("concluded"))
    concluding.conclude(folder)
    return folder


def copied(folder: Path, results: Path) -> Path:
    """With the times of its files, by which it is told whether tables have changed."""
    return Path(shutil.copytree(folder, results / folder.name))


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`ONE` with its tables, before it is judged."""
    return made(ONE, tmp_path_factory.mktemp("one"))


@pytest.fixture
def not_judged(one: Path, tmp_path: Path) -> Path:
    return copied(one, tmp_path)


@pytest.fixture
def concluded(whole_concluded: Path, tmp_path: Path) -> Path:
    return copied(whole_concluded, tmp_path)


def words_of(folder: Path) -> list[list[str]]:
    return [
        ["report", str(folder)],
        ["report", str(folder), "-o", "json"],
        ["report", str(folder), "-o", "name"],
        ["report", str(folder), "-o", "summary"],
        ["report", str(folder), "-o", "md"],
        ["report", str(folder), "-o", "html"],
    ]


@pytest.mark.parametrize("campaign", ["several", "one profile"])
def test_what_is_kept_is_shown_as_what_is_judged(
    campaign: str,
    whole_concluded: Path,
    one: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = an_app(tmp_path / "cache")
    if campaign == "several":
        folder = copied(whole_concluded, tmp_path)
    else:
        folder = copied(one, tmp_path)
        concluding.conclude(folder)
    shown: dict[str, list[str]] = {"kept": [], "judged": []}
    for way in shown:
        if way == "judged":
            (folder / "judged.json").unlink()
        assert (kept_answer(folder) is not None) == (way == "kept")
        for words in words_of(folder):
            assert tierbench(app, *words) == EXIT_DONE
            shown[way].append(capsys.readouterr().out)
    assert shown["kept"] == shown["judged"]


def test_no_table_is_read_of_what_is_kept(concluded: Path, tmp_path: Path) -> None:
    app = an_app(tmp_path / "cache")
    watched = {"tables": run_tables.is_table}
    words = ["report", str(concluded)]
    assert calls_of(watched, lambda: tierbench(app, *words)).get("tables", 0) == 0
    (concluded / "judged.json").unlink()
    assert calls_of(watched, lambda: tierbench(app, *words))["tables"] > 0


def _other_verdict(folder: Path) -> None:
    """With a checksum that fits, as only this program writes it."""
    file = folder / campaign_folders.VERDICT
    content = json.loads(file.read_text())
    content["decisions"][0]["tier"] = "another"
    file.write_text(json.dumps(content))


def _touch_samples(folder: Path) -> None:
    file = next(folder.glob("runs/*/samples.parquet"))
    os.utime(file, (1.0, 1.0))


def _other_record(folder: Path) -> None:
    file = next(folder.glob("runs/*/record.json"))
    file.write_text(file.read_text() + " ")


def _without_a_run(folder: Path) -> None:
    next(folder.glob("runs/*/record.json")).unlink()


def _predicted(folder: Path) -> None:
    campaign_writing.save_predictions(folder, [], CORE)


@pytest.mark.parametrize(
    "change",
    [_other_verdict, _touch_samples, _other_record, _without_a_run, _predicted],
)
def test_what_was_made_of_other_files_is_not_shown(
    change: Callable[[Path], None], concluded: Path
) -> None:
    assert kept_answer(concluded) is not None
    change(concluded)
    assert kept_answer(concluded) is None


def test_the_text_of_a_verdict_is_made_once(tmp_path: Path) -> None:
    folder = stored(ONE, tmp_path)
    watched = {"texts": campaign_writing.verdict_text}
    assert calls_of(watched, lambda: concluding.conclude(folder)) == {"texts": 1}


def test_nothing_is_kept_of_a_campaign_that_goes_on(tmp_path: Path) -> None:
    folder = stored(WHOLE, tmp_path)
    _without_a_run(folder)
    concluding.conclude(folder)
    assert kept_answer(folder) is None


def _with_a_link(folder: Path) -> None:
    """Which leaves the run out, and changes none of its files."""
    raw = next(folder.glob("runs/*/raw"))
    (raw / "notes").symlink_to("/etc/hostname")


def _cut_before_it_is_judged(folder: Path) -> None:
    file = next(folder.glob("runs/*/samples.parquet"))
    file.write_bytes(file.read_bytes()[:-100])


def test_a_run_that_is_left_out_since_is_in_no_answer(concluded: Path) -> None:
    assert kept_answer(concluded) is not None
    _with_a_link(concluded)
    assert kept_answer(concluded) is None


def test_a_table_that_was_passed_over_is_told_each_time(
    not_judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _cut_before_it_is_judged(not_judged)
    concluding.conclude(not_judged)
    assert tierbench(an_app(tmp_path / "cache"), "report", str(not_judged)) == EXIT_DONE
    assert "samples.parquet" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change", [_touch_samples, _other_record, _without_a_run, _predicted]
)
def test_what_is_written_while_it_is_judged_is_not_in_what_is_kept(
    change: Callable[[Path], None], not_judged: Path
) -> None:
    basis = judged_runs.basis_of(not_judged)
    campaign, verdict = concluding.found(not_judged)
    change(not_judged)
    concluding.keep(campaign, verdict, not_judged, basis=basis)
    assert kept_answer(not_judged) is None


def test_the_verdict_of_another_program_is_not_taken_for_the_one_that_was_judged(
    not_judged: Path,
) -> None:
    basis = judged_runs.basis_of(not_judged)
    campaign, verdict = concluding.found(not_judged)
    concluding.conclude(not_judged, "p99 < 1 us")
    judging.keep(
        not_judged, basis, campaign, verdict, campaign_writing.verdict_text(verdict)
    )
    assert kept_answer(not_judged) is None


def _doubting(version: str) -> Installed:
    """An extension whose doubt is in the package of these tests."""
    entry = DoubtEntry(f"{__name__}:hot_row", "excludes")
    origin = ExtensionOrigin("hot", "tierbench-hot", version)
    return Installed(origin, Extension(doubts={"hot row": entry}))


def test_other_extensions_make_other_verdicts() -> None:
    digests: set[str] = set()
    for among in ([], [_doubting("1.0")], [_doubting("1.1")]):
        digests.add(judged_runs.digest_of_code(among))
    assert len(digests) == 3


def test_the_code_of_an_extension_is_what_its_doubts_are_in() -> None:
    assert _doubting("1.0").code == (ROOT / "tests",)
