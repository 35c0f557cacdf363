"""How a server of Hadoop's file system ends, by the script `node` of its image; and what several
shares do that run in one container, by the scripts in workloads/hdfs.

Method: the scripts run here, with a `java` and a `job` of a test in the path.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import ROOT

NODE = ROOT / "docker/hadoop/node"
HDFS = ROOT / "workloads/hdfs"
# Formats at once; a server writes what it has and then does what is set.
JAVA = """#!/usr/bin/env bash
case " $* " in
    *" -format "*) mkdir -p "$NAMES/current" && echo new >"$NAMES/current/VERSION"; exit ;;
esac
touch "$STARTED"
[ "$DOES" != waits ] || exec sleep 60
[ "$DOES" != "is killed" ] || kill -KILL $$
exit "$DOES"
"""


class Node:
    """The script with a folder of the test in place of those in the container."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.names = folder / "names"
        self.data.mkdir()
        self.script = folder / "node"
        text = NODE.read_text().replace("/var/lib/hadoop/name", str(self.names))
        self.script.write_text(text.replace("DATA=/data\n", f"DATA={self.data}\n"))
        programs(folder, java=JAVA)

    def start(self, verb: str, does: str) -> subprocess.Popen[str]:
        env = {
            **os.environ,
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "DOES": does,
            "NAMES": str(self.names),
            "NAME_NODE": "name",
            "STARTED": str(self.folder / "started"),
        }
        argv = ["bash", str(self.script), verb]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, env=env, stdout=pipe, stderr=pipe, text=True)

    def until_started(self) -> None:
        while not (self.folder / "started").exists():
            time.sleep(0.02)


def programs(folder: Path, **scripts: str) -> None:
    (folder / "bin").mkdir()
    for name, script in scripts.items():
        program = folder / "bin" / name
        program.write_text(script)
        program.chmod(0o755)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.mark.parametrize("verb", ["data", "name"])
@pytest.mark.parametrize(
    ("does", "status"), [("3", 3), ("0", 1), ("is killed", 128 + signal.SIGKILL)]
)
def test_a_server_that_ends_by_itself_is_no_clean_end(
    node: Node, verb: str, does: str, status: int
) -> None:
    with node.start(verb, does) as server:
        out, err = server.communicate(timeout=20)
    assert "node: ended" not in out
    assert "the server ended by itself" in err
    assert server.returncode == status
    assert list(node.data.iterdir()) == []


@pytest.mark.parametrize("verb", ["data", "name"])
def test_a_server_that_is_told_to_end_ends_cleanly(node: Node, verb: str) -> None:
    with node.start(verb, "waits") as server:
        node.until_started()
        server.terminate()
        out, err = server.communicate(timeout=20)
    assert (server.returncode, out) == (0, "node: ended\n"), err
    kept = {"data": [], "name": ["name"]}[verb]
    assert [one.name for one in node.data.iterdir()] == kept


def test_a_copy_that_was_cut_short_is_not_taken_for_whole(node: Node) -> None:
    """The next copy went into the folder of the one that a kill had cut short."""
    (node.data / "name.copied/current").mkdir(parents=True)
    (node.data / "name.copied/current/VERSION").write_text("cut sh")
    (node.data / "name.taken/current").mkdir(parents=True)
    with node.start("name", "waits") as server:
        node.until_started()
        server.terminate()
        _, err = server.communicate(timeout=20)
    assert server.returncode == 0, err
    assert [one.name for one in node.data.iterdir()] == ["name"]
    assert (node.data / "name/current/VERSION").read_text() == "new\n"


def test_a_kept_copy_is_taken(node: Node) -> None:
    (node.data / "name/current").mkdir(parents=True)
    (node.data / "name/current/VERSION").write_text("kept\n")
    with node.start("name", "waits") as server:
        node.until_started()
        assert list(node.data.iterdir()) == []
        server.terminate()
        server.communicate(timeout=20)
    assert (node.data / "name/current/VERSION").read_text() == "kept\n"


# Says its share's checksum, as late as another share's; keeps what is put.
GEN_JOB = """#!/usr/bin/env bash
case $1 in
    *TeraGen)
        touch "$AT_WORK.$SHARE"
        until [ -e "$AT_WORK.1" ] && [ -e "$AT_WORK.2" ] && [ -e "$AT_WORK.3" ]; do sleep 0.01; done
        echo "CHECKSUM=$SHARE$SHARE$SHARE"
        sleep "0.$SHARE" ;;
    *FsShell) cat >"${!#}" ;;
esac
"""


def test_shares_in_one_container_keep_their_own_checksums(tmp_path: Path) -> None:
    programs(tmp_path, job=GEN_JOB)

    def generate(share: int) -> None:
        env = {
            **os.environ,
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
            "TMPDIR": str(tmp_path),
            "AT_WORK": str(tmp_path / "at-work"),
            "BYTES": "1000",
            "FOLDER": str(tmp_path),
            "SHARE": str(share),
        }
        argv = ["bash", str(HDFS / "gen.sh")]
        subprocess.run(argv, env=env, check=True, capture_output=True, timeout=30)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(generate, (1, 2, 3)))
    for share in (1, 2, 3):
        kept = (tmp_path / f"checksum-{share}").read_text()
        assert kept == f"CHECKSUM={share}{share}{share}\n"


@pytest.mark.parametrize(
    "script", sorted(HDFS.glob("*.sh")), ids=lambda file: file.name
)
def test_no_script_of_a_share_names_a_file_that_others_have_too(script: Path) -> None:
    assert "/tmp/" not in script.read_text()
