"""The documents say what the program does: examples run, and every name is explained.

Method: blocks and names are read out of the documents and compared with the program's own options,
keys, words and folders.
"""

from __future__ import annotations

import ast
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
import typer
from pydantic import BaseModel

from orchestrator import facts, model
from orchestrator.analysis import conclusions
from orchestrator.cli import make_targets
from orchestrator.cli.commands import HELP_ALL
from orchestrator.cli.main import program
from orchestrator.databases.existing.declaration import Existing
from orchestrator.keys import schema
from orchestrator.tier import DiskKind
from orchestrator.tier_catalog.asked_rows import Reference
from tests import ROOT
from tests.asked import OF_ALL, commands
from tests.sources import MODULES, PACKAGE, nodes

DOCUMENTS = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
MAX_COLUMNS = 100


def text_of(*names: str) -> str:
    return "\n".join((ROOT / "docs" / name).read_text() for name in names)


def table_rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row, without heads and rules."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


# ------------------------------------------------------------------ form


def test_prose_fits_in_100_columns() -> None:
    """Tables may be wider: a row is one line."""
    wide: list[str] = []
    for document in DOCUMENTS:
        for number, line in enumerate(document.read_text().splitlines(), start=1):
            if len(line) > MAX_COLUMNS and not line.startswith("|"):
                wide.append(f"{document.name}:{number} has {len(line)}")
    assert wide == []


