"""Odd YAML: whatever a file holds, the answer is a mistake with its place, never a traceback.

Goal: exit code 64 for everything a person wrote. Method: cases that once ended in a traceback, then
texts made up by hypothesis, from pieces of YAML and from a shipped profile with one value replaced.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from orchestrator.errors import EXIT_USAGE, KeyPlace, Mistake, UsageError
from orchestrator.keys import yaml_text
from orchestrator.keys.yaml_text import parse
from orchestrator.planning import project_files
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.planning.workloads import read_workload
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.plans import CLUSTER, profile_text
from tests.refused_profiles import NINES, NO_MACHINE

CATALOG = project_files.catalog(ROOT)
BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]\n"
    for below, name in zip("abcdef", "bcdefg", strict=True)
)


def workload_text(**odd: str) -> str:
    keys = {"tables": "1", "threads": "1", "measure": "2s", **odd}
    return (
        "title: t\ngenerator: sysbench\nscript: s.lua\ndataset: d\nscales:\n"
        f"  smoke: {{dataset: {{tables: {keys['tables']}}}, threads: {keys['threads']}, "
        f"warmup: 1s, measure: {keys['measure']}}}\n"
    )


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("? [a]: 1", "x.yaml:1:3", "a list or a mapping cannot be a key"),
        ("? {a: 1}\n: 1", "x.yaml:1:3", "a list or a mapping cannot be a key"),
        (
            "a: 1\nas_of: 2026-02-30",
            "x.yaml:2:8",
            "this is not a valid timestamp: '2026-02-30'",
        ),
        ("a: !!int abc", "x.yaml:1:4", "this is not a valid int: 'abc'"),
        ("a: !!float abc", "x.yaml:1:4", "this is not a valid float: 'abc'"),
        ("a: !!bool abc", "x.yaml:1:4", "this is not a valid bool: 'abc'"),
        ("a: !!timestamp abc", "x.yaml:1:4", "this is not a valid timestamp: 'abc'"),
        (f"a: {'9' * 5000}", "x.yaml:1:4", "this is not a valid int: '999"),
        (f"a: {NINES}", "x.yaml:1:4", "no key takes this number: '999"),
        (f"a: 0x{'f' * 5000}", "x.yaml:1:4", "no key takes this number: '0xfff"),
        ("a: 9223372036854775808", "x.yaml:1:4", "no key takes this number"),
        ("a: .inf", "x.yaml:1:4", "no key takes this number: '.inf'"),
        ("a: {b: [1, .nan]}", "x.yaml:1:12", "no key takes this number: '.nan'"),
        ('a: "\\U00110000"', "x.yaml:1:7", "an escape that stands for no character"),
        ("[" * 1000, "x.yaml", "nested too deeply"),
        ("a: &a [*a]", "x.yaml:1:4", "recursive"),
        ("a: &a {b: *a}", "x.yaml:1:4", "recursive"),
        ("a: \0", "x.yaml", "special characters are not allowed"),
    ],
)
def test_yaml_that_no_value_comes_of(text: str, place: str, what: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse("x.yaml", text)
    (mistake,) = raised.value.mistakes
    assert mistake.where == place
    assert what in mistake.what


@pytest.mark.parametrize(("text", "place"), NO_MACHINE)
def test_values_that_no_machine_has(text: str, place: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_profile("x", text, Nameable({"small": CLUSTER}, CATALOG), "smoke")
    assert any(place in mistake.where for mistake in raised.value.mistakes)
    assert all(len(mistake.what) < 400 for mistake in raised.value.mistakes)


@pytest.mark.parametrize("key", ["tables", "threads", "measure"])
@pytest.mark.parametrize("odd", [".inf", NINES, "[1]"])
def test_a_workload_of_no_size(key: str, odd: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_workload("w", workload_text(**{key: odd}), "smoke")
    where = raised.value.mistakes[0].where
    assert key in where or where.startswith("workloads/w.yaml:6:")


def test_aliases_that_multiply_are_refused_in_a_few_words() -> None:
    text = BOMB + profile_text("{type: azure/ultra, size: *g, as_of: *g}")
    text = text.replace("why?", "*g").replace("A disk", "*g")
    with pytest.raises(UsageError) as raised:
        read_profile("x", text, Nameable({"small": CLUSTER}, CATALOG), "smoke")
    assert sum(len(mistake.what) for mistake in raised.value.mistakes) < 4000


# ------------------------------------------------------------------ quickly

SHIPPED = [*(ROOT / "profiles").rglob("*.yaml"), *(ROOT / "workloads").glob("*.yaml")]
# What YAML gives a meaning to, and what readers of it have disagreed about.
SIGNS = ["\t", "?", "!", "|", ">", "---", "&a", "*a", "<<", ": ", "- ", "#", "[", "}"]
SIGNS += [
    "\n",
    "\r",
    "\x07",
    "\x85",
    "\u2028",
    "\ufeff",
    "é",
    "😀",
    '"',
    "'",
    "%",
    "1_0",
    "~",
]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A few lines of a shipped file, with signs set in or over others."""
    lines = draw(st.sampled_from(SHIPPED)).read_text().splitlines()
    begin = draw(st.integers(0, len(lines) - 1))
    text = "\n".join(lines[begin : begin + draw(st.integers(1, 8))])
    for sign in draw(st.lists(st.sampled_from(SIGNS), max_size=3)):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + sign + text[place + draw(st.integers(0, 1)) :]
    return text


