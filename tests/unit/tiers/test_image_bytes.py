"""The image of the disk server (docker/disk/tierdisk/image.c): its own C code, under sanitizers.

Goal: no byte is lost where requests meet in a page, and a full host disk refuses. Method: threads
of `image_requests.c` ask image.c directly, built with gcc's address, undefined-behaviour and thread
sanitizers; needs a C compiler, which whoever builds images need not have.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT

SERVER = ROOT / "docker/disk/tierdisk"
DRIVER = Path(__file__).with_name("image_requests.c")
SANITIZERS = {
    "memory": ("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "threads": ("-fsanitize=thread",),
}
BYTES = 16 * 2**20
EIO = 5
ENOSPC = 28


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program with each of the sanitizers. Skips if the compiler or they are not here."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc here")
    made: dict[str, Path] = {}
    for sanitizer, options in SANITIZERS.items():
        folder = tmp_path_factory.mktemp(sanitizer)
        common = (compiler, "-std=gnu11", "-g", "-O1", *options)
        image = folder / "image.o"
        slowly = ("-Dmemcpy=copy_slowly", "-c", str(SERVER / "image.c"))
        subprocess.run([*common, *slowly, "-o", str(image)], check=True)
        made[sanitizer] = folder / "image_requests"
        others = [
            str(SERVER / f"{name}.c") for name in ("read_ahead", "clock", "lock", "die")
        ]
        sources = (str(DRIVER), str(image), *others, f"-I{SERVER}", "-lpthread")
        link = (*common, *sources, "-o", str(made[sanitizer]))
        linked = subprocess.run(link, capture_output=True, text=True, check=False)
        if "cannot find" in linked.stderr:
            pytest.skip(f"gcc has no sanitizer here: {linked.stderr[-200:]}")
        assert linked.returncode == 0, linked.stderr
    return made


@pytest.fixture
def image(tmp_path: Path) -> Path:
    file = tmp_path / "image"
    with file.open("wb") as new:
        new.truncate(BYTES)
    return file


@pytest.fixture
def base(tmp_path: Path) -> Path:
    file = tmp_path / "base"
    file.write_bytes(random.Random(1).randbytes(BYTES))
    return file


def asked(*words: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_write_of_a_page_and_one_of_a_part_of_it_both_count(
    programs: dict[str, Path], image: Path, base: Path
) -> None:
    """The part's page was filled from the base on top of what had just been written."""
    assert asked(programs["memory"], "overlap", image, base) == "different 0\n"


@pytest.mark.parametrize("sanitizer", list(SANITIZERS))
@pytest.mark.parametrize("over", ["alone", "over a base"])
def test_each_reads_what_it_wrote(
    programs: dict[str, Path], sanitizer: str, image: Path, base: Path, over: str
) -> None:
    below = [base] if over == "over a base" else []
    before = base.read_bytes()
    assert asked(programs[sanitizer], "mixed", image, *below) == "different 0\n"
    assert base.read_bytes() == before


@pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root, to mount a small file system"
)
@pytest.mark.parametrize("over", ["alone", "over a base"])
def test_what_a_full_host_has_no_room_for_is_refused(
    programs: dict[str, Path], base: Path, tmp_path: Path, over: str
) -> None:
    """Pages of 4 KiB, as a database writes them, ended the server."""
    small = tmp_path / "small"
    small.mkdir()
    # Mounted in a name space of its own, so nothing stays.
    script = 'mount -t tmpfs -o size=4m none "$1" && truncate -s "$2" "$1/image" && shift 2 && "$@"'
    below = [base] if over == "over a base" else []
    ask: list[str | Path] = [programs["memory"], "fill", small / "image", *below]
    in_name_space = ("unshare", "--mount", "sh", "-c", script, "x")
    said = asked(*in_name_space, small, str(BYTES), *ask)
    found = re.fullmatch(
        r"written (\d+) error (\d+) right (\d+) part (\d+) again (\d+)\n", said
    )
    assert found, said
    written, error, right, part, again = map(int, found.groups())
    assert written == right == 4 * 2**20 // 4096
    assert (error, part, again) == (ENOSPC, ENOSPC, 0)


def test_what_the_host_cannot_read_is_refused(
    programs: dict[str, Path], image: Path
) -> None:
    said = asked(programs["memory"], "unreadable", image)
    assert said == f"first 0 second {EIO}\n"


@pytest.mark.parametrize("over", ["alone", "over a base"])
def test_a_request_over_the_end_has_only_the_bytes_before_it(
    programs: dict[str, Path], image: Path, base: Path, over: str
) -> None:
    """Offset and size were added, which is below the end again where the sum overflows."""
    below = [base] if over == "over a base" else []
    said = asked(programs["memory"], "end", image, *below)
    assert said == "4096 4096 512 1 0 0 0 0 error 0 different 0\n"
