"""Removals that could take what is a user's, each as `clean` meets it.

Goal: nothing of a user goes, what is ours goes, and what stays is said. Method: a script prepares a
cache below $top in a mount name space of its own; the program removes; the files are looked at in
the same name space. Each row says in words what earlier releases did (`before`) and what is done
now, so that it can be read as a table.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.errors import RunError
from orchestrator.system import marked
from tests import ROOT
from tests.name_space import in_a_name_space

# `ours FOLDER…` makes folders with our mark; `theirs FILE…` files of the user. `kept` and `gone`
# require that a user's file is as it was, and that a path is not there.
WORDS = """
theirs() { for file; do mkdir -p "$(dirname "$file")"; echo theirs > "$file"; done; }
ours() {
    local says="{\\"host\\": \\"$(hostname)\\", \\"cache\\": \\"$(realpath -m "$cache")\\"}"
    for folder; do "$python" -S "$marked" anew "$says" "$folder"; echo > "$folder/node-1.img"; done
}
kept() { for file; do test "$(cat "$file")" = theirs || { echo "lost: $file"; exit 1; }; done; }
gone() { for path; do test ! -e "$path" || { echo "stayed: $path"; exit 1; }; done; }
python=$1; marked=$2; root=$3; cd "$root"
"""
PREPARED = """
( top=$root/{0}; cache=$top/cache; mkdir "$top"; act=; place=
{1}
echo "${{act:-clean $cache}}" > "$top/act"; declare -p top cache place > "$top/vars" )
"""
REMOVED = """
setpriv --bounding-set=-all --inh-caps=-all -- "$python" -m tests.removing "$root"/*
"""
REQUIRED = """
( . "$root/{0}/vars"
{1}
) > "$root/{0}/lost" 2>&1 || echo failed >> "$root/{0}/lost"
"""


@dataclass(frozen=True)
class Row:
    """`prepare` and `require`: scripts. `said`: of what stays. `code`: how the program ends."""

    name: str
    before: str
    now: str
    prepare: str
    require: str
    said: str = ""
    code: int = 0


ROWS = (
    Row(
        name="the cache is a disk of the user, as /data",
        before="all of `datasets`, `disks` and `gates` was removed, whoever's",
        now="what has no mark stays",
        prepare="""
            cache=$top/data; mkdir "$cache"; mount -t tmpfs none "$cache"
            cd "$cache"; theirs datasets/a.bin datasets/mine/b disks/c gates/d
            ours "$cache/datasets/key" "$cache/truth-gates" """,
        require="""
            cd "$cache"; kept datasets/a.bin datasets/mine/b disks/c gates/d
            gone "$cache/datasets/key" "$cache/truth-gates" """,
    ),
    Row(
        name="the cache is /mnt, where a cloud mounts disks in /mnt/disks",
        before="the files of the mounted disks were removed; a traceback ended the command",
        now="a mounted disk stays, and so does what lies beside it",
        prepare="""
            cache=$top/mnt; mkdir -p "$cache/disks/pd-1"; mount -t tmpfs none "$cache/disks/pd-1"
            theirs "$cache/disks/pd-1/rows" "$cache/disks/golden.img" """,
        require='kept "$cache/disks/pd-1/rows" "$cache/disks/golden.img"',
        said="/mnt/disks has no mark of tierbench, so it is left alone",
    ),
    Row(
        name="the cache is a link to a folder of the user",
        before="what the link leads to was removed",
        now="what has no mark stays; what is ours goes, and the link stays",
        prepare="""
            theirs "$top/home/datasets/thesis/dataset.json"; ln -s "$top/home" "$cache"
            ours "$cache/datasets/key" """,
        require="""
            kept "$top/home/datasets/thesis/dataset.json"; gone "$top/home/datasets/key"
            test -L "$cache" """,
        said="datasets/thesis has no mark of tierbench",
    ),
    Row(
        name="links in the cache lead to the user's home",
        before="all of `datasets` was removed, a link without what it leads to; nothing was said",
        now="no link is followed: one in a folder of ours goes, one in its place stays and is said",
        prepare="""
            ours "$cache/datasets/key" "$top/home2"; theirs "$top/home/letter" "$top/home2/letter"
            ln -s "$top/home" "$cache/datasets/key/node-2"
            ln -s "$top/home2" "$cache/datasets/l" """,
        require='kept "$top/home/letter" "$top/home2/letter"; gone "$cache/datasets/key"',
        said="datasets/l is not a folder that can be opened",
    ),
    *(
        Row(
            name=f"{what} is mounted in a folder of ours",
            before="what was mounted was emptied, and a traceback ended the command",
            now="no mount is entered; it is said, and the rest goes",
            prepare="""
                theirs "$top/golden/rows"; ours "$cache/datasets/key" "$cache/datasets/other"
                place="$cache/datasets/key/node-2"; mkdir "$place"; """
            + mounting,
            require="""
                kept "$place/rows" "$top/golden/rows"
                gone "$cache/datasets/key/node-1.img" "$cache/datasets/other" """,
            said="key/node-2: something is mounted there, and no mount is entered",
            code=RunError.exit_code,
        )
        for what, mounting in (
            ("a folder of the same disk", 'mount --bind "$top/golden" "$place"'),
            (
                "a disk in memory",
                'mount -t tmpfs none "$place"; cp "$top/golden/rows" "$place"',
            ),
        )
    ),
    Row(
        name="a container lists a file as ../../etc/x",
        before="the file of that name here was removed",
        now="refused: a container's files cannot leave their folder",
        prepare='theirs "$top/etc/x"; mkdir -p "$top/a/b"; act="take $top/a/b ../../etc/x"',
        require='kept "$top/etc/x"',
        said="a container has a file outside of its folder: '../../etc/x'",
        code=RunError.exit_code,
    ),
    Row(
        name="a container lists a file below a link of the user",
        before="the file behind the link was removed",
        now="refused: a container's files cannot leave their folder",
        prepare="""
            theirs "$top/home/x"; mkdir "$top/out"; ln -s "$top/home" "$top/out/link"
            act="take $top/out link/x" """,
        require='kept "$top/home/x"',
        said="a container has a file outside of its folder: 'link/x'",
        code=RunError.exit_code,
    ),
    Row(
        name="names with a line break and a leading dash",
        before="as now",
        now="they go, and nothing that they could be read as",
        prepare="""
            place=$cache/datasets/$'-rf \\nx'; theirs "$top/x" "$top/rf"; odd=$'-rf\\n../../x'
            ours "$place"; cd "$place"
            theirs ./-rf ./$'a\\nb' "./$odd" """,
        require='kept "$top/x" "$top/rf"; gone "$place"',
    ),
    Row(
        name="the mark is of another host",
        before="removed: on real disks any mark would do, elsewhere none was needed",
        now="stays, and is said to be of that host",
        prepare="""
            ours "$cache/datasets/key"; theirs "$cache/datasets/key/node-1.img"
            sed -i 's/"host": "[^"]*"/"host": "vm9"/' "$cache/datasets/key/.made-by-tierbench" """,
        require='kept "$cache/datasets/key/node-1.img"',
        said="cache of vm9: it is left alone",
    ),
    Row(
        name="the mark is of another cache: the folder was copied from there",
        before="removed",
        now="the copy stays, and is said to be of that cache",
        prepare="""
            cache=$top/first; ours "$cache/datasets/key"; theirs "$cache/datasets/key/node-1.img"
            cache=$top/second; mkdir "$cache"; cp -a "$top/first/datasets" "$cache" """,
        require="""
            kept "$cache/datasets/key/node-1.img" "$top/first/datasets/key/node-1.img" """,
        said="/first of",
    ),
    Row(
        name="a file that cannot be removed, because it is the place of a mount",
        before="a traceback ended the command there, and the rest stayed",
        now="it is said, the rest goes, and the program ends with a code of its own",
        prepare="""
            theirs "$top/hosts"; ours "$cache/datasets/a" "$cache/datasets/b"
            mount --bind "$top/hosts" "$cache/datasets/a/node-1.img"
            touch "$cache/datasets/a/c" """,
        require='kept "$top/hosts"; gone "$cache/datasets/a/c" "$cache/datasets/b"',
        said="datasets/a/node-1.img: Device or resource busy",
        code=RunError.exit_code,
    ),
    Row(
        name="a folder in which this user may not write",
        before="a traceback ended the command there, and the rest stayed",
        now="it is said, the rest goes, and the program ends with a code of its own",
        prepare="""
            ours "$cache/datasets/a" "$cache/datasets/b"; mkdir "$cache/datasets/a/deep"
            theirs "$cache/datasets/a/deep/x"; chmod 555 "$cache/datasets/a/deep" """,
        require="""
            kept "$cache/datasets/a/deep/x"; gone "$cache/datasets/a/node-1.img" "$cache/datasets/b"
            chmod 755 "$cache/datasets/a/deep" """,
        said="datasets/a/deep/x: Permission denied",
        code=RunError.exit_code,
    ),
)


@pytest.fixture(scope="module")
def removed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each row, by its number: what was said, the exit code, and what is `lost`. All
    are removed by one program without a right of root to write anywhere."""
    root = tmp_path_factory.mktemp("hostile")
    prepared = [PREPARED.format(number, row.prepare) for number, row in enumerate(ROWS)]
    required = [REQUIRED.format(number, row.require) for number, row in enumerate(ROWS)]
    script = "".join((WORDS, *prepared, f"cd {ROOT}", REMOVED, *required))
    in_a_name_space(script, sys.executable, marked.__file__, str(root))
    return root


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row.name for row in ROWS])
def test_nothing_of_a_user_goes(number: int, removed: Path) -> None:
    row = ROWS[number]
    found = {
        file: (removed / str(number) / file).read_text()
        for file in ("said", "code", "lost")
    }
    assert row.said in found["said"] and found["code"] == str(row.code), found
    assert found["lost"] == "", found