def test_shipped_files_are_the_same_read_quickly() -> None:
    for file in SHIPPED:
        text = file.read_text()
        quickly_read = yaml_text._quickly_read(text)
        assert quickly_read == yaml_text._read("x.yaml", text), file


@given(damaged())
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_what_is_read_quickly_is_read_so_with_care(text: str) -> None:
    quickly_read = yaml_text._quickly_read(text)
    if isinstance(quickly_read, dict):
        assert repr(quickly_read) == repr(yaml_text._read("x.yaml", text))


@pytest.mark.parametrize(
    ("text", "is_quick"),
    [
        ("# Which?\na: b", True),
        ("a: What is it?", True),
        ("a: 'Why? #?'", True),
        ("a: [What?]", False),
        ("? a\n: b", False),
        ("a: {b: What?}", False),
        # What looks like a comment is a line of a text, and PyYAML refuses the list below it.
        ("a: |\n  # Why?\nb: [c?d]", False),
        ("a: |\n  # Why?\nb: c", True),
        # A text has a mark that its file spells otherwise.
        ('a: "\\x3f"\nb: [c?d]', False),
    ],
)
def test_a_question_mark_is_read_quickly_where_it_is_text(
    text: str, is_quick: bool
) -> None:
    assert (yaml_text._quickly_read(text) is not None) == is_quick


def test_depth_without_end_is_left_to_who_refuses_it() -> None:
    assert yaml_text._quickly_read("[" * 1_000_000) is None


# ------------------------------------------------------------------ files


def test_a_file_of_another_encoding(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes("title: Platte für alle\n".encode("latin-1"))
    with pytest.raises(UsageError) as raised:
        project_files.read(ROOT, [str(file)], [], "smoke")
    (mistake,) = raised.value.mistakes
    assert mistake.where == f"{file}:1"
    assert "not UTF-8" in mistake.what


def test_a_directory_of_a_files_name(tmp_path: Path) -> None:
    (tmp_path / "profiles/clusters/small.yaml").mkdir(parents=True)
    with pytest.raises(UsageError) as raised:
        project_files.read(tmp_path, ["x"], [], "smoke")
    assert "profiles/clusters/small.yaml" in raised.value.mistakes[0].where
    assert "cannot be read" in raised.value.mistakes[0].what


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.symlink_to(
        "/proc/self/mem"
    )  # a file, of whose first bytes nobody can read any
    with pytest.raises(UsageError) as raised:
        project_files.read(ROOT, [str(file)], [], "smoke")
    assert "Input/output error" in raised.value.mistakes[0].what


def test_mistakes_name_the_file_that_was_given_and_the_line(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(profile_text("{iops: -1, throughput: 1MB/s}"))
    with pytest.raises(UsageError) as raised:
        project_files.read(ROOT, [str(file)], [], "smoke")
    line = 1 + file.read_text().splitlines().index("cluster: small")
    assert [mistake.where for mistake in raised.value.mistakes] == [
        f"{file}:{line}: cluster"
    ]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("b", 2),
        ("b.c", 3),
        ("b.c.1.d", 5),
        ("b.missing", 2),
        ("missing", None),
        ("a.below", 1),
    ],
)
def test_a_mistake_gets_the_line_of_its_key_or_of_what_is_above_it(
    path: str, line: int | None
) -> None:
    text = "a: 1\nb:\n  c:\n  - d: 1\n  - d: 2\n"
    place = KeyPlace("x.yaml").below_path(path)
    mistake = yaml_text.with_line(Mistake.at(place, "wrong"), {"x.yaml": text})
    assert mistake.where == (f"x.yaml:{line}: {path}" if line else f"x.yaml: {path}")


def test_a_key_with_a_dot_has_its_line_in_a_file_with_a_colon() -> None:
    """Both signs part a place in words: this one was told at `settings`, or without a line."""
    text = "cluster:\n  settings:\n    dfs.replication: 3\n    dfs.blocksize: 1\n"
    place = KeyPlace("a: b.yaml", ("cluster", "settings", "dfs.blocksize"))
    mistake = yaml_text.with_line(Mistake.at(place, "wrong"), {"a: b.yaml": text})
    assert mistake.where == "a: b.yaml:4: cluster.settings.dfs.blocksize"


def test_the_exit_code_is_that_of_a_bad_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(profile_text(f"{{iops: 5, throughput: {NINES}MB/s}}"))
    words = ("run", "--profile", str(file), "--workload", "insert")
    assert tierbench(an_app(tmp_path), *words) == EXIT_USAGE
    assert "Traceback" not in capsys.readouterr().err


