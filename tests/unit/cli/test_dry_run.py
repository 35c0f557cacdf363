"""`--dry-run`: plan, time, space, cost and checks, with no engine and nothing started."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import main, outside, plans
from orchestrator.cli.options import Request
from orchestrator.databases import databases
from orchestrator.databases.existing import declaration
from orchestrator.errors import EXIT_DONE, EXIT_UNAVAILABLE, EXIT_USAGE, UnavailableError
from orchestrator.load_generators import load_generators
from orchestrator.parts import Parts
from orchestrator.platforms.unasked import UnaskedPlatform
from orchestrator.run import datasets
from orchestrator.system.shell import SystemShell
from orchestrator.tiers import tier_mechanisms
from tests import ROOT
from tests.documented import existing_profiles
from tests.fakes import fake_world, this_machine_has

TIB = 2**40


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_engine(*_: object) -> None:
        raise UnavailableError("no engine answers")

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(outside, "platform", no_engine)
    monkeypatch.setattr(main, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(SystemShell, "run", None)
    monkeypatch.setattr(SystemShell, "spawn", None)
    this_machine_has(monkeypatch, free_bytes=TIB, memory_bytes=TIB, cpus=8)


def dry(*words: str) -> int:
    return main._guarded(lambda: main.app([*words, "--dry-run"], standalone_mode=False))


def compare(workloads: str = "tpcc insert", *more: str, profiles: str = "premium ultra") -> int:
    return dry("compare", "--profiles", profiles, "--workloads", workloads, *more)


def content(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


def test_order_time_space_and_cost_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert compare("tpcc insert", "--set", "warehouses=100", "--repeats", "2") == EXIT_DONE
    text = " ".join(capsys.readouterr().out.split())
    for said in (
        "8 runs, about",
        "round 1: tpcc:",
        "warehouses 100",
        "tpcc (warehouses 100) is loaded once",
        "for the disks of 3 nodes",
        "114.03 USD (eastus, 2026-09-20)",  # 3 x 38.01
        "not checked Docker engine",
        "Nothing was started.",
    ):
        assert said in text
    assert not (tmp_path / "cache").exists()


def test_times_add_up_to_the_plans_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("tpcc insert", "--set", "measure=2min", "--json") == EXIT_DONE
    found = content(capsys)
    assert [cell["runs"] for cell in found["cells"]] == [10, 10]
    of_runs_s = sum(cell["run_s"] * cell["runs"] for cell in found["cells"])
    assert of_runs_s > 20 * (15 + 120)
    assert of_runs_s + found["beside_s"] == pytest.approx(found["plan"]["estimate_s"])
    assert found["plan"]["overrides"] == ["measure=2min"]


@pytest.mark.parametrize(
    ("options", "said", "share"),
    [
        (["--latency-at", "70%"], "then as many runs again (8), at 70 % of the slowest", 1.0),
        (
            ["--until", "decided", "--max-repeats", "6"],
            "whose decision is open, at most 4 of each (16 runs)",
            2.0,
        ),
    ],
)
def test_what_may_follow_is_said_with_its_time(
    capsys: pytest.CaptureFixture[str], options: list[str], said: str, share: float
) -> None:
    assert compare("tpcc insert", "--repeats", "2", *options, "--json") == EXIT_DONE
    found = content(capsys)
    ((what, seconds),) = found["later"]
    assert said in what
    of_runs_s = sum(cell["run_s"] * cell["runs"] for cell in found["cells"])
    assert seconds == pytest.approx(of_runs_s * share)
    assert compare("tpcc insert", "--repeats", "2", "--json") == EXIT_DONE
    plain = content(capsys)
    assert plain["later"] == [] and found["beside_s"] == pytest.approx(plain["beside_s"])


def test_what_is_not_there_is_all_said_with_exit_code_69(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, free_bytes=2**30, memory_bytes=2**20, cpus=8)
    assert compare(profiles="premium ultra") == EXIT_UNAVAILABLE
    text = " ".join(capsys.readouterr().out.split())
    assert "problem premium needs 36 GiB for the disks of 3 nodes" in text
    assert "1 MiB" in text


def test_a_mistake_is_exit_code_64(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("tpcc", "--set", "threads=none") == EXIT_USAGE
    assert "--set threads=none" in capsys.readouterr().err
    assert compare("oltp_read_only", "--set", "measure=1500ms") == EXIT_USAGE
    text = capsys.readouterr().out
    assert text.count("sysbench counts whole seconds") == 1, "it is said once for both tiers"


def test_a_kept_data_set_is_not_loaded_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = {"nodes": 1, "database": "postgresql"}
    asked = ("run", "-p", "ultra", "-w", "tpcc", "--nodes", "1", "--db", "postgresql", "--json")
    request = Request(profiles=["ultra"], workloads=["tpcc"], **options)  # type: ignore[arg-type]
    plan = plans.make_plan(request, ROOT, tmp_path)
    platform: Any = UnaskedPlatform()
    world = replace(fake_world(cache=tmp_path / "cache", platform=platform), root=ROOT)
    parts = Parts(databases(), load_generators(), tier_mechanisms(), ())
    name, there = datasets.whereabouts(plan.profiles[0], plan.workloads[0], 1, parts, world)
    assert name and not there
    assert dry(*asked) == EXIT_DONE
    assert content(capsys)["loads"][0] | {"dataset": 0} == {"dataset": 0, "times": 1, "kept": 0}
    folder = tmp_path / "cache" / "datasets" / name
    folder.mkdir(parents=True)
    (folder / "node-1.img").write_text("")
    (folder / "dataset.json").write_text('{"addresses": ["10.0.0.1"]}')
    assert dry(*asked) == EXIT_DONE
    assert content(capsys)["loads"][0] | {"dataset": 0} == {"dataset": 0, "times": 0, "kept": 1}


def test_what_needs_a_container_or_a_cluster_is_said_to_be_unchecked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    profile = tmp_path / "mine.yaml"
    text = (ROOT / "profiles/ultra.yaml").read_text()
    cluster = "{nodes: 1, replication_factor: 1, node: {laptop: {cpus: 1, memory: 256MiB, "
    cluster += "disk: 2GiB}}, settings: {work_mem: 8MB}}"
    profile.write_text(text.replace("cluster: azure-d8s-v5", f"cluster: {cluster}"))
    assert dry("run", "-p", str(profile), "-w", "tpcc", "--db", "postgresql") == EXIT_DONE
    text = " ".join(capsys.readouterr().out.split())
    assert "mine: database postgresql: what only a container that is started can tell" in text


def test_a_cluster_that_others_run_is_not_connected_to(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, postgresql = existing_profiles()
    text = "".join(line for line in postgresql.splitlines(True) if "password_env" not in line)
    hosts = "hosts: postgresql://bench:mine@10.0.0.21"
    (tmp_path / "theirs.yaml").write_text(re.sub(r"hosts: \S+", hosts, text))
    monkeypatch.setattr(declaration, "unreadable", lambda _: ())
    assert dry("run", "-p", str(tmp_path / "theirs.yaml"), "-w", "insert") == EXIT_DONE
    text = " ".join(capsys.readouterr().out.split())
    assert "theirs: database existing: the cluster is not connected to" in text
    assert "is loaded once" in text and "not known" in text
    assert dry("run", "-p", str(tmp_path / "theirs.yaml"), "-w", "insert", "--json") == EXIT_DONE
    said = capsys.readouterr().out
    assert "bench:***@10.0.0.21" in said and "mine@" not in said


def test_a_disk_that_is_not_mounted_is_a_problem_beside_all_that_is_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = (ROOT / "profiles/ultra.yaml").read_text()
    real = f"{{enforcement: mounted, path: {tmp_path}/absent}}"
    (tmp_path / "real.yaml").write_text(re.sub(r"^tier: .*$", f"tier: {real}", text, flags=re.M))
    assert compare("tpcc", profiles=f"{tmp_path}/real.yaml ultra") == EXIT_USAGE
    said = " ".join(capsys.readouterr().out.split())
    assert "absent is not a directory" in said
    assert "ultra for the disks of 3 nodes" in said and "Nothing was started." in said


P15_VOLUMES = """
question: Are volumes of this class enough?
tier: {type: azure/P15, enforcement: storage-class}
cluster: azure-d8s-v5
"""


def test_what_the_campaign_itself_rents_is_shown_and_limited(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    profile = tmp_path / "p15.yaml"
    profile.write_text(P15_VOLUMES)
    words: tuple[str, ...] = ("run", "--profile", str(profile), "--workload", "insert")
    assert dry(*words) == EXIT_USAGE, "Docker has no StorageClass"
    words = (*words, "--nodes", "3", "--platform", "kubernetes")
    assert dry(*words, "--max-cost", "1 USD") == EXIT_DONE
    text = " ".join(capsys.readouterr().out.split())
    assert "6 × disk of p15" in text and "--max-cost refuses what is more" in text
    assert "p15: tier storage-class: what only a container that is started can tell" in text
    assert dry(*words, "--json") == EXIT_DONE
    assert 0 < content(capsys)["campaign_cost"]["USD"] < 1
    assert dry(*words, "--max-cost", "0.01 USD") == EXIT_USAGE
    assert dry(*words, "--max-cost", "9 EUR") == EXIT_USAGE
