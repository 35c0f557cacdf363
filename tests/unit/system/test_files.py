"""Files that outlive a power cut, and the checksums by which a cut or changed one is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from orchestrator.errors import CutError
from orchestrator.keys import plain_files
from orchestrator.system import file_checksums, files


def test_a_file_replaces_another_only_when_its_content_is_on_the_disk(
    tmp_path: Path,
) -> None:
    file = tmp_path / "plan.json"
    files.write_json(file, {"name": "one"})
    files.write_json(file, {"name": "two", "url": "http://a:secret@b"})
    assert json.loads(file.read_text()) == {"name": "two", "url": "http://a:***@b"}
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]


def test_what_was_cut_changed_or_lost_is_named(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    for name in ("raw/one.bin", "raw/two.bin", "raw/three.bin", "samples.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(os.urandom(1000))
    record.write_text(json.dumps({"files": file_checksums.checksums(tmp_path, record)}))
    assert list(file_checksums.differences(record)) == []
    (tmp_path / "raw/one.bin").write_bytes(
        (tmp_path / "raw/one.bin").read_bytes()[:600]
    )
    (tmp_path / "raw/two.bin").write_bytes(bytes(1000))
    (tmp_path / "raw/three.bin").unlink()
    assert [str(unlike) for unlike in file_checksums.differences(record)] == [
        "raw/one.bin was cut: 600 of 1000 bytes are there",
        "raw/three.bin is missing or cannot be read: No such file or directory",
        "raw/two.bin was changed after its run",
    ]


def test_a_raw_file_is_told_by_its_name_however_it_is_said_what_is_wrong(
    tmp_path: Path,
) -> None:
    """Of a pipe the words begin with its whole path: a run was then read as if it were whole."""
    record = tmp_path / "record.json"
    (tmp_path / "raw").mkdir()
    raw = tmp_path / "raw/one.bin"
    raw.write_bytes(b"measured")
    record.write_text(json.dumps({"files": file_checksums.checksums(tmp_path, record)}))
    raw.unlink()
    os.mkfifo(raw)
    (unlike,) = file_checksums.differences(record)
    assert unlike.is_raw
    assert str(unlike).startswith(str(raw)), "as it was said before"


def test_a_record_of_an_earlier_release_or_one_that_was_cut_has_no_checksums(
    tmp_path: Path,
) -> None:
    record = tmp_path / "record.json"
    for text in ("{}", "", "[]", '{"files": 3}', '{"files"'):
        record.write_text(text)
        assert list(file_checksums.differences(record)) == []


def test_a_file_that_did_not_change_is_not_read_again_and_one_that_did_is(
    tmp_path: Path,
) -> None:
    record, raw = tmp_path / "record.json", tmp_path / "raw.bin"
    raw.write_bytes(b"before")
    os.utime(raw, (1, 1))
    record.write_text(
        json.dumps({"files": {"raw.bin": {"bytes": 6, "sha256": "as recorded"}}})
    )
    assert (
        file_checksums.checksums(tmp_path, record)["raw.bin"]["sha256"] == "as recorded"
    )
    raw.write_bytes(b"after!")
    # It may have changed in the very moment of the record, and later.
    for changed_ns in (record.stat().st_mtime_ns, 2**31 * 10**9):
        os.utime(raw, ns=(changed_ns, changed_ns))
        sums = file_checksums.checksums(tmp_path, record)
        assert sums["raw.bin"]["sha256"] != "as recorded"


def test_a_file_of_just_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 10)
    assert plain_files.read(file, 10) == b"x" * 10
    with pytest.raises(CutError, match="larger than 9 B"):
        plain_files.read(file, 9)


def test_a_link_is_followed_only_where_its_user_has_named_it(tmp_path: Path) -> None:
    """Else a link in somebody's results would be read as a file of theirs."""
    (tmp_path / "file").write_bytes(b"x")
    link = tmp_path / "link"
    link.symlink_to("file")
    assert plain_files.read(link, through_links=True) == b"x"
    for read in (plain_files.read, plain_files.open_plain):
        with pytest.raises(CutError):
            read(link)