# ------------------------------------------------------------------ made-up texts

PIECES = st.sampled_from(
    [
        *[
            "a",
            "b: 1",
            "- ",
            ": ",
            "? ",
            "[",
            "]",
            "{",
            "}",
            ",",
            "&a ",
            "*a",
            "!!int ",
            "!!set ",
        ],
        *[
            "!!omap ",
            "!!binary ",
            "!!timestamp ",
            "!!null ",
            "<<: ",
            "=",
            "|\n",
            ">\n",
            "---\n",
        ],
        *[
            "...\n",
            "\n",
            "  ",
            "#",
            "%",
            "@",
            "'",
            '"',
            "\\",
            "\t",
            "2026-02-30",
            "1:99:99",
            "~",
        ],
        *[
            ".inf",
            ".nan",
            "-.inf",
            "0x",
            "0b2",
            "1e999",
            "09",
            "99:99:99.9",
            "yes",
            "é",
            "\u2028",
        ],
        *["\ufeff", '"\\ud800"', '"\\U0011ffff"', '"\\x"', "9" * 30, "9" * 400],
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=40)
VALUES = st.sampled_from(
    [
        *[
            "[]",
            "{}",
            "~",
            "''",
            "[1, [2]]",
            "{a: 1}",
            "-1",
            "0",
            ".inf",
            "-.inf",
            ".nan",
            "yes",
        ],
        *[
            NINES,
            f"{NINES}GiB",
            f"{NINES}s",
            f"{NINES}MB/s",
            "1e400",
            "1e-400",
            "!!int abc",
            "9e99",
        ],
        *[
            "2026-02-30",
            "2026-02-03",
            "12:30:45",
            "!!binary aGk=",
            "!!set {a}",
            "? [a]\n  : 1",
        ],
        *[
            '"\\ud800"',
            '"\\0"',
            "!!timestamp x",
            "!!bool x",
            "x: y: z",
            "*none",
            "&n 1",
            "0o7",
            "=1",
        ],
    ]
)


@given(TEXTS)
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_mapping_or_a_mistake(text: str) -> None:
    try:
        assert isinstance(parse("x.yaml", text), dict)
    except UsageError as error:
        assert error.mistakes
        assert all(mistake.where.startswith("x.yaml") for mistake in error.mistakes)


@given(st.sampled_from(["ultra", "premium"]), st.data(), VALUES | TEXTS)
@settings(max_examples=100, deadline=None)
def test_a_profile_with_one_odd_value(name: str, data: st.DataObject, odd: str) -> None:
    cluster = (ROOT / "profiles/clusters/azure-d8s-v5.yaml").read_text()
    text = (ROOT / f"profiles/{name}.yaml").read_text()
    in_cluster = data.draw(st.booleans())
    lines = (cluster if in_cluster else text).splitlines()
    at = data.draw(st.sampled_from([i for i, line in enumerate(lines) if ": " in line]))
    key = lines[at].partition(":")[0]
    odd_text = "\n".join([*lines[:at], f"{key}: {odd}", *lines[at + 1 :], ""])
    if in_cluster:
        cluster = odd_text
    else:
        text = odd_text
    try:
        read_profile(name, text, Nameable({"azure-d8s-v5": cluster}, CATALOG), "smoke")
    except UsageError as error:
        assert error.mistakes


@given(st.data(), VALUES | TEXTS)
@settings(max_examples=100, deadline=None)
def test_a_workload_with_one_odd_value(data: st.DataObject, odd: str) -> None:
    key = data.draw(st.sampled_from(["tables", "threads", "measure"]))
    try:
        read_workload("w", workload_text(**{key: odd}), "smoke")
    except UsageError as error:
        assert error.mistakes


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("tier:\n  type: azure/P15\n  wal:\n", "x:3:3: the key 'wal' has no value"),
        ("slo:   # to be written\n", "x:1:1: the key 'slo' has no value"),
        ("tier: {type: azure/P15, burst: }\n", "x:1:25: the key 'burst' has no value"),
        # A colon without its blank makes a key of all.
        ("tier: {type azure/P15}\n", "x:1:8: the key 'type azure/P15' has no value"),
        ("workloads:\n  - tpcc\n  -\n", "x:3:4: a list has an empty item"),
        ("password:\n", "x:1:1: the key 'password' has no value"),
    ],
)
def test_a_key_without_a_value_is_told_not_left_out(text: str, what: str) -> None:
    """Whoever wrote the key meant something by it."""
    with pytest.raises(UsageError) as why:
        parse("x", text)
    (mistake,) = why.value.mistakes
    assert f"{mistake.where}: {mistake.what}".startswith(what)


def test_who_means_none_writes_it() -> None:
    assert parse("x", 'wal: null\nburst: ~\nname: ""\nlist: []\n') == {
        "wal": None,
        "burst": None,
        "name": "",
        "list": [],
    }
