"""Files as archives: what goes into a container, and what of a container's files may come here."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from orchestrator.errors import RunError
from orchestrator.platforms.common import archives


def names(content: bytes) -> dict[str, int]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {member.name: member.mode for member in archive}


def of_container(*members: tarfile.TarInfo) -> io.BytesIO:
    """An archive as a container might give it: each file has four bytes."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for member in members:
            member.size = 4 if member.isfile() else 0
            archive.addfile(member, io.BytesIO(b"rows"))
    return content


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_a_folder_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a b.txt").write_text("text")
    (tmp_path / "deep" / "er" / "run.sh").write_text("#!/bin/sh")
    (tmp_path / "deep" / "er" / "run.sh").chmod(0o755)
    (tmp_path / "link.lua").symlink_to("a b.txt")
    folder, content = archives.packed(tmp_path, "/workloads")
    found = names(content)
    assert folder == "/workloads" and found["deep/er/run.sh"] == 0o755
    assert set(found) == {
        "a b.txt",
        "deep",
        "deep/er",
        "deep/er/run.sh",
        "empty",
        "link.lua",
    }
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert archive.getmember("link.lua").isfile(), "what it names may not be there"


def test_a_file_gets_the_name_of_its_target(tmp_path: Path) -> None:
    file = tmp_path / "of-a-user.pem"
    file.write_text("key")
    file.chmod(0o600)
    folder, content = archives.packed(file, "/tls/client.key")
    assert (folder, names(content)) == ("/tls", {"client.key": 0o600})


@pytest.mark.parametrize("root", ["out", "."])
def test_files_come_and_what_else_was_there_stays(root: str, tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("before")
    (tmp_path / "kept").write_text("kept")
    folder = tarfile.TarInfo(root)
    folder.type = tarfile.DIRTYPE
    files = [tarfile.TarInfo(f"{root}/{name}") for name in ("raw", "deep/raw")]
    archives.unpack(of_container(folder, *files), tmp_path)
    assert (
        (tmp_path / "raw").read_text() == (tmp_path / "deep/raw").read_text() == "rows"
    )
    assert (tmp_path / "kept").read_text() == "kept"


def test_links_stay_where_they_are(tmp_path: Path) -> None:
    links = link("out/a", "/etc/passwd"), link("out/b", "out/c", tarfile.LNKTYPE)
    archives.unpack(of_container(*links, tarfile.TarInfo("out/c")), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize("name", ["out/../../x", "out//etc/x", "out/link/x"])
def test_nothing_is_written_outside_of_the_folder(name: str, tmp_path: Path) -> None:
    """A container's image may be anybody's; nor is what came before it in the archive written."""
    here, elsewhere = tmp_path / "a" / "b", tmp_path / "elsewhere"
    here.mkdir(parents=True)
    elsewhere.mkdir()
    (here / "link").symlink_to(elsewhere)
    before = sorted(tmp_path.rglob("*"))
    archive = of_container(tarfile.TarInfo("out/first"), tarfile.TarInfo(name))
    if name == "out//etc/x":
        archives.unpack(archive, here)
        assert (here / "etc/x").is_file()
        return
    with pytest.raises(RunError, match="outside of its folder"):
        archives.unpack(archive, here)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_archive_that_ends_early_is_an_error(tmp_path: Path) -> None:
    file = tarfile.TarInfo("out/raw")
    whole = of_container(file, file).getvalue()
    with pytest.raises(RunError, match="came broken"):
        archives.unpack(io.BytesIO(whole[: 512 + 512 + 512 + 2]), tmp_path)


def test_a_large_archive_is_kept_on_the_disk_of_the_results(
    tmp_path: Path,
) -> None:
    """TMPDIR is in memory on many machines, and smaller than a run's records."""
    target = tmp_path / "raw"

    def is_on_the_disk() -> bool:
        opened = Path("/proc/self/fd").iterdir()
        return any(
            number.is_symlink() and number.readlink().parent == target
            for number in opened
        )

    with archives.Arriving(target) as content:
        for _ in range(16):
            content.write(bytes(2**20))
        assert not is_on_the_disk()
        content.write(b"x")
        assert is_on_the_disk()
        opened = Path(f"/proc/self/fd/{content.fileno()}").readlink()
        assert opened.parent == target
        assert list(target.iterdir()) == []


def test_an_archive_has_a_limit_of_bytes(tmp_path: Path) -> None:
    """An image may be anybody's, and what it gives goes to a disk of this computer."""
    with archives.Arriving(tmp_path, most_bytes=1000) as content:
        content.write(b"x" * 1000)
        with pytest.raises(RunError, match="gives more than 1,000 bytes") as refused:
            content.write(b"x")
    assert "cannot be trusted" in str(refused.value.advice)


def test_records_that_the_disk_has_no_room_for_are_no_fault_of_the_image(
    tmp_path: Path,
) -> None:
    """They are there twice while they are unpacked."""
    with archives.Arriving(tmp_path, free_bytes=2000) as content:
        content.write(b"x" * 1000)
        with pytest.raises(RunError, match="has room for 1,000 bytes") as refused:
            content.write(b"x")
    assert "--results" in str(refused.value.advice)


def test_records_of_a_long_and_fast_run_are_below_the_limit() -> None:
    """Three days at 100,000 transactions a second, 24 bytes each (docs/research/SCALE.md)."""
    assert archives.MOST_BYTES > 100_000 * 72 * 3600 * 24


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    """Its few bytes would become 8 TB here."""
    sparse = tarfile.TarInfo("out/raw")
    sparse.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(sparse.tobuf(tarfile.GNU_FORMAT))
    # An old GNU header: one piece of no bytes, and the size that the file is to have.
    header[386:410] = b"%011o\0%011o\0" % (0, 0)
    header[483:495] = b"%011o\0" % (8**11 - 1)
    _sign(header)
    content = io.BytesIO(bytes(header) + bytes(1024))
    with pytest.raises(RunError, match="has a sparse file: out/raw"):
        archives.unpack(content, tmp_path)
    assert list(tmp_path.iterdir()) == []


def _sign(header: bytearray) -> None:
    """The checksum of a header, as tar(5) has it."""
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header[:512])


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    files = [tarfile.TarInfo(f"out/{number}") for number in range(4)]
    with pytest.raises(RunError, match="has more than 3 files"):
        archives.unpack(of_container(*files), tmp_path, most_files=3)
    assert list(tmp_path.iterdir()) == []
    archives.unpack(of_container(*files), tmp_path, most_files=4)
    assert len(list(tmp_path.iterdir())) == 4
