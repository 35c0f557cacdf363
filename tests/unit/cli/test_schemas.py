"""JSON Schema of what a person writes: it is the reader's own, and says what the reader says.

Method: every shipped file is valid; every profile that the tests know to be refused for its keys,
types, units or ranges is refused; and shipped files with one key added or left out are refused by
the schema exactly where the reader calls the key unknown or missing.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.cli.prepare import validate
from orchestrator.errors import EXIT_DONE, EXIT_USAGE, UsageError
from orchestrator.keys import yaml_text
from orchestrator.planning import project_files
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.planning.workloads import read_workload
from orchestrator.tiers import tier_mechanisms
from tests import ROOT, golden, json_schemas
from tests.documented import examples, existing_profiles
from tests.plans import CLUSTER
from tests.refused_profiles import MISTAKES, NO_MACHINE

SCHEMAS = ROOT / "docs" / "schema"
SHIPPED = {
    "profile": sorted((ROOT / "profiles").glob("*.yaml")),
    "cluster": sorted((ROOT / "profiles/clusters").glob("*.yaml")),
    "workload": sorted((ROOT / "workloads").glob("*.yaml")),
}
CATALOG = project_files.catalog(ROOT)
# What a schema cannot say: rules between keys, names of other files, numbers that only their unit
# makes too large, and texts that are numbers.
BEYOND = (
    "needs `iops`", "needs `disks`", "is not above `iops`", "unknown cluster", "stands twice",
    "mapping", "expected",
)  # fmt: skip


@cache
def validator(kind: str) -> Any:
    schema = json.loads((SCHEMAS / f"{kind}.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def as_json(value: Any) -> Any:
    """As an editor sees it: names are text, and so are days."""
    if isinstance(value, Mapping):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    return value.isoformat() if isinstance(value, date) else value


def errors(kind: str, content: Any) -> list[str]:
    return [error.message for error in validator(kind).iter_errors(as_json(content))]


@pytest.mark.parametrize("kind", validate.SCHEMAS)
def test_the_kept_schema_is_the_readers(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    golden.compare(str(SCHEMAS / f"{kind}.json"), json_schemas.json_schema(kind))
    assert exit_code(["admin", "schema", kind], CampaignApp()) == EXIT_DONE
    assert capsys.readouterr().out == (SCHEMAS / f"{kind}.json").read_text()


def test_each_key_has_words_and_no_words_are_left_over() -> None:
    used = set()
    for kind in json_schemas.FILES:  # a campaign's words are those of --help
        schema = json.loads((SCHEMAS / f"{kind}.json").read_text())
        for record, of in ((kind, schema), *schema.get("$defs", {}).items()):
            for key, what in of.get("properties", {}).items():
                assert what["description"].endswith("."), f"{kind}: {record}.{key}"
                used |= {
                    (f"{record}.{key}", what["description"]),
                    (key, what["description"]),
                }
    assert {
        key for key, text in json_schemas.WORDS.items() if (key, text) not in used
    } == set()


def test_a_schema_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["admin", "schema", "tier"], CampaignApp()) == EXIT_USAGE
    assert "profile, cluster, workload, campaign, price-list" in capsys.readouterr().err


def test_every_mechanism_can_be_named() -> None:
    schema = json.loads((SCHEMAS / "profile.json").read_text())
    named = schema["$defs"]["TierYaml"]["properties"]["enforcement"]["enum"]
    assert set(named) == set(tier_mechanisms()) - {"dry"}


@pytest.mark.parametrize(
    "file",
    [file for files in SHIPPED.values() for file in files],
    ids=lambda file: file.stem,
)
def test_everything_shipped_is_valid(file: Path) -> None:
    (kind,) = (kind for kind, files in SHIPPED.items() if file in files)
    assert errors(kind, yaml_text.parse(file.name, file.read_text())) == []


def test_the_profiles_and_workloads_of_the_documents_are_valid() -> None:
    for text in (*examples("ADDING.md", "A disk tier"), *existing_profiles()):
        assert errors("profile", yaml_text.parse("x", text)) == []
    assert (
        errors("workload", yaml_text.parse("x", *examples("ADDING.md", "A workload")))
        == []
    )
    (prices,) = (
        one for one in examples("CATALOG.md", "Prices") if "our contract" in one
    )
    assert errors("price-list", yaml_text.parse("x", prices)) == []
    assert errors(
        "price-list", yaml_text.parse("x", prices.replace("per_disk", "per_disc"))
    )


@pytest.mark.parametrize(("text", "what"), [(text, what) for text, _, what in MISTAKES])
def test_what_the_reader_refuses_is_refused(text: str, what: str) -> None:
    if any(words in what for words in BEYOND):
        return
    assert errors("profile", yaml_text.parse("x", text))


@pytest.mark.parametrize("text", [text for text, _ in NO_MACHINE])
def test_values_that_no_machine_has_are_refused(text: str) -> None:
    try:
        content = yaml_text.parse("x", text)
    except UsageError:
        return  # no YAML of ours
    found = errors("profile", content)
    assert found or "9" * 100 in text, "only a size with too many digits passes for one"


# ------------------------------------------------------------------ one key more, one less


def mappings(content: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(content, dict):
        yield path
        for key, value in content.items():
            yield from mappings(value, (*path, key))


def inner(content: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def changed(content: Any) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """The content with an unknown key in each mapping, and without each of its keys."""
    for path in mappings(content):
        more = copy.deepcopy(content)
        inner(more, path)["odd_key"] = {"odd": "value"}
        yield more, (*path, "odd_key")
        for key in inner(content, path):
            less = copy.deepcopy(content)
            del inner(less, path)[key]
            yield less, (*path, key)


def said(kind: str, content: Any) -> set[str]:
    """What the reader says of keys and types at the scale `laptop`."""
    text = yaml.safe_dump(content)
    try:
        if kind == "workload":
            read_workload("x", text, "laptop")
        else:
            read_profile("x", text, Nameable({"small": CLUSTER}, CATALOG), "laptop")
    except UsageError as error:
        return {one.what for one in error.mistakes}
    return set()


def test_one_key_more_or_less_is_refused_as_by_the_reader() -> None:
    cluster = yaml_text.parse("c", SHIPPED["cluster"][0].read_text())
    own = "question: q\ntitle: t\ntier: {iops: 5000, throughput: 90MB/s, price: {monthly: 3, "
    own += (
        "currency: EUR, region: here, as_of: 2026-01-02, source: me}}\ncluster: small\n"
    )
    profiles = [
        yaml_text.parse("p", text) for text in (SHIPPED["profile"][0].read_text(), own)
    ]
    workload = yaml_text.parse("w", (ROOT / "workloads/tpcc.yaml").read_text())
    texts = [
        ("workload", workload),
        *(("profile", one | {"cluster": cluster}) for one in profiles),
    ]
    seen = 0
    for kind, content in texts:
        for other, path in changed(content):
            found, by_reader = errors(kind, other), said(kind, other)
            of_keys = by_reader & {"unknown key", "this key is missing"}
            if found:
                assert by_reader, f"{path}: the schema is stricter: {found}"
            elif path not in (
                ("cluster", "nodes"),
                ("cluster", "node"),
            ):  # a rule between keys
                assert not of_keys, f"{path}: the schema takes what the reader does not"
            seen += bool(found)
    assert seen > 50
