"""The recipes, walked as they are written: their profiles are read, each of their commands of ours
is given to the program, and what campaigns of several days say is said.

Not walked here: the commands of a cloud, and campaigns on real parts, which
`tests/integration/test_existing.py`, `test_several_engines.py` and
`tests/kubernetes/test_storage_class.py` take from profiles of the same form.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import orchestrator
from orchestrator.analysis import verdicts
from orchestrator.cli import main
from orchestrator.cli.common.options import Request
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_INCONCLUSIVE
from orchestrator.model import Plan
from orchestrator.system import store
from tests import ROOT
from tests.apps import an_app, said_by, tierbench, with_parts
from tests.asked import commands
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, FakePlatform, Log
from tests.plans import a_plan
from tests.tiers import changed

AUTHORITIES = ("yb-ca.crt", "yb-p15-ca.crt", "yb-v2-ca.crt")
RECIPES = sorted((ROOT / "docs" / "recipes").glob("*.md"))
TARGETS = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def blocks(recipe: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```$", recipe.read_text(), re.MULTILINE | re.DOTALL
    )


def lines(recipe: Path) -> list[list[str]]:
    """The words of each line of its shell blocks, without remarks."""
    whole = "".join(blocks(recipe, "sh")).replace("\\\n", " ")
    return [
        words
        for line in whole.splitlines()
        if (words := shlex.split(line, comments=True))
    ]


def ours(recipe: Path) -> list[list[str]]:
    """The words of its commands of ours, without the program's name."""
    return [
        words[1:]
        for words in lines(recipe)
        if words[0].rpartition("/")[2] == "tierbench"
    ]


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of who follows a recipe, with the profiles that it has them write."""
    (tmp_path / "profiles").mkdir()
    shipped = [*(ROOT / "profiles").iterdir(), ROOT / "workloads", ROOT / "docker"]
    for each in shipped:
        (tmp_path / each.relative_to(ROOT)).symlink_to(each)
    for recipe in RECIPES:
        for text in blocks(recipe, "yaml"):
            if name := re.match(r"# (\S+\.yaml)\n", text):
                (tmp_path / name[1]).write_text(text)
    for authority in AUTHORITIES:
        (tmp_path / authority).write_text("of who signed the servers' certificates")
    monkeypatch.chdir(tmp_path)
    for variable in ("PG_PASSWORD", "YB_PASSWORD"):
        monkeypatch.setenv(variable, "secret")
    monkeypatch.setenv("TIERBENCH_REGISTRY", "registry.example/bench")
    return tmp_path


class Still:
    """A shell in which nothing may be started."""

    run = None


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_each_campaign_of_a_recipe_can_be_planned(recipe: Path, folder: Path) -> None:
    app = replace(an_app(folder / "cache", shell=Still()), root=folder)
    planned = [words for words in ours(recipe) if words[0] in ("run", "compare")]
    for words in planned:
        named = [
            word.replace("my-disk", "premium") for word in words if word != "--dry-run"
        ]
        ended = named[: named.index("||")] if "||" in named else named
        ended += ["--dry-run", "--offline"]
        assert tierbench(app, *ended) == EXIT_DONE, (words, said_by(app))
    assert planned


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_each_command_and_option_of_a_recipe_is_the_programs(recipe: Path) -> None:
    known = {
        name.strip(): command
        for name, command in commands(typer.main.get_command(main.program))
    }
    for words in ours(recipe):
        beginnings = [" ".join(words[:count]) for count in (1, 2, 3)]
        name = next(begin for begin in beginnings if begin in known)
        options = {option for each in known[name].params for option in each.opts}
        assert {word for word in words if word.startswith("--")} <= options, words


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_each_target_of_a_recipe_is_one_of_make(recipe: Path) -> None:
    assert {words[1] for words in lines(recipe) if words[0] == "make"} <= set(TARGETS)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_each_shell_block_of_a_recipe_is_read_by_a_shell(recipe: Path) -> None:
    for text in blocks(recipe, "sh"):
        subprocess.run(["sh", "-n"], input=text, text=True, check=True, timeout=10)


def test_each_command_in_troubleshooting_is_the_programs() -> None:
    """As it stands between backticks, its words up to an ellipsis."""
    known = {
        name.strip(): command
        for name, command in commands(typer.main.get_command(main.program))
    }
    text = (ROOT / "docs/TROUBLESHOOTING.md").read_text()
    told = re.findall(r"`tierbench ([^`]+)`", text)
    assert len(told) > 8
    for words in map(str.split, told):
        beginnings = [" ".join(words[:count]) for count in (1, 2, 3)]
        name = next(begin for begin in beginnings if begin in known)
        options = {option for each in known[name].params for option in each.opts}
        assert {word for word in words if word.startswith("--")} <= options, words
    every = {
        option
        for command in known.values()
        for each in command.params
        for option in each.opts
    }
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= every


@pytest.mark.parametrize(
    ("measured", "trend", "ended"), [(69, 0, 69), (0, 0, 0), (0, 1, 1), (0, 2, 2)]
)
def test_the_script_of_every_night_ends_with_the_code_that_it_says(
    tmp_path: Path, measured: int, trend: int, ended: int
) -> None:
    (text,) = (
        text for text in blocks(ROOT / "docs/recipes/nightly.md", "sh") if "#!" in text
    )
    stub = f'#!/bin/sh\necho "$*"\n[ "$1" = run ] && exit {measured}\nexit {trend}\n'
    (tmp_path / "tierbench").write_text(stub)
    (tmp_path / "tierbench").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh"],
        input=text,
        env={"PATH": path, "RESULTS": "/kept"},
        text=True,
        capture_output=True,
    )
    assert done.returncode == ended, done.stderr
    asked = [line.split()[0] for line in done.stdout.splitlines()]
    assert asked == (["run"] if measured else ["run", "history"])
    assert all(line.endswith("/kept") for line in done.stdout.splitlines())


def test_init_writes_the_recipes_profiles_but_for_what_only_the_owner_knows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the comment marks off its keys. The owner knows secrets, and where the masters are."""
    root = folder / "fresh"
    (root / "profiles").mkdir(parents=True)
    for shipped in ("catalog", "clusters"):
        (root / "profiles" / shipped).symlink_to(ROOT / "profiles" / shipped)
    app = replace(an_app(folder / "cache"), root=root)
    recipe = ROOT / "docs/recipes/yugabytedb-cluster.md"
    begun = [words for words in ours(recipe) if words[0] == "init"]
    assert len(begun) == 4
    monkeypatch.chdir(root)  # `init` writes where one is
    for words in begun:
        assert tierbench(app, *words) == EXIT_DONE
        written = (root / "profiles" / f"{words[1]}.yaml").read_text()
        uncommented = re.sub(r"^    # (?=[a-z_]+: )", "    ", written, flags=re.M)
        made = yaml.safe_load(uncommented)
        shown = yaml.safe_load((folder / "profiles" / f"{words[1]}.yaml").read_text())
        assert (made["tier"], made["question"]) == (shown["tier"], shown["question"])
        of_init, of_recipe = (each["cluster"].pop("existing") for each in (made, shown))
        assert made["cluster"] == shown["cluster"]
        known = set(of_recipe) - {"password_env", "tls_root"}
        if words[1].startswith("chart"):
            known.remove("masters")
        assert set(of_recipe) <= set(of_init)
        for key in known:
            assert spaced(of_init[key]) == spaced(of_recipe[key]), (words[1], key)


