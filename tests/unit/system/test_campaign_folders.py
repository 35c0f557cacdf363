"""A results folder of several users, copied and renamed: which campaigns are in it, and which is
the newest.

Method: a folder is closed to all, and root becomes another user meanwhile, so that it is the kernel
that refuses.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.results import left_out
from orchestrator.cli.measure.campaign import begun_since_now
from orchestrator.errors import EXIT_UNAVAILABLE, NotReadableError
from orchestrator.system import (
    campaign_folders,
    files,
    parquet,
    store,
    stored_campaigns,
    stored_json,
)
from tests.campaigns import build_campaign, later, stored

NOBODY = 65534
OLD_NAME = os.fsdecode(b"gr\xf6sse")  # of a disk whose names are ISO 8859-1


@pytest.fixture
def results() -> Iterator[Path]:
    """Of two campaigns; where other users may look, too."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        place.chmod(0o755)
        campaign = build_campaign(workloads=["insert"], frames=False)
        stored(campaign, place)
        stored(later(campaign, 7), place)
        yield place


@contextmanager
def closed(path: Path) -> Iterator[None]:
    """As `path` is to a user who may not read it."""
    me = os.geteuid()
    mode = path.stat().st_mode
    for other in path.parent.iterdir():
        if other.is_dir():
            other.chmod(0o755)
    path.parent.chmod(0o755)
    path.chmod(0)
    if me == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(me)
        path.chmod(mode)


def newest_by_name(results: Path) -> Path:
    return max(path for path in results.glob("2*"))


@pytest.mark.parametrize("has_link", [True, False])
def test_a_private_campaign_is_a_line_and_hides_no_other(
    results: Path, has_link: bool
) -> None:
    private = newest_by_name(results)
    if not has_link:
        (results / "latest").unlink()
    with closed(private):
        folders = stored_campaigns.folders(results)
        entry = stored_campaigns.entry(private, {})
        assert len(folders) == 2
        assert f"{private} belongs to" in entry.fault
        assert "and you may not read it" in entry.fault
        begun = begun_since_now(results)
        assert begun() is None
        for text in ("latest", str(private), private.name):
            with pytest.raises(NotReadableError, match="belongs to") as refused:
                stored_campaigns.resolve(results, text)
            assert refused.value.exit_code == EXIT_UNAVAILABLE
        (other,) = [folder for folder in folders if folder != private]
        assert stored_campaigns.resolve(results, other.name) == other


def test_a_baseline_in_a_closed_folder_says_whose_it_is(results: Path) -> None:
    folder = results / "deeper"
    campaign = shutil.copytree(newest_by_name(results), folder / "campaign")
    stored_campaigns.save_baseline(results, "theirs", str(campaign))
    (results / "baselines.json").chmod(0o644)
    # Also has Python's own files read that another user may not reach.
    assert stored_campaigns.resolve(results, "theirs") == campaign
    with closed(folder), pytest.raises(NotReadableError, match="deeper belongs to"):
        stored_campaigns.resolve(results, "theirs")


def test_a_plan_that_may_not_be_read_is_no_plan_of_another_form(results: Path) -> None:
    private = newest_by_name(results)
    with (
        closed(private / "plan.json"),
        pytest.raises(NotReadableError, match=r"plan\.json belongs to"),
    ):
        store.load(private)


def test_a_closed_folder_of_another_name_is_no_campaign(results: Path) -> None:
    (results / "lost+found").mkdir()
    with closed(results / "lost+found"):
        assert len(stored_campaigns.folders(results)) == 2


def test_a_closed_folder_of_results_is_not_called_empty(results: Path) -> None:
    folder = results / "deeper"
    shutil.copytree(newest_by_name(results), folder / newest_by_name(results).name)
    with closed(folder), pytest.raises(NotReadableError, match="deeper belongs to"):
        stored_campaigns.folders(folder)


def test_a_copy_in_the_place_of_the_link_is_not_the_newest_for_ever(
    results: Path,
) -> None:
    """As `cp -rL`, zip files and object stores leave it."""
    (results / "latest").unlink()
    shutil.copytree(newest_by_name(results), results / "latest")
    begun = begun_since_now(results)
    campaign = build_campaign(workloads=["insert"], frames=False)
    new = stored(later(campaign, 14), results)
    assert campaign_folders.newest(results) == new
    assert begun() == new
    assert list(results.glob(".latest-*")) == []
    names = [folder.name for folder in stored_campaigns.folders(results)]
    assert len(names) == 3
    assert "latest" not in names


def test_a_copy_alone_is_a_campaign(results: Path) -> None:
    copied = results / "deeper" / "latest"
    shutil.copytree(newest_by_name(results), copied)
    assert stored_campaigns.folders(copied.parent) == (copied,)
    assert campaign_folders.newest(copied.parent) == copied


def test_a_renamed_campaign_is_not_the_newest(results: Path) -> None:
    first, last = sorted(results.glob("2*"))
    (results / "latest").unlink()
    first.rename(results / "zzz-old")
    assert campaign_folders.newest(results) == last


# ------------------------------------------------------------------ names that are not UTF-8


def test_a_campaign_keeps_the_folder_where_it_was_begun(tmp_path: Path) -> None:
    results = tmp_path / OLD_NAME
    campaign = build_campaign(workloads=["insert"], frames=False)
    facts = {"directory": str(results), "command": f"tierbench run {OLD_NAME}"}
    folder = stored(replace(campaign, fingerprint=facts), results)
    read = store.load(folder)
    assert left_out(read) == ()
    assert read.fingerprint["command"] == r"tierbench run gr\xf6sse"


def test_a_table_is_read_below_such_a_folder(tmp_path: Path) -> None:
    file = tmp_path / OLD_NAME / "samples.parquet"
    file.parent.mkdir()
    parquet.write(
        file, [pd.DataFrame({"value": [1.0]}), pd.DataFrame({"value": [2.0]})]
    )
    assert parquet.rows(file) == 2
    assert pd.concat(parquet.parts(file))["value"].tolist() == [1.0, 2.0]


def test_a_baseline_in_such_a_folder_is_found_and_hides_no_other(
    tmp_path: Path,
) -> None:
    campaign = build_campaign(workloads=["insert"], frames=False)
    results = tmp_path / "results"
    here = stored(campaign, results)
    there = stored(campaign, tmp_path / OLD_NAME)
    stored_campaigns.save_baseline(results, "here", here.name)
    stored_campaigns.save_baseline(results, "there", str(there))
    assert stored_campaigns.resolve(results, "here") == here
    assert stored_campaigns.resolve(results, "there") == there
    assert stored_campaigns.baselines(results)["there"].endswith(
        rf"gr\xf6sse/{there.name}"
    )


def test_what_is_judged_beside_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    files.write_json(file, {"path": OLD_NAME, "other": "\ud800", "plain": "größe"})
    written = {"path": r"gr\xf6sse", "other": r"\ud800", "plain": "größe"}
    assert stored_json.plain(file) == written
