"""`tierbench validate`: files are judged as the commands that read them would."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from orchestrator.errors import EXIT_DONE, EXIT_USAGE
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.asked import PRICES
from tests.refused_profiles import MISTAKES

SHIPPED = {
    "profile": [
        *(ROOT / "profiles").glob("*.yaml"),
        *(ROOT / "profiles").glob("study*/*.yaml"),
    ],
    "cluster": [*(ROOT / "profiles/clusters").glob("*.yaml")],
    "workload": [*(ROOT / "workloads").glob("*.yaml")],
}
PROFILE = """\
title: A disk
question: q
tier:
  enforcement: mounted
  path: /mnt/a
  iosp: 4000
cluster: azure-d8s-v6
"""
# Options and dataset stand above too, where nothing is wrong.
OF_SCALE = """\
title: Inserts
generator: sysbench
script: sysbench/insert.lua
dataset: sysbench-tables
options: {isolation: serializable}
scales:
  smoke:
    threads: 8
    warmup: 3s
    dataset: {tables: 4, table_size: 5, rows: 4}
    options: {nosuch: 3}
    measure: 7s
"""


@pytest.mark.parametrize("kind", SHIPPED)
def test_what_is_shipped_has_no_mistakes(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = SHIPPED[kind]
    assert tierbench(an_app(tmp_path), "validate", *map(str, files)) == EXIT_DONE
    said = capsys.readouterr().out.splitlines()
    assert said == [f"{file}: a {kind} without mistakes" for file in files] and said


def validated(
    name: str, text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    file = folder / name
    file.write_text(text)
    code = tierbench(an_app(folder), "validate", str(file))
    return code, capsys.readouterr().out.replace(str(file), name)


def test_a_pipe_is_refused_and_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "disk.yaml"
    os.mkfifo(file)
    assert tierbench(an_app(tmp_path), "validate", str(file)) == EXIT_USAGE
    assert "is a pipe where something else belongs" in capsys.readouterr().out


def test_a_file_that_no_person_writes_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"title: {'x' * 20_000_000}\n"
    code, said = validated("disk.yaml", text, tmp_path, capsys)
    assert code == EXIT_USAGE
    assert "disk.yaml is larger than 1 MiB" in said


def test_a_link_to_a_file_of_ones_own_is_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere.yaml").write_text(PRICES)
    link = tmp_path / "prices.yaml"
    link.symlink_to("elsewhere.yaml")
    assert tierbench(an_app(tmp_path), "validate", str(link)) == EXIT_DONE


def test_a_price_list_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = validated("prices.yaml", PRICES, tmp_path, capsys)
    assert (code, said) == (EXIT_DONE, "prices.yaml: a price list without mistakes\n")


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("p.yaml", PROFILE, 7, "did you mean azure-d8s-v5"),
        ("p.yaml", PROFILE.replace("v6", "v5"), 6, "unknown key"),
        ("p.yaml", "tier: {iops: 1\n", 2, ""),
        (
            "w.yaml",
            "title: W\ngenerator: sysbench\nscript: a.lua\ndataste: b\n",
            4,
            "dataset",
        ),
        (
            "p.yaml",
            "question: q\ncluster: azure-d8s-v5\ntier: {typ: azure/P15}\n",
            3,
            "tier.typ: unknown key: did you mean type?",
        ),
        (
            "c.yaml",
            "nodes: 3\nreplication_factor: 3\nndoe: {}\n",
            3,
            "did you mean node?",
        ),
        (
            "l.yaml",
            PRICES.replace("azure/P15", "azure/P16"),
            6,
            "did you mean azure/P6",
        ),
        (
            "tierbench.yaml",
            "scale: smoke\nprofles: ultra\n",
            2,
            "did you mean profiles",
        ),
        ("tierbench.yaml", "scale: smoke\nset: {a: 1}\n", 2, "expected a value"),
        ("w.yaml", OF_SCALE, 11, "scales.smoke.options.nosuch: sysbench/insert.lua"),
        ("w.yaml", OF_SCALE, 10, "scales.smoke.dataset.rows: sysbench/insert.lua"),
    ],
)
def test_a_mistake_has_its_line_and_its_remedy(
    name: str,
    text: str,
    line: int,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, said = validated(name, text, tmp_path, capsys)
    assert code == EXIT_USAGE
    assert f"{name}:{line}:" in said and words in said


def test_each_scale_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A disk may be too small for the cluster at one scale only."""
    sizes = "smoke: {cpus: 1, memory: 2GiB, disk: 8GiB}, study: {cpus: 1, memory: 2GiB, disk: 9TiB}"
    text = "title: t\nquestion: q\ntier: {type: azure/P15}\ncluster:\n  nodes: 1\n"
    text += f"  replication_factor: 1\n  node: {{{sizes}}}\n"
    code, said = validated("p.yaml", text, tmp_path, capsys)
    assert code == EXIT_USAGE and "cluster.node.study.disk" in said