def spaced(value: Any) -> str:
    """A list as the text that it may be written as, with one space between its entries."""
    text = " ".join(value) if isinstance(value, list) else str(value)
    return " ".join(text.split())


def test_a_storage_class_is_printed_as_the_recipe_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = an_app(folder / "cache", shell=Still())
    (words,) = [
        each
        for each in ours(ROOT / "docs/recipes/storage-classes.md")
        if each[0] == "storage-class"
    ]
    assert tierbench(app, *words) == EXIT_DONE
    assert "skuName: UltraSSD_LRS" in capsys.readouterr().out


def test_the_job_does_what_was_looked_at_before_with_the_profiles_that_it_is_given() -> (
    None
):
    recipe = ROOT / "docs/recipes/in-cluster.md"
    manifests = yaml.safe_load_all(recipe.with_suffix(".yaml").read_text())
    (job,) = (each for each in manifests if each["kind"] == "Job")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    given = [word.replace("/profiles/", "") for word in container["args"]]
    (looked,) = (words[:-1] for words in ours(recipe) if words[-1] == "--dry-run")
    assert [part for word in given for part in word.split("=")] == looked
    brought = next(words for words in lines(recipe) if "configmap" in words)
    files = [
        brought[place + 1]
        for place, word in enumerate(brought)
        if word == "--from-file"
    ]
    assert files == looked[looked.index("--profiles") + 1].split()
    (fetch,) = (text for text in blocks(recipe, "yaml") if text.startswith("# fetch"))
    assert yaml.safe_load(fetch)["spec"]["containers"][0]["image"] == container["image"]
    assert container["image"].endswith(
        f"/tierbench/tierbench:{orchestrator.__version__}"
    )
    assert pod["serviceAccountName"] == "tierbench" and job["spec"]["backoffLimit"] == 0


