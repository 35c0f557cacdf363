"""Keys of a profile, values of --set and options of other commands that cannot have an effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from orchestrator.cli import main
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_USAGE, UsageError
from orchestrator.load_generators.binding import keys
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.asked import Planning, commands, options
from tests.option_kinds import OURS, THEIRS, asked, planned, problems, told

# ------------------------------------------------------------------ keys of a profile

pytestmark = pytest.mark.usefixtures("profile_files")
KEYS = {
    "cluster.port": "port: 5433",
    "cluster.node_of": "node_of: {yugabytedb: {smoke: {cpus: 1, memory: 1GiB, disk: 8GiB}}}",
    "cluster.settings_of": "settings_of: {yugabytedb: {smoke: {tls: 'on'}}}",
    "cluster.version_of": "version_of: {yugabytedb: 2025.2.6.0}",
}
OF_DATABASES = ("cluster.node_of", "cluster.settings_of", "cluster.version_of")


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_nodes_that_are_started_are_refused_of_a_cluster_of_others(
    key: str,
) -> None:
    theirs = THEIRS.replace("{database", f"{{{KEYS[key]}, database", 1)
    text = Path("existing.yaml").read_text().replace(THEIRS, theirs)
    Path("existing.yaml").write_text(text)
    with pytest.raises(UsageError) as refused:
        planned(asked("existing", {}))
    (mistake,) = refused.value.mistakes
    assert (
        f"`{key.partition('.')[2]}`" in mistake.what
        and "existing.yaml" in mistake.where
    )


@pytest.mark.parametrize("key", OF_DATABASES)
def test_settings_of_an_unknown_database_are_refused(key: str) -> None:
    theirs = OURS.replace("{", f"{{{KEYS[key].replace('yugabytedb', 'yugabytdb')}, ", 1)
    Path("ours.yaml").write_text(f"question: q\ntier: azure/P15\ncluster: {theirs}\n")
    with pytest.raises(UsageError, match="names yugabytdb"):
        planned(asked("emulated on Docker", {"profiles": ("ours.yaml",)}))


def test_the_section_kubernetes_is_not_ignored_on_docker() -> None:
    """Where Docker is asked for by name, the same profile is meant for both."""
    section = "kubernetes: {node_selector: {pool: bench}}\n"
    cluster = f"question: q\ntier: azure/P15\ncluster: {OURS}\n{section}"
    Path("pool.yaml").write_text(cluster)
    with pytest.raises(UsageError, match="pool has `kubernetes`, and no platform"):
        planned(asked("emulated on Docker", {"profiles": ("pool.yaml",)}))
    for platform in ("docker", "kubernetes"):
        given = {"profiles": ("pool.yaml",), "platform": platform}
        assert planned(asked("emulated on Docker", given)).platform == platform


# ------------------------------------------------------------------ values of --set

LOADS = {
    **{one.stem: one for one in sorted((ROOT / "workloads").glob("*.yaml"))},
    "BenchBase": ROOT / "workloads" / "tpcc.yaml",
}


def settable() -> dict[str, list[str]]:
    """The keys that the load generator of each shipped workload takes."""
    taken: dict[str, list[str]] = {}
    for name, file in LOADS.items():
        content = yaml.load(file.read_text(), yaml.CSafeLoader)
        groups = keys(content["generator"], content["script"])
        found = [*groups["options"], *groups["dataset"]]
        if found:
            taken[name] = found
    return taken


SETTABLE = settable()


@pytest.mark.parametrize("load", SETTABLE)
def test_a_value_of_another_kind_is_refused(load: str) -> None:
    """And named as it was given, or by its place where that is found when the campaign begins."""
    generator = "benchbase" if load == "BenchBase" else None
    given = {"workloads": (LOADS[load].stem,), "generator": generator, "nodes": 1}
    for key in SETTABLE[load]:
        request = asked(
            "emulated on Docker", {**given, "overrides": (f"{key}=nonsense",)}
        )
        try:
            said = problems(request)
        except UsageError as refused:
            said = [told(refused)]
            assert f"--set {key}=nonsense" in said[0]
        assert [text for text in said if key in text], key


@pytest.mark.parametrize(
    "key", ["options.foo=1", "dataset.foo=1", "threads=2", "loader_threads=2"]
)
def test_what_fio_does_not_read_cannot_be_set(key: str) -> None:
    try:
        (said,) = problems(asked("disk-matrix", {"overrides": (key,)}))
    except UsageError as refused:
        said = told(refused)
    assert key.partition("=")[0] in said


# ------------------------------------------------------------------ other commands

# Command → its options, each with words of a call in which it cannot have an effect. Without words:
# it has one in every call, which the command's own tests show.
JSON = {"--output": ""}
OTHER_COMMANDS: dict[str, dict[str, str]] = {
    "analyze": {
        "--slo": "",
        "--disk-metrics": "",
        "--disk": "",
        "--output": "",
        "--results": "",
    },
    "predict": dict.fromkeys(("--tier", "--size", "--output", "--results"), ""),
    "advise": dict.fromkeys(
        (
            *("--slo", "--observed", "--tier", "--size", "--enforcement"),
            *("--output", "--results"),
        ),
        "",
    ),
    "report": {"--results": ""} | JSON,
    "calibrate": {
        "--profile": "",
        "--scale": "",
        "--quick": "",
        "--drain": "--profile premium --drain",
        **JSON,
    },
    "setup": {"--platform": "", "--profile": "", "--db": ""},
    "doctor": {
        "--db": "",
        "--version": "--version 2025.2.2.2",
        "--platform": "",
        "--profile": "",
        "--bundle": "--bundle bundle.txt",
        **JSON,
    },
    "admin yugabyte-image": {},
    "list": JSON,
    "validate": JSON,
    "check": dict.fromkeys(
        ("--host", "--port", "--user", "--database", "--fresh", "--output"), ""
    ),
    "resume": dict.fromkeys(
        (
            *(
                "--despite",
                "--fail-if-worse",
                "--accept-inconclusive",
                "--results",
                "--output",
            ),
            *("--max-cost", "--cache-max", "--on-end"),
        ),
        "",
    ),
    "rehearse": dict.fromkeys(
        (
            "--profiles",
            "--workloads",
            "--scale",
            "--repeats",
            "--seed",
            "--slo",
            "--question",
            "--results",
            "--output",
        ),
        "",
    ),
    "observe": dict.fromkeys(
        (
            *("--file", "--prometheus", "--match", "--exporter", "--profile", "--last"),
            *(
                "--device",
                "--striped",
                "--source",
                "--vm",
                "--size",
                "--region",
                "--at-cap",
            ),
            *("--results", "--output"),
        ),
        "",
    )
    | {"--calibrate": "--file disk.csv --size 9GiB --calibrate 24x5m"},
    "init": {
        "--tier": "--workload tpcc --tier azure/P15",
        "--path": "--workload tpcc --path /mnt/a",
        "--storage-class": "--workload tpcc --storage-class gp3",
        "--existing": "--workload tpcc --existing db.example",
        "--machines": "--workload tpcc --machines ssh://vm1",
        "--client-machine": "--workload tpcc --client-machine ssh://vm1",
        "--cluster": "mine --existing db.example --cluster azure-d8s-v5",
        "--vm": "mine --existing db.example --vm azure/Standard_D16s_v5",
        "--workload": "",
        "--campaign": "",
    },
    "admin schema": {},
    "allow": {},
    "export": dict.fromkeys(("--format", "--file", "--slo", "--results"), ""),
    "status": {"--follow": "--follow", "--results": "", **JSON},
    "verify": {"--keep": "", "--results": "", **JSON},
    "history": {
        **dict.fromkeys(("--profile", "--workload", "--database", "--since"), ""),
        "--trend": "--trend",
        "--fail-if-worse": "--fail-if-worse",
        "--across-machines": "--across-machines",
        "--results": "",
        "--output": "",
    },
    "compare-results": {
        **dict.fromkeys(
            ("--margin", "--p99-margin", "--fail-if-worse", "--accept-inconclusive"), ""
        ),
        **dict.fromkeys(
            ("--across-machines", "--across-tiers", "--results", "--output"), ""
        ),
    },
    "admin helm-values": dict.fromkeys(("--scale", "--nodes", "--storage-class"), ""),
    "storage-class": {"--scale": ""},
    "clean": dict.fromkeys(
        ("--platform", "--profile", "--owner", "--yes", "--dry-run"), ""
    ),
    "disk up": dict.fromkeys(("--at", "--size", "--name", "--data", "--gate"), ""),
    "disk down": {
        "--all": "mine --all",
        "--keep-data": "",
        "--yes": "",
        "--dry-run": "",
    },
    "disk record": dict.fromkeys(
        ("--out", "--burst-minutes", "--quick", "--allow-root-disk"), ""
    ),
    "disk list": JSON,
    "disk set": {},
    "tiers list": {
        "--provider": "",
        "--min-iops": "",
        "--min-throughput": "--vms --min-throughput 1MB/s",
        "--max-latency": "--vms --max-latency 1ms",
        "--burst": "--vms --burst",
        "--vms": "",
        **JSON,
    },
    "tiers set": dict.fromkeys(("--node", "--results"), ""),
    "prices update": dict.fromkeys(
        ("--provider", "--region", "--currency", "--file"), ""
    ),
    **{f"admin baseline {name}": {"--results": ""} for name in ("set", "remove")},
    "admin baseline list": {"--results": "", **JSON},
}
REHEARSED = (
    "--profiles ultra",
    "--workloads tpcc",
    "--scale laptop",
    "--repeats 4",
    "--seed 7",
    "--slo p99<50ms",
    "--question Which?",
)
WITHOUT_EFFECT = [
    (command, option, words)
    for command, options in OTHER_COMMANDS.items()
    for option, words in options.items()
    if words
]


def test_every_option_of_every_command_has_its_place_here() -> None:
    found = {
        name: options(command)
        for name, command in commands(typer.main.get_command(main.program))
    }
    del found["compare"], found["run"]  # their options are those of test_effects.py
    assert found == {name: set(options) for name, options in OTHER_COMMANDS.items()}


@pytest.mark.parametrize("words", REHEARSED)
def test_each_option_of_a_rehearsal_reaches_its_plan(
    words: str, tmp_path: Path
) -> None:
    app = Planning(**vars(an_app(tmp_path)))
    for given in ([], words.split()):
        assert tierbench(app, "rehearse", *given) == EXIT_DONE
    without, with_it = app.asked
    assert without.plan != with_it.plan
    options = {one.partition(" ")[0] for one in (*REHEARSED, "--results", "--output")}
    assert options == set(
        OTHER_COMMANDS["rehearse"]
    )  # test_rehearsal.py shows that of --results


@pytest.mark.parametrize(("command", "option", "words"), WITHOUT_EFFECT)
def test_an_option_that_cannot_have_an_effect_is_refused(
    command: str, option: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert tierbench(CampaignApp(), *command.split(), *words.split()) == EXIT_USAGE
    assert option in capsys.readouterr().err