def test_a_misspelt_type_of_a_tier_is_its_only_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read as a tier with its own numbers it would lack a title."""
    text = "question: q\ncluster: azure-d8s-v5\ntier: {typ: azure/P15}\n"
    code, said = validated("p.yaml", text, tmp_path, capsys)
    assert (code, len(said.splitlines())) == (EXIT_USAGE, 1)


def test_keys_of_an_existing_cluster_are_judged_beside_other_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    existing = "{hosts: db1, port: 99999, usr: me, password: hunter2, tls: 'off'}"
    text = "title: t\nquestion: q\ntier: {enforcement: existing}\n"
    text += f"cluster: {{database: existing, existing: {existing}}}\n"
    code, said = validated("p.yaml", text, tmp_path, capsys)
    assert code == EXIT_USAGE
    assert said.splitlines() == [
        "p.yaml:4: cluster.replication_factor: this key is missing",
        "p.yaml:4: cluster.existing.port: '99999' is not a port",
        "p.yaml:4: cluster.existing.usr: unknown key: did you mean user?",
        "p.yaml:4: cluster.existing: `password` is not allowed, because results keep the profile: "
        "name `password_env` or `password_file`",
    ]


@pytest.mark.parametrize(("text", "what"), [(text, what) for text, _, what in MISTAKES])
def test_what_the_reader_refuses_is_refused_in_its_words(
    text: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a cluster that is there: of an unknown one nothing else would be said."""
    text = text.replace("cluster: small", "cluster: azure-d8s-v5")
    code, said = validated("p.yaml", text, tmp_path, capsys)
    assert code == EXIT_USAGE
    mistake, _, _ = what.partition("; known: ")
    assert mistake in said


@pytest.mark.parametrize(
    ("name", "next_step"),
    [
        ("ultra.yaml", f"did you mean {ROOT / 'profiles/ultra.yaml'}?"),
        ("tiny-lode.yaml", "/tiny-load.yaml?"),
        ("nothing.yaml", "check its path; `tierbench list` shows names"),
    ],
)
def test_a_file_that_is_not_there_has_a_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, next_step: str
) -> None:
    (tmp_path / "tiny-load.yaml").touch()
    app = an_app(tmp_path)
    assert tierbench(app, "validate", str(tmp_path / name)) == EXIT_USAGE
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].endswith(next_step) and lines[-1].startswith("  → ")


def test_a_file_that_is_not_there_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "missing.yaml", str(ROOT / "profiles/ultra.yaml")
    assert (
        tierbench(an_app(tmp_path), "validate", *words, "--output=json") == EXIT_USAGE
    )
    missing, ultra = json.loads(capsys.readouterr().out)
    assert missing["mistakes"] and ultra["kind"] == "profile" and not ultra["mistakes"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tier: {}\nvm: x\n", "profile"),
        ("tier: {}\nvm: x\nnodes: 3\n", "cluster"),
        ("unknown: 1\n", "profile"),
    ],
)
def test_of_two_kinds_with_as_many_keys_the_first_is_meant(
    text: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    tierbench(an_app(tmp_path), "validate", str(file), "--output=json")
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["kind"] == kind


@pytest.mark.parametrize(
    ("text", "keys", "line"),
    [
        ("scale: smoke\nslo:\n", [], 2),
        ("scale: smoke\nslo: {a\n", [], 3),
        ("scale: smoke\nslo: [a, ]\nslo: b\n", [], 3),
        ("scale: smoke\nprofles: ultra\n", ["profles"], 2),
        ("", [], 1),
        ("- a\n", [], 1),
    ],
)
def test_a_script_is_given_the_line_of_each_mistake(
    text: str,
    keys: list[str],
    line: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of what is no YAML, or a key without a value, it had none."""
    file = tmp_path / "tierbench.yaml"
    file.write_text(text)
    app = an_app(tmp_path)
    assert tierbench(app, "validate", str(file), "--output=json") == EXIT_USAGE
    (shown,) = json.loads(capsys.readouterr().out)
    (mistake,) = shown["mistakes"]
    place = mistake["place"]
    assert (place["file"], place["keys"], place["line"]) == (str(file), keys, line)