@dataclass(frozen=True)
class Given(CampaignApp):
    """A program of which the plan is given; it writes no report, which takes seconds."""

    given: Plan = field(default_factory=a_plan)

    def plan(self, request: Request) -> Plan:
        return self.given

    def show(self, folder: Path, slo: str | None = None) -> Any:
        loaded = store.load(folder)
        return loaded, verdicts.judge(loaded)


def program_of(
    folder: Path, profile: str, runs: int, at_s: float = 0.0, iops: int = 5000
) -> CampaignApp:
    """A program whose campaigns are `runs` of `tpcc` on fake parts, on that day and disk."""
    log, clock = Log(), FakeClock()
    clock.sleep(at_s)
    app = an_app(folder / "cache", FakePlatform(log), clock=clock)
    plan = a_plan((profile,), ("tpcc",), repetitions=runs)
    (of_plan,) = plan.profiles
    of_plan = replace(of_plan, tier=changed(of_plan.tier, iops=iops))
    return with_parts(
        Given(**vars(app), given=replace(plan, profiles=(of_plan,))), fake_parts(log)
    )


def test_the_cluster_that_is_there_is_measured_before_and_after_its_disk_is_changed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = ROOT / "docs/recipes/existing-cluster.md"
    before, after = (
        program_of(folder, "ours", 2),
        program_of(folder, "ours", 2, 3600.0, 10_000),
    )
    said = [words for words in ours(recipe) if "--dry-run" not in words]
    programs = zip((before, before, after, after), said, strict=True)
    results = str(folder / "results")
    codes = [tierbench(app, *words, "--results", results) for app, words in programs]
    assert codes == [EXIT_DONE, EXIT_DONE, EXIT_DONE, EXIT_INCONCLUSIVE]
    assert "the disk of ours: tier's iops 5000 against 10000" in " ".join(
        capsys.readouterr().out.split()
    )


def test_nine_nights_alike_end_well_and_say_from_when_on_they_can_tell(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = str(folder / "results")
    measured, trend = (
        [
            word.replace("$results", results)
            for word in words[: (*words, "||").index("||")]
        ]
        for words in ours(ROOT / "docs/recipes/nightly.md")
    )
    for night in range(1, 10):
        app = program_of(folder, "ultra", 1, night * 86_400.0)
        assert tierbench(app, *measured) == EXIT_DONE
        assert tierbench(app, *trend) == EXIT_DONE
        assert ("8 are needed" in capsys.readouterr().out) == (night < 8)
