"""`--dry-run`: plan, time, space, cost and checks, with no engine, nothing asked or started."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.text import Text

from orchestrator.cli import main
from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import look_ahead_shown, plans
from orchestrator.databases import databases
from orchestrator.design.detailed_notes import detailed_note
from orchestrator.errors import EXIT_DONE, EXIT_UNAVAILABLE, EXIT_USAGE
from orchestrator.load_generators import load_generators
from orchestrator.model import Note
from orchestrator.parts import Parts
from orchestrator.platforms.dry import UnaskedPlatform
from orchestrator.run.data import datasets
from orchestrator.tiers import tier_mechanisms
from tests import ROOT
from tests.apps import an_app
from tests.campaigns import build_campaign
from tests.documented import existing_profiles
from tests.fakes import fake_world, this_machine_has

TIB = 2**40


class Still:
    """A shell in which nothing may be started."""

    run = None


@pytest.fixture(autouse=True)
def _alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("CACHE_OF_THE_TEST", str(tmp_path / "cache"))
    this_machine_has(monkeypatch, free_bytes=TIB, memory_bytes=TIB, cpus=8)


def tierbench(*words: str) -> int:
    cache = Path(os.environ["CACHE_OF_THE_TEST"])
    return main.exit_code(words, an_app(cache, shell=Still()))


def dry(*words: str) -> int:
    """Nothing is asked whether it answers: test_reaching.py is of that."""
    return tierbench(*words, "--dry-run", "--offline")


def compare(
    workloads: str = "tpcc insert", *more: str, profiles: str = "premium ultra"
) -> int:
    return dry("compare", "--profiles", profiles, "--workloads", workloads, *more)


def content(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


def test_order_time_space_and_cost_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert (
        compare("tpcc insert", "--set", "warehouses=100", "--repeats", "2") == EXIT_DONE
    )
    text = " ".join(capsys.readouterr().out.split())
    for said in (
        "8 runs, at least",
        "loading tpcc, once",
        "10.5 GB, 10 to 110 MB/s: default, measured on two cores, idle and busy",
        "round 1: tpcc:",
        "warehouses 100",
        "tpcc (warehouses 100) is loaded once",
        "for the disks of 3 nodes",
        "114.03 USD for 3 nodes",  # 3 x 38.01
        "list prices of premium (eastus, as of 2026-09-23; Microsoft, Azure Retail Prices API",
        "not verified: `tierbench prices update` asks the provider",
        "not checked --offline: no engine, machine or cluster was contacted",
        "Nothing was started.",
    ):
        assert said in text
    assert not (tmp_path / "cache").exists()


def test_what_differs_from_the_profiles_is_a_line_behind_the_plan(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, free_bytes=TIB, memory_bytes=TIB, cpus=2)
    compare("tpcc", "--repeats", "2")
    said = capsys.readouterr()
    assert "warning" not in said.err
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    notes = [line for line in lines if line.startswith("note ")]
    of_nodes = [line for line in notes if "instead of the profile's 3" in line]
    assert len(of_nodes) == 1
    assert of_nodes[0].startswith("note premium and ultra: 1 database node")
    assert lines.index(notes[0]) > lines.index("Tiers")


def test_a_note_is_shown_to_the_end_of_its_first_sentence_whatever_stops_are_in_it() -> (
    None
):
    """Errors and names that a note repeats have full stops of their own."""
    lead = "PostgreSQL stands in (yb. 2 ended. See its log)"
    note = detailed_note("fallback database", lead, "`tierbench doctor` tells more")
    whole = Note("other", "as told by a file of before. All of it")
    plan = replace(build_campaign(frames=False).plan, notes=(note, whole))
    assert [Text.from_markup(line).plain for line in look_ahead_shown.notes(plan)] == [
        f"note {lead}",
        "note as told by a file of before. All of it",
    ]
    assert note.text == f"{lead}. `tierbench doctor` tells more"


@pytest.mark.parametrize(
    ("repeats", "rounds", "more"), [(12, 12, ""), (13, 10, "… 3 more")]
)
def test_of_many_rounds_the_first_ones_are_shown(
    repeats: int, rounds: int, more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare("insert", "--repeats", str(repeats)) == EXIT_DONE
    text = capsys.readouterr().out
    assert text.count("  round ") == rounds
    assert more in text and ("… " in text) == bool(more)


def test_a_network_of_a_declared_rate_and_a_client_beside_are_shown_and_checked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    profile = yaml.safe_load((ROOT / "profiles/ultra.yaml").read_text())
    cluster = yaml.safe_load((ROOT / "profiles/clusters/azure-d8s-v5.yaml").read_text())
    own = {"network": "100Mbit", "client": "beside", "database": "postgresql"}
    file = tmp_path / "slow.yaml"
    file.write_text(yaml.safe_dump({**profile, "cluster": {**cluster, **own}}))
    assert compare("insert", "--output=json", profiles=f"{file} ultra") == EXIT_DONE
    found = content(capsys)
    assert (
        "slow: network" in found["passed"] and "ultra: network" not in found["passed"]
    )
    assert found["plan"]["profiles"][0]["cluster"]["network_bytes_per_s"] == 12_500_000
    assert compare("insert", profiles=f"{file} ultra") == EXIT_DONE
    text = " ".join(capsys.readouterr().out.split())
    assert "postgresql, client beside, network 100 Mbit/s" in text


def test_times_add_up_to_the_plans_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("tpcc insert", "--set", "measure=2min", "--output=json") == EXIT_DONE
    found = content(capsys)
    assert [cell["runs"] for cell in found["cells"]] == [10, 10]
    of_runs_s = sum(cell["run_s"] * cell["runs"] for cell in found["cells"])
    assert of_runs_s >= 20 * 120
    totals = [step["total"] for step in found["steps"]]
    assert totals[0]["least_s"] == pytest.approx(of_runs_s)
    assert sum(one["least_s"] for one in totals) == pytest.approx(
        found["plan"]["estimate_s"]
    )
    assert sum(one["most_s"] for one in totals) == pytest.approx(
        found["plan"]["most_s"]
    )
    assert found["plan"]["overrides"] == ["measure=2min"]


def test_the_time_for_trials_of_limits_is_shown_where_there_are_any(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert compare("insert", "--confirm", "--repeats", "2") == EXIT_DONE
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if line.startswith("insert "))
    assert "Trials" in text and row.split()[-11:] == [
        *("15", "s", "60", "s", "2", "min", "3.25", "min", "4", "13", "min")
    ]
    assert compare("insert", "--repeats", "2") == EXIT_DONE
    assert "Trials" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said", "share"),
    [
        (
            ["--latency-at", "70%"],
            "then as many runs again (8), at 70 % of the slowest",
            1.0,
        ),
        (
            ["--until", "decided", "--max-repeats", "6"],
            "open workload, at most 4 of each (16 runs)",
            2.0,
        ),
    ],
)
def test_what_may_follow_is_said_with_its_time(
    capsys: pytest.CaptureFixture[str], options: list[str], said: str, share: float
) -> None:
    assert (
        compare("tpcc insert", "--repeats", "2", *options, "--output=json") == EXIT_DONE
    )
    found = content(capsys)
    ((what, seconds),) = found["later"]
    assert said in what
    of_runs_s = sum(cell["run_s"] * cell["runs"] for cell in found["cells"])
    assert seconds == pytest.approx(of_runs_s * share)
    assert compare("tpcc insert", "--repeats", "2", "--output=json") == EXIT_DONE
    plain = content(capsys)
    more_s = found["plan"]["most_s"] - plain["plan"]["most_s"]
    assert plain["later"] == [] and more_s > of_runs_s * share


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
    assert (
        "--set measure=1500ms: sysbench counts whole seconds" in capsys.readouterr().err
    )
    assert compare("oltp_read_only", "--clients", "2") == EXIT_USAGE
    text = capsys.readouterr().out
    assert text.count("cannot be carried by 2 clients") == 1, (
        "it is said once for both tiers"
    )


def loaded(capsys: pytest.CaptureFixture[str]) -> tuple[int, int, int]:
    (load,) = content(capsys)["loads"]
    return load["times"], load["most_times"], load["kept"]


def test_a_kept_data_set_is_not_loaded_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = {"nodes": 1, "database": "postgresql"}
    asked = (
        "run",
        "-p",
        "ultra",
        "-w",
        "tpcc",
        "--nodes",
        "1",
        "--db",
        "postgresql",
        "--output=json",
    )
    request = Request(profiles=["ultra"], workloads=["tpcc"], **options)  # type: ignore[arg-type]
    plan = plans.make_plan(an_app(tmp_path), request)
    platform: Any = UnaskedPlatform()
    world = replace(fake_world(cache=tmp_path / "cache", platform=platform), root=ROOT)
    parts = Parts(databases(), load_generators(), tier_mechanisms(), ())
    name, there = datasets.whereabouts(
        plan.profiles[0], plan.workloads[0], 1, parts, world
    )
    assert name and not there
    assert dry(*asked) == EXIT_DONE
    assert loaded(capsys) == (1, 1, 0)
    folder = tmp_path / "cache" / "datasets" / name
    folder.mkdir(parents=True)
    (folder / "node-1.img").write_text("")
    (folder / "dataset.json").write_text('{"addresses": ["10.0.0.1"]}')
    assert dry(*asked) == EXIT_DONE
    assert loaded(capsys) == (0, 0, 1)


def test_what_needs_a_container_or_a_cluster_is_said_to_be_unchecked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    profile = tmp_path / "mine.yaml"
    text = (ROOT / "profiles/ultra.yaml").read_text()
    cluster = (
        "{nodes: 1, replication_factor: 1, node: {laptop: {cpus: 1, memory: 256MiB, "
    )
    cluster += "disk: 2GiB}}, settings: {work_mem: 8MB}}"
    profile.write_text(text.replace("cluster: azure-d8s-v5", f"cluster: {cluster}"))
    assert (
        dry("run", "-p", str(profile), "-w", "tpcc", "--db", "postgresql") == EXIT_DONE
    )
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "mine: database postgresql: what only a container that is started can tell"
        in text
    )


def test_a_cluster_that_others_run_is_not_connected_to(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, postgresql = existing_profiles()
    (tmp_path / "ca.crt").touch()
    postgresql = re.sub("tls_root: .*", f"tls_root: {tmp_path}/ca.crt", postgresql)
    text = "".join(
        line for line in postgresql.splitlines(True) if "password_env" not in line
    )
    hosts = "hosts: postgresql://bench:mine@10.0.0.21"
    (tmp_path / "theirs.yaml").write_text(re.sub(r"hosts: \S+", hosts, text))
    assert dry("run", "-p", str(tmp_path / "theirs.yaml"), "-w", "insert") == EXIT_DONE
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "theirs: database existing: a preview does not connect to the cluster" in text
    )
    assert "is loaded once" in text and "not known" in text
    assert (
        dry("run", "-p", str(tmp_path / "theirs.yaml"), "-w", "insert", "--output=json")
        == EXIT_DONE
    )
    said = capsys.readouterr().out
    assert "bench:***@10.0.0.21" in said and "mine@" not in said


def test_disks_of_a_cluster_that_others_run_are_not_called_rented(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Others pay for them, with this campaign and without."""
    _, postgresql = existing_profiles()
    text = postgresql.replace("enforcement:", "type: azure/P15, enforcement:")
    text = re.sub("    password_env: .*\n", "", text)
    text = re.sub("tls_root: .*", f"tls_root: {tmp_path}/ca.crt", text)
    (tmp_path / "ca.crt").touch()
    (tmp_path / "theirs.yaml").write_text(text)
    assert dry("run", "-p", str(tmp_path / "theirs.yaml"), "-w", "insert") == EXIT_DONE
    said = " ".join(capsys.readouterr().out.split())
    assert "In use For at most At list price 1 × disk of theirs" in said
    assert "Rented" not in said