def slugs_of(document: Path) -> set[str]:
    """Its headings, as links name them."""
    slugs: set[str] = set()
    for title in re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE):
        slugs.add(re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-"))
    return slugs


def leads_somewhere(target: str, document: Path) -> bool:
    path, _, heading = target.partition("#")
    file = document
    if path:
        file = document.parent / path
    if not file.exists():
        return False
    return not heading or heading in slugs_of(file)


def test_links_lead_somewhere() -> None:
    """Files that exist, and headings of them."""
    broken: list[str] = []
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
            if "://" not in target and not leads_somewhere(target, document):
                broken.append(f"{document.name}: {target}")
    assert broken == []


def test_the_readme_begins_with_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    first = re.search(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert first and re.findall(r"^make (\S+)", first[1], re.MULTILINE) == [
        "demo",
        "test",
    ]
    assert "![" in text[: text.index("## ")], (
        "the picture of a report is on the first screen"
    )


def test_the_readme_leads_to_every_recipe() -> None:
    """Readers find their own case on the first page, and need not know our words for it."""
    guide = (ROOT / "README.md").read_text().split("## Begin where you are")[1]
    table = guide.split("\n## ")[0]
    recipes = sorted(file.name for file in (ROOT / "docs/recipes").glob("*.md"))
    assert [name for name in recipes if f"docs/recipes/{name})" not in table] == []
    assert "docs/OBSERVE.md" in table, "a cluster that may not be loaded"


def test_the_notes_of_a_release_fit_on_a_page() -> None:
    """They say what the release does and does not, and not how it came about.

    A merge by union brings back what was left out: take the page as it is, and add a line to it.
    """
    notes = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]
    assert [each.splitlines()[0] for each in notes if len(each.split()) > 900] == []


# ------------------------------------------------------------------ readers

RESEARCH = ROOT / "docs" / "research"
# How rules were found and how often they are wrong: for referees and developers.
NOT_FOR_USERS = {"ADDING.md", "ARCHITECTURE.md"}


def test_pages_of_users_hold_no_laboratory() -> None:
    """Whoever has a cluster repeats no trial of ours: the pages name none, and link to it."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    pages += (ROOT / "docs/recipes").glob("*.md")
    with_trials: list[str] = []
    for page in pages:
        text = page.read_text()
        has_trials = "make bench NAME=" in text or "\nMeasured " in text
        if has_trials and page.name not in NOT_FOR_USERS:
            with_trials.append(page.name)
    assert with_trials == []


def test_each_page_begins_with_whom_it_is_for() -> None:
    """A reader sees in one sentence whether to read on."""
    without: list[str] = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        _, _, below = page.read_text().partition("\n\n")
        if not below.startswith("For "):
            without.append(page.relative_to(ROOT).as_posix())
    assert without == []


def test_research_lists_its_pages() -> None:
    text = (RESEARCH / "README.md").read_text()
    pages = {file.name for file in RESEARCH.glob("*.md")} - {"README.md"}
    assert [name for name in sorted(pages) if f"]({name})" not in text] == []


def test_the_site_has_every_page() -> None:
    """`make docs` takes its order of pages from mkdocs.yml; links are held there and above."""
    docs = ROOT / "docs"
    shown = re.findall(
        r"^ +- (?:.*: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M
    )
    pages = {file.relative_to(docs).as_posix() for file in docs.rglob("*.md")}
    of_the_root = {"index.md", "CHANGELOG.md", "CONTRIBUTING.md"}
    assert set(shown) == pages | of_the_root and len(shown) == len(set(shown))


def test_links_to_pages_of_the_root_lead_to_them_on_the_site(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only links without a heading, from the top of `docs/`, were turned into the site's."""
    # mkdocs is in an environment of its own; what is called here needs nothing of it.
    names = {"MkDocsConfig": object, "File": object, "Files": object, "Page": object}
    for module in ("config.defaults", "structure.files", "structure.pages"):
        stand_in = SimpleNamespace(**names)
        monkeypatch.setitem(sys.modules, f"mkdocs.{module}", stand_in)
    docs = ROOT / "docs"
    site_pages = runpy.run_path(str(docs / "site_pages.py"))
    linked_on_site = site_pages["linked_on_site"]
    assert linked_on_site("[a](../README.md) [b](../README.md#c)", "TIERS.md") == (
        "[a](index.md) [b](index.md#c)"
    )
    left: list[str] = []
    for file in docs.rglob("*.md"):
        place = file.relative_to(docs).as_posix()
        text = linked_on_site(file.read_text(), place)
        left += re.findall(r"\]\((?:\.\./)+(?:README|CHANGELOG|CONTRIBUTING)\.md", text)
        if place == "recipes/laptop.md":
            assert "](../index.md#begin-where-you-are)" in text
    assert left == []


# ------------------------------------------------------------------ the map


def test_the_map_names_every_folder_and_no_other() -> None:
    text = text_of("ARCHITECTURE.md")
    # The rows of the map begin with a level.
    levels = [row for row in table_rows(text) if row[0].isdigit()]
    named = {row[1].strip("`/") for row in levels if row[1].startswith("`")}
    folders = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    assert named == folders


def test_no_module_is_named_that_is_not_there() -> None:
    examples_of_adding = {"workloads/update.yaml", "workloads/sysbench/update.lua"}
    places = r"`((?:orchestrator|tests|workloads|profiles|docker)/[\w./-]+)`"
    missing: list[str] = []
    for document in DOCUMENTS:
        text = document.read_text()
        for path in re.findall(places, text):
            if not (ROOT / path).exists() and path not in examples_of_adding:
                missing.append(f"{document.name}: {path}")
        for name in re.findall(r"`(\w+\.py)`", text):
            if not list(PACKAGE.rglob(name)):
                missing.append(f"{document.name}: {name}")
    assert missing == []


# ------------------------------------------------------------------ messages

OF_THE_SHELL = "tierbench: command not found"


def test_each_message_in_troubleshooting_is_the_programs() -> None:
    """A reader searches the page for the words that are on the screen."""
    page = text_of("TROUBLESHOOTING.md").split("## Questions")[0]
    source = source_in_one_line()
    missing: list[str] = []
    for row in table_rows(page):
        for message in re.findall(r'"([^"]+)"', row[0]):
            for part in re.split(" *[:,]? *… *,? *", message):
                if part not in source and message != OF_THE_SHELL:
                    missing.append(message)
    assert missing == []


def source_in_one_line() -> str:
    """The package and the Makefile, with texts that are split over several lines put together."""
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.yaml"), ROOT / "Makefile"]
    whole = "\n".join(file.read_text() for file in files)
    joined = re.sub(r'"\s*\n\s*f?"', "", whole)
    return " ".join(joined.split())


# ------------------------------------------------------------------ names


# Said once, above all commands: the same words in each row would hide what is its own.
OF_NEARLY_ALL = {"--results", "--output"}


def test_every_command_and_option_is_documented_and_no_other() -> None:
    section = text_of("OPTIONS.md").split("## Variables")[0]
    rows = {row[0].strip("`"): row for row in table_rows(section)}
    documented = {re.sub(r" [\[A-Z].*", "", name) for name in rows}
    group = typer.main.get_command(program)
    options = {opt for each in group.params for opt in each.opts}
    for name, command in commands(group):
        assert name in documented, f"{name} has no row in docs/OPTIONS.md"
        row = next(
            row for key, row in rows.items() if re.sub(r" [\[A-Z].*", "", key) == name
        )
        common = "common ones" in row[2]
        own = {
            opt for each in command.params for opt in each.opts if opt.startswith("--")
        }
        named = set(re.findall(r"--[a-z][a-z0-9-]*", row[2]))
        assert named <= own, f"{name} has no {named - own}"
        missing = own - named - OF_ALL - OF_NEARLY_ALL
        assert common or not missing, f"{name}: {missing} is not in its row"
        options |= own
    assert options <= set(re.findall(r"--[a-z][a-z0-9-]*", section))
    opening = section.split("\n## ")[0]
    assert all(f"`{option}`" in opening for option in OF_NEARLY_ALL)
    options |= {"--help", HELP_ALL}
    assert set(re.findall(r"`(--[a-z][a-z0-9-]*)`", section)) <= options


def test_every_variable_of_the_makefile_is_documented_and_no_other() -> None:
    settable = make_targets.variables() | {"PYTHON", "UNLOCKED"}
    section = text_of("OPTIONS.md").split("## Variables of make")[1].split("\n## ")[0]
    named = {
        name
        for row in table_rows(section)
        for name in re.findall(r"`([A-Z_]+)`", row[0])
    }
    assert named == settable


YAML_KEYS: dict[str, type[BaseModel]] = {
    "ProfileYaml": schema.ProfileYaml,
    "TierYaml": schema.TierYaml,
    "BurstYaml": schema.BurstYaml,
    "PriceYaml": schema.PriceYaml,
    "ClusterYaml": schema.ClusterYaml,
    "NodeYaml": schema.NodeYaml,
    "WorkloadYaml": schema.WorkloadYaml,
    "ScaleYaml": schema.ScaleYaml,
}


@pytest.mark.parametrize("name", YAML_KEYS)
def test_every_key_of_a_profile_and_a_workload_is_documented(name: str) -> None:
    text = text_of("OPTIONS.md").split("## Keys of a profile")[1]
    named = set(re.findall(r"`([a-z_]+)`", text))
    fields = YAML_KEYS[name].model_fields
    assert {field.alias or key for key, field in fields.items()} <= named


def test_every_key_of_a_catalog_reference_and_of_an_existing_cluster_is_documented() -> (
    None
):
    keys = {field.alias or name for name, field in Reference.model_fields.items()}
    assert keys <= set(re.findall(r"`([a-z_]+)`", text_of("CATALOG.md", "OPTIONS.md")))
    of_clusters = (
        text_of("OPTIONS.md").split("| key of `existing` |")[1].split("\n## ")[0]
    )
    of_store = {"url"}  # and what its driver calls its settings
    assert of_store | set(Existing.__dataclass_fields__) == {
        name
        for row in table_rows(of_clusters)
        for name in re.findall(r"`([a-z_]+)`", row[0])
    }


# ------------------------------------------------------------------ words


def test_every_profile_and_workload_that_is_shipped_is_documented() -> None:
    text = text_of(*(file.name for file in (ROOT / "docs").glob("*.md")))
    shipped = [
        f.stem
        for kind in ("profiles", "workloads")
        for f in (ROOT / kind).glob("*.yaml")
    ]
    assert [name for name in shipped if f"`{name}`" not in text] == []


def test_every_word_of_a_result_is_documented() -> None:
    text = " ".join(
        text_of(
            "GLOSSARY.md",
            "METHOD.md",
            "WORKLOADS.md",
            "RESULTS.md",
            "reference/NOTES.md",
        ).split()
    )
    words: set[str] = set()
    for literal in (  # closed sets, kept by the type checker
        DiskKind,
        model.Outcome,
        facts.PhaseName,
        conclusions.VerdictWord,
        facts.GateWord,
        facts.BottleneckCause,
        facts.DoubtKind,
    ):
        words |= set(get_args(literal))
    assert sorted(word for word in words if f"`{word}`" not in text) == []


def test_the_glossary_explains_each_term_once() -> None:
    text = text_of("GLOSSARY.md", "reference/NAMES.md")
    terms = [row[0] for row in table_rows(text)]
    heads = {"term", "cause", "kind of note", "instead of"}
    assert [term for term in terms if terms.count(term) > 1 and term not in heads] == []
    assert all(row[1] for row in table_rows(text))


def test_words_that_are_not_used_are_no_names() -> None:
    banned = text_of("reference/NAMES.md").split("## Words not used")[1]
    parts_of_all = {
        only: [(*one, parts_of(one[1])) for one in names(only)]
        for only in (True, False)
    }
    wrong = []
    for word in [row[0] for row in table_rows(banned)][1:]:
        module_only = word.endswith(" (module)")
        for each in word.removesuffix(" (module)").split(", "):
            wrong += [
                f"{where}: {name}"
                for where, name, parts in parts_of_all[module_only]
                if each in parts
            ]
    assert wrong == []


def parts_of(name: str) -> list[str]:
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().split("_")


def names(modules_only: bool) -> Iterator[tuple[str, str]]:
    """(file, name) of every module and folder, and of every class and function unless not asked."""
    for file in MODULES:
        where = file.relative_to(PACKAGE).as_posix()
        yield where, file.parent.name if file.stem == "__init__" else file.stem
        for node in () if modules_only else nodes(file):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                yield where, node.name


# ------------------------------------------------------------------ examples of ADDING.md


@pytest.mark.parametrize(
    ("row", "file"),
    [
        ("`disk-matrix`", "integration/test_disk_matrix.py"),
        ("`kubernetes`", "kubernetes/test_campaign.py"),
        ("`oltp_read_write`", "integration/test_sysbench_stock.py"),
        ("**platform** `docker`", "integration/test_containers.py"),
    ],
)
def test_what_is_proven_says_which_tests_prove_it(row: str, file: str) -> None:
    """`make test` leaves out tests that are marked slow, and those on Kubernetes."""
    line = next(
        line
        for line in text_of("research/PROVEN.md").splitlines()
        if line.startswith(f"| {row}")
    )
    text = (ROOT / "tests" / file).read_text()
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    tests = [node for node in found if node.name.startswith("test_")]
    decorators = ["".join(map(ast.unparse, node.decorator_list)) for node in tests]
    whole = "mark.kubernetes" in text
    ordinary = not whole and not all("mark.slow" in one for one in decorators)
    assert ("every full test" in line) == ordinary
    assert ordinary or f"`make test-{'kubernetes' if whole else 'slow'}`" in line
