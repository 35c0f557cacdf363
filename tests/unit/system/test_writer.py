"""The one writer: whole or not at all, for its user alone, and never through a link."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.errors import EXIT_UNAVAILABLE, NotWrittenError
from orchestrator.system import campaign_writing, files, parquet, store
from tests.campaigns import build_campaign, stored
from tests.file_systems import no_file_grows

PRECIOUS = "precious\n"
Write = Callable[[Path], None]


def write_text(file: Path) -> None:
    files.write_text(file, "new")


def write_json(file: Path) -> None:
    files.write_json(file, {"new": 1})


def keep(file: Path) -> None:
    files.keep(file, "new")


def write_table(file: Path) -> None:
    parquet.write(file, [pd.DataFrame({"value": [1.0]})])


def add(file: Path) -> None:
    files.keep(file, "new\n", adds=True)


WHOLE: list[Write] = [write_text, write_json, keep, write_table]
ALL: list[Write] = [*WHOLE, add]


@pytest.mark.parametrize("write", WHOLE)
def test_a_link_in_the_place_of_a_file_is_replaced_and_what_it_names_stays(
    write: Write, tmp_path: Path
) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text(PRECIOUS)
    file = tmp_path / "report.html"
    file.symlink_to(victim)
    write(file)
    assert victim.read_text() == PRECIOUS
    assert not file.is_symlink()
    assert sorted(tmp_path.iterdir()) == [file, victim]


def test_nothing_is_added_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text(PRECIOUS)
    file = tmp_path / "command.txt"
    file.symlink_to(victim)
    with pytest.raises(NotWrittenError, match=r"command\.txt cannot be written"):
        add(file)
    assert victim.read_text() == PRECIOUS


def test_a_link_with_the_name_of_an_unfinished_file_is_not_followed(
    tmp_path: Path,
) -> None:
    """The name that was once used for it, which a folder of somebody else may have."""
    victim = tmp_path / "victim.txt"
    victim.write_text(PRECIOUS)
    (tmp_path / ".verdict.json.new").symlink_to(victim)
    write_json(tmp_path / "verdict.json")
    assert victim.read_text() == PRECIOUS


def test_no_folder_that_is_a_link_is_written_into(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "charts").symlink_to(victim)
    with pytest.raises(NotWrittenError, match="charts is a link"):
        files.make_folder(folder, "charts")
    with pytest.raises(NotWrittenError, match="charts is a link"):
        files.write_below(folder, {"charts/one.svg": "<svg/>"})
    assert list(victim.iterdir()) == []


def test_a_run_whose_folder_is_a_link_is_not_written_into(tmp_path: Path) -> None:
    folder = stored(build_campaign(workloads=["insert"], frames=False), tmp_path)
    run = store.load(folder).plan.runs[0]
    place = folder / "runs" / run.slug
    victim = place.rename(tmp_path / "victim")
    place.symlink_to(victim)
    with pytest.raises(NotWrittenError, match=f"{run.slug} is a link"):
        campaign_writing.run_folder(folder, run)


def test_the_folder_that_a_person_named_may_be_a_link(tmp_path: Path) -> None:
    folder = stored(build_campaign(workloads=["insert"], frames=False), tmp_path)
    files.write_below(tmp_path / "latest", {"charts/one.svg": "<svg/>"})
    assert (folder / "charts/one.svg").read_text() == "<svg/>"


@pytest.mark.parametrize("write", ALL)
def test_what_cannot_be_written_is_said_and_leaves_what_was_there(
    write: Write, tmp_path: Path
) -> None:
    file = tmp_path / "verdict.json"
    file.write_text(PRECIOUS)
    with no_file_grows(), pytest.raises(NotWrittenError) as refused:
        write(file)
    assert str(refused.value) == f"{file} cannot be written: File too large"
    assert refused.value.exit_code == EXIT_UNAVAILABLE
    assert isinstance(refused.value, OSError)
    assert file.read_text() == PRECIOUS
    assert [*tmp_path.iterdir()] == [file]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    plan = build_campaign(workloads=["insert"], frames=False).plan
    (tmp_path / "file").write_text("")
    with pytest.raises(
        NotWrittenError, match=r"results cannot be made: Not a directory"
    ):
        campaign_writing.create(tmp_path / "file" / "results", plan, {}, 0.0)


def _modes(folder: Path) -> set[tuple[str, str]]:
    found = set()
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        kind = "file"
        if stat.S_ISDIR(status.st_mode):
            kind = "folder"
        found.add((kind, oct(stat.S_IMODE(status.st_mode))))
    return found


def test_what_a_campaign_leaves_is_for_its_user_alone(tmp_path: Path) -> None:
    """Hosts and SQL are in it."""
    before = os.umask(0o022)
    try:
        folder = stored(build_campaign(workloads=["insert"]), tmp_path)
        run = next((folder / "runs").iterdir())
        for write in ALL:
            write(run / "raw" / write.__name__)
        files.write_below(folder, {"charts/one.svg": "<svg/>"})
    finally:
        os.umask(before)
    assert _modes(folder) == {("folder", "0o700"), ("file", "0o600")}


def test_a_file_that_was_opened_to_others_stays_so_and_to_no_more(
    tmp_path: Path,
) -> None:
    file = tmp_path / "report.html"
    file.write_text("old")
    file.chmod(0o666)
    write_text(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_a_text_that_is_no_utf_8_is_written_with_its_bytes_shown(
    tmp_path: Path,
) -> None:
    """Such as the name of a file of a disk that has Latin-1 names."""
    name = os.fsdecode(b"gr\xf6sse")
    file = tmp_path / "note.txt"
    files.write_text(file, name)
    assert file.read_text(encoding="utf-8") == r"gr\udcf6sse"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (os.fsdecode(b"\x80\xff"), r"\x80\xff"),
        # Halves of characters that stand for no byte.
        ("\udc7f\udd00", r"\udc7f\udd00"),
    ],
)
def test_json_has_bytes_of_no_character_as_they_are_written(
    name: str, shown: str, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    files.write_json(file, {"name": name})
    assert json.loads(file.read_text(encoding="utf-8")) == {"name": shown}


# ------------------------------------------------------------------ whose it is

NOBODY = 65534


def owner(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_uid, status.st_gid


def new(file: Path) -> None:
    files.write_new(file, "new", private=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("write", [*ALL, new])
def test_root_takes_nothing_away_from_the_owner_of_a_folder(
    write: Write, tmp_path: Path
) -> None:
    os.chown(tmp_path, NOBODY, NOBODY)
    file = files.make_folder(tmp_path, "runs", "01") / "record.json"
    write(file)
    for path in (tmp_path / "runs", file.parent, file):
        assert owner(path) == (NOBODY, NOBODY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("write", ALL)
def test_root_takes_no_file_away_from_its_owner(write: Write, tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    file.write_text("old")
    os.chown(file, NOBODY, NOBODY)
    write(file)
    assert owner(file) == (NOBODY, NOBODY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_a_link_names_gives_no_owner(tmp_path: Path) -> None:
    """Whoever makes the link may have a file anywhere."""
    victim = tmp_path / "victim.txt"
    victim.write_text(PRECIOUS)
    os.chown(victim, NOBODY, NOBODY)
    file = tmp_path / "verdict.json"
    file.symlink_to(victim)
    write_text(file)
    assert owner(file) == owner(tmp_path)


def test_a_new_file_is_for_its_user_alone_unless_it_is_said_to_be_for_all(
    tmp_path: Path,
) -> None:
    files.write_text(tmp_path / "text", "x")
    assert stat.S_IMODE((tmp_path / "text").stat().st_mode) == 0o600