def test_a_problem_that_two_checks_find_is_said_once(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether a cluster answers and what is checked before a run both need its password."""
    _, postgresql = existing_profiles()
    (tmp_path / "ca.crt").touch()
    text = re.sub("tls_root: .*", f"tls_root: {tmp_path}/ca.crt", postgresql)
    (variable,) = re.findall(r"password_env: (\w+)", text)
    monkeypatch.delenv(variable, raising=False)
    (tmp_path / "theirs.yaml").write_text(text)
    words = ("run", "-p", str(tmp_path / "theirs.yaml"), "-w", "insert", "--dry-run")
    assert tierbench(*words) == EXIT_UNAVAILABLE
    said = capsys.readouterr().out
    assert said.count(f"the environment variable {variable} is not set") == 1


def test_a_disk_that_is_not_mounted_is_a_problem_beside_all_that_is_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = (ROOT / "profiles/ultra.yaml").read_text()
    real = f"{{enforcement: mounted, path: {tmp_path}/absent}}"
    (tmp_path / "real.yaml").write_text(
        re.sub(r"^tier: .*$", f"tier: {real}", text, flags=re.M)
    )
    profiles = f"{tmp_path}/real.yaml ultra"
    assert compare("tpcc", "--db", "postgresql", profiles=profiles) == EXIT_USAGE
    said = " ".join(capsys.readouterr().out.split())
    assert "absent is not a directory" in said
    assert "ultra for the disks of 3 nodes" in said and "Nothing was started." in said


P15_VOLUMES = """
question: Are volumes of this class enough?
tier: {type: azure/P15, enforcement: storage-class}
cluster:
  vm: azure/Standard_D8s_v5
  nodes: 3
  replication_factor: 3
  node: {laptop: {cpus: 1, memory: 384MiB, disk: 6GiB}}
"""
VM_PRICE = """
  vm_price: {monthly: 73, currency: USD, region: eastus, as_of: 2026-09, source: a list}
"""


def test_what_the_campaign_itself_rents_is_shown_and_limited(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    profile = tmp_path / "p15.yaml"
    profile.write_text(P15_VOLUMES.rstrip() + VM_PRICE)
    words: tuple[str, ...] = ("run", "--profile", str(profile), "--workload", "insert")
    assert dry(*words) == EXIT_USAGE, "Docker has no StorageClass"
    words = (*words, "--db", "postgresql", "--nodes", "3", "--platform", "kubernetes")
    assert dry(*words, "--max-cost", "2 USD") == EXIT_DONE
    text = " ".join(capsys.readouterr().out.split())
    assert "6 × disk of p15" in text and "--max-cost refuses what is more" in text
    assert (
        "p15: tier storage-class: what only a container that is started can tell"
        in text
    )
    assert dry(*words, "--output=json") == EXIT_DONE
    assert 0 < content(capsys)["campaign_cost"]["USD"] < 2
    for limit, problem in (("0.01 USD", "more than 0.01"), ("9 EUR", "prices in USD")):
        assert dry(*words, "--max-cost", limit) == EXIT_USAGE
        text = " ".join(capsys.readouterr().out.split())
        assert "6 × disk of p15" in text, "what makes the cost is shown"
        assert problem in text and "Nothing was started." in text
    code = tierbench(*words, "--max-cost", "0.01 USD")
    assert code == EXIT_USAGE and "would cost" in capsys.readouterr().err


def test_a_machine_of_the_catalog_has_its_price(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "p15.yaml").write_text(P15_VOLUMES)
    words = [
        "run",
        "-p",
        str(tmp_path / "p15.yaml"),
        "-w",
        "insert",
        "--db",
        "postgresql",
    ]
    words += ["--nodes", "3", "--platform", "kubernetes", "--output=json"]
    assert dry(*words, "--max-cost", "5 USD") == EXIT_DONE
    things = {one["what"]: one["price"] for one in content(capsys)["rented"]}
    assert things["azure/Standard_D8s_v5"]["monthly"] == 280.32


def test_tiers_on_unlike_machines_are_shown_with_what_both_cost(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As the answer will count them: 38.01 and 280.32 for a node, or 38.01 and 560.64, for the
    three nodes of the profile, of which one is measured."""
    text = P15_VOLUMES.replace("enforcement: storage-class", "enforcement: emulated")
    text = text.replace("platform: kubernetes", "")
    for size in ("Standard_D8s_v5", "Standard_D16s_v5"):
        own = text.replace("Standard_D8s_v5", size).replace(
            "title: ", f"title: {size} "
        )
        (tmp_path / f"{size[9:]}.yaml").write_text(own)
    files = [str(tmp_path / f"{name}.yaml") for name in ("D8s_v5", "D16s_v5")]
    words = (
        "compare",
        "--profiles",
        " ".join(files),
        "--workloads",
        "insert",
        "--nodes",
        "1",
    )
    assert dry(*words) == EXIT_DONE
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"on azure/Standard_D8s_v5 \S+ 3 954.99 USD for 3 nodes", said)
    assert "(1 is measured)" in said
    assert re.search(r"on azure/Standard_D16s_v5 \S+ 3 1,795.95 USD for 3 nodes", said)
    assert "what buying the disks and machines would cost" in said
    assert compare("insert") == EXIT_DONE
    said = " ".join(capsys.readouterr().out.split())
    assert "what buying the disks would cost" in said and "on azure/" not in said


def test_a_machine_without_a_price_is_shown_and_refused_under_a_limit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The catalog has prices of one region."""
    elsewhere = {
        "currency": "USD",
        "region": "westus",
        "as_of": "2026-09",
        "source": "a list",
    }
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        json.dumps({**elsewhere, "prices": {"azure/P15": {"per_disk": 38}}})
    )
    (tmp_path / "p15.yaml").write_text(P15_VOLUMES)
    words = [
        "run",
        "-p",
        str(tmp_path / "p15.yaml"),
        "-w",
        "insert",
        "--db",
        "postgresql",
    ]
    words += ["--nodes", "3", "--platform", "kubernetes", "--prices", str(prices)]
    assert dry(*words) == EXIT_DONE
    assert re.search(r"3 × azure/Standard_D8s_v5 .* not known", capsys.readouterr().out)
    assert dry(*words, "--max-cost", "900 USD") == EXIT_USAGE
    assert "no price is known for 3 × azure/Standard_D8s_v5" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize("database", ["postgresql", "yugabytedb"])
@pytest.mark.parametrize(
    ("nodes", "clients", "load"),
    [(100, 28, "point-select"), (100, 5, "tpcc"), (5, 1, "tpcc")],
)
def test_as_many_nodes_and_clients_as_the_document_on_scale_reckons_with(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    database: str,
    nodes: int,
    clients: int,
    load: str,
) -> None:
    this_machine_has(
        monkeypatch, free_bytes=100 * TIB, memory_bytes=100 * TIB, cpus=800
    )
    size = ("--nodes", str(nodes), "--clients", str(clients), "--set", "threads=400")
    assert (
        compare(load, "--db", database, *size, "--scale", "study", "--output=json")
        == EXIT_DONE
    )
    plan = content(capsys)["plan"]
    shape = {
        "nodes": nodes,
        "replication_factor": 3,
        "clients": clients,
        "database": database,
    }
    assert all(one["cluster"].items() >= shape.items() for one in plan["profiles"])
