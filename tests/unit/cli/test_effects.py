"""Each option in each kind of campaign: it takes effect, is refused, or a note says it has none.

Method: the table says which. Each cell is a campaign planned twice, with the option and without.
TAKES: the plan differs in the place that the option is for, and no note says otherwise. REFUSED: an
error names the option or its value. NOTED: the plan stays, and a note says that the option has no
effect. Options of other commands are at the end: those that need another one, or exclude it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from orchestrator.cli import main, plans
from orchestrator.cli.app import App
from orchestrator.cli.options import Compared, Request
from orchestrator.errors import EXIT_DONE, EXIT_USAGE, TierbenchError, UsageError
from orchestrator.load_generators import keys
from orchestrator.model import Plan
from orchestrator.planning import costs, durations
from orchestrator.planning.plan import as_used
from orchestrator.run import forecast
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.asked import PRICES, Planning, commands
from tests.fakes import this_machine_has

TAKES, REFUSED, NOTED, MAKES = "takes effect", "refused", "noted", "makes this kind"
LETTERS = {"T": TAKES, "R": REFUSED, "N": NOTED, "-": MAKES}
# A profile's own files are those of `_files`; `machines` stands for all engines elsewhere.
KINDS: dict[str, dict[str, Any]] = {
    "emulated on Docker": {"profiles": ("premium", "ultra")},
    "emulated on Kubernetes": {"profiles": ("premium", "ultra"), "platform": "kubernetes"},
    "StorageClass": {
        "profiles": ("premium", "ultra"),
        "platform": "kubernetes",
        "enforcement": "storage-class",
    },
    "mounted": {"profiles": ("mounted.yaml", "mounted-2.yaml")},
    "machines": {"profiles": ("machines.yaml", "machines-2.yaml")},
    "existing": {"profiles": ("existing.yaml", "existing-2.yaml")},
    "BenchBase": {"profiles": ("premium", "ultra"), "generator": "benchbase"},
    "sysbench-stock": {"profiles": ("premium", "ultra"), "workloads": ("oltp_read_write",)},
    "disk-matrix": {"profiles": ("premium", "ultra"), "workloads": ("disk-matrix",)},
}
# In the order of KINDS.
TABLE = {
    "database": "TTTTTRTTN",
    "platform": "TTRTRTTTT",
    "enforcement": "RTTRRRRRR",
    "scale": "TTTTTTTTT",
    "nodes": "TTTTTRTTN",
    "clients": "TTTTTTTRN",
    "repetitions": "TTTTTTTTT",
    "seed": "TTTTTTTTT",
    "generator": "TTTTTT-RR",
    "slo": "TTTTTTTTR",
    "price_list": "TTTTTNTTT",
    "max_cost": "NNTTTNNNN",
    "latency_at": "TTTTTTRRR",
    "sweep": "TTTTTTTTR",
    "gate_every": "RRTTTRRRR",
    "drain": "RRRTTRRRR",
    "warmup": "TTTTTTRRR",
    "windows": "TTTTTRTTN",
    "overrides": "TTTTTTTTR",
    "dry_run": "TTTTTTTTT",
    "margin_pct": "TTTTTTTTT",
    "p99_margin_pct": "TTTTTTTTT",
    "baseline": "TTTTTTTTT",
    "until": "TTTTTTTTT",
    "most_repetitions": "TTTTTTTTT",
    "aa": "TTTTTTTTT",
}
GIVEN: dict[str, Any] = {
    "database": "yugabytedb",
    "platform": "kubernetes",
    "enforcement": "storage-class",
    "scale": "laptop",
    "nodes": 2,
    "clients": 2,
    "repetitions": 5,
    "seed": 7,
    "generator": "benchbase",
    "slo": "average < 50 ms",
    "price_list": Path("prices.yaml"),
    "max_cost": "0.0001 USD",
    "latency_at": "70%",
    "sweep": "threads=1,4",
    "gate_every": 3,
    "drain": True,
    "warmup": "steady",
    "windows": "checkpoints",
    "overrides": ("threads=3",),
    "dry_run": True,
    "margin_pct": 7.5,
    "p99_margin_pct": 12.5,
    "baseline": "second",
    "until": "decided",
    "most_repetitions": 7,
    "aa": True,
}
# Where GIVEN would be what is so already.
OTHERS = {
    ("platform", "emulated on Kubernetes"): "docker",
    ("platform", "StorageClass"): "docker",
    ("enforcement", "StorageClass"): "emulated",
}
BESIDE = {"most_repetitions": {"until": "decided"}}
Place = Callable[[Plan], object]
# Option → where the plan must be another one; what is not here is told apart in `_seen`.
PLACES: dict[str, Place] = {
    "database": lambda plan: [one.cluster.database for one in used(plan)],
    "platform": lambda plan: plan.platform,
    "enforcement": lambda plan: [one.tier.disk.kind for one in used(plan)],
    "scale": lambda plan: [one.scale for one in plan.workloads],
    "nodes": lambda plan: [one.cluster.nodes for one in used(plan)],
    "clients": lambda plan: [one.cluster.clients for one in used(plan)],
    "repetitions": lambda plan: len(plan.runs),
    "seed": lambda plan: [one.profile for one in plan.runs],
    "generator": lambda plan: [one.generator for one in plan.workloads],
    "slo": lambda plan: [one.slo for one in plan.workloads],
    "price_list": lambda plan: [one.tier.price for one in used(plan)],
    "latency_at": lambda plan: plan.latency_at_pct,
    "sweep": lambda plan: [one.threads for one in plan.workloads],
    "gate_every": lambda plan: plan.gate_every,
    "drain": lambda plan: plan.most_s,
    "warmup": lambda plan: [one.warmup_most_s for one in plan.workloads],
    "windows": lambda plan: [one.measure_s for one in plan.workloads],
    "overrides": lambda plan: [one.threads for one in plan.workloads],
    "margin_pct": lambda plan: plan.margin_pct,
    "p99_margin_pct": lambda plan: plan.p99_margin_pct,
    "baseline": lambda plan: plan.baseline,
    "until": lambda plan: plan.looks,
    "most_repetitions": lambda plan: plan.looks,
    "aa": lambda plan: plan.twin,
}
OURS = "{nodes: 3, replication_factor: 3, node: {smoke: &one {cpus: 1, memory: 2GiB, disk: 8GiB}, "
OURS += "laptop: *one}}"
THEIRS = "{database: existing, replication_factor: 1, existing: {hosts: db.example, user: bench, "
THEIRS += "password_env: BENCH_PASSWORD}}"
FILES = {
    "mounted": ('{type: azure/P15, enforcement: mounted, disks: "/mnt/a-{node}"}', OURS),
    "machines": ("{type: azure/P15, enforcement: mounted, path: /mnt/a}", OURS),
    "existing": ("{enforcement: existing}", THEIRS),
}


def used(plan: Plan) -> list[Any]:
    """Each cell's profile, as its workload uses it."""
    return [as_used(profile, load) for load in plan.workloads for profile in plan.profiles]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    this_machine_has(monkeypatch, cpus=8)
    monkeypatch.chdir(tmp_path)
    Path("prices.yaml").write_text(PRICES)
    for name, (tier, cluster) in FILES.items():
        text = f"question: q\ntitle: A disk\ntier: {tier}\ncluster: {cluster}\n"
        if name == "machines":
            text += "machines: [tcp://vm1:2376, tcp://vm2:2376, tcp://vm3:2376]\n"
        Path(f"{name}.yaml").write_text(text)
        Path(f"{name}-2.yaml").write_text(text)


def asked(kind: str, options: Mapping[str, Any]) -> Request:
    return Request(
        **{"workloads": ("tpcc",), "scale": "smoke", "repetitions": 4, **KINDS[kind], **options}
    )


def planned(request: Request) -> Plan:
    return plans.make_plan(an_app(Path("cache")), request)


def value(option: str, kind: str) -> Any:
    if option == "baseline":
        return Path(KINDS[kind]["profiles"][1]).stem
    return OTHERS.get((option, kind), GIVEN[option])


PROGRAM: Any = typer.main.get_command(main.program)
WORDS = {one.name: one.opts[0] for one in PROGRAM.commands["compare"].params}


def told(error: TierbenchError) -> str:
    return " ".join([error.what, error.advice or "", *map(str, getattr(error, "mistakes", ()))])


def problems(request: Request) -> list[str]:
    """What ends the campaign before anything is started. UsageError if it is not even planned."""
    parts, world = an_app(Path("cache")).unasked()
    found = forecast.look_ahead(planned(request), parts, world).problems
    return [told(one) for one in found if isinstance(one, UsageError)]


def no_effect(plan: Plan) -> list[str]:
    return [note.text for note in plan.notes if note.kind == "no effect"]


CELLS = [
    (option, kind, LETTERS[letter])
    for option, letters in TABLE.items()
    for kind, letter in zip(KINDS, letters, strict=True)
]


def cells(*effects: str) -> pytest.MarkDecorator:
    found = [(option, kind) for option, kind, effect in CELLS if effect in effects]
    return pytest.mark.parametrize(("option", "kind"), found)


def test_every_option_of_a_campaign_has_a_row() -> None:
    assert set(TABLE) == {one.name for one in fields(Compared)} == set(GIVEN)


@cells(TAKES)
def test_it_takes_effect(option: str, kind: str) -> None:
    beside = BESIDE.get(option, {})
    without = asked(kind, beside)
    given = replace(without, **{option: value(option, kind)})
    assert _seen(option, given) != _seen(option, without)
    assert no_effect(planned(given)) == []
    assert not [text for text in problems(given) if WORDS[option] in text]


def _seen(option: str, request: Request) -> object:
    if option == "dry_run":
        return _is_begun(request)
    plan = planned(request)
    if option == "max_cost":
        try:
            costs.check(plan, request.max_cost)
        except UsageError:
            return "refused"
        return "let pass"
    return PLACES[option](plan)


def _is_begun(request: Request) -> bool:
    """Whether the campaign was begun, or only shown."""
    begun: list[Plan] = []

    class Beginning(App):
        def carry_out(self, plan: Plan, *_: object) -> Path:
            begun.append(plan)
            raise typer.Exit

    with pytest.raises(typer.Exit):
        main._carry_out(
            Beginning(**vars(an_app(Path("cache")))), request, Path("results"), True, False, False
        )
    return bool(begun)


@cells(REFUSED)
def test_it_is_refused(option: str, kind: str) -> None:
    planned(asked(kind, BESIDE.get(option, {})))
    given = asked(kind, {option: value(option, kind)})
    try:
        said = problems(given)
    except UsageError as refused:
        said = [told(refused)]
    assert [text for text in said if WORDS[option] in text or str(value(option, kind)) in text]


@cells(NOTED)
def test_a_note_says_that_it_has_no_effect(option: str, kind: str) -> None:
    without = planned(asked(kind, {}))
    given = planned(asked(kind, {option: value(option, kind)}))
    assert no_effect(without) == []
    (text,) = no_effect(given)
    assert text.startswith(f"{WORDS[option]} has no effect on ")
    if option in PLACES:
        assert PLACES[option](given) == PLACES[option](without)


def test_what_has_an_effect_on_a_part_alone_is_said_of_the_rest() -> None:
    request = Request(
        profiles=("premium", "mounted.yaml", "existing.yaml"),
        workloads=("insert", "point-select"),
        scale="smoke",
        nodes=2,
        drain=True,
        gate_every=3,
        price_list=Path("prices.yaml"),
    )
    assert no_effect(planned(request)) == [
        "--nodes has no effect on existing: others run this cluster",
        "--gate-every has no effect on premium: its disks are not real ones",
        "--gate-every has no effect on existing: others run this cluster",
        "--drain has no effect on premium: its disks are not real ones",
        "--drain has no effect on existing: others run this cluster",
        "--prices has no effect on existing: the list has no other price of its disk",
    ]
    ours = replace(request, profiles=("premium",), drain=False, gate_every=None, price_list=None)
    with_matrix = replace(ours, workloads=("point-select", "disk-matrix"), windows="checkpoints")
    alone = "it measures one disk alone, without a database"
    assert no_effect(planned(with_matrix)) == [
        f"--nodes has no effect on disk-matrix: {alone}",
        "--windows has no effect on point-select: it writes nothing",
        f"--windows has no effect on disk-matrix: {alone}",
    ]


def test_many_short_windows_are_of_what_only_reads() -> None:
    request = Request(
        profiles=("premium", "ultra"),
        workloads=("insert", "point-select"),
        scale="laptop",
        nodes=1,
        windows="many",
        repetitions=5,
    )
    plan = planned(request)
    runs = Counter((run.workload, run.profile) for run in plan.runs)
    assert runs == {
        ("insert", "premium"): 5,
        ("insert", "ultra"): 5,
        ("point-select", "premium"): 7,
        ("point-select", "ultra"): 7,
    }
    assert {one.name: one.measure_s for one in plan.workloads} == {
        "insert": 60.0,
        "point-select": 30.0,
    }
    assert no_effect(plan) == [
        "--windows many has no effect on insert: a window must hold checkpoints"
    ]


@pytest.mark.parametrize("other", [{"until": "decided"}, {"sweep": "threads=1,4"}])
def test_many_short_windows_leave_the_number_of_repetitions_to_no_other(other: Any) -> None:
    request = Request(
        profiles=("premium",), workloads=("point-select",), windows="many", repetitions=3, **other
    )
    with pytest.raises(UsageError, match="--windows many plans how often"):
        planned(request)


def test_a_disk_without_burst_has_no_credit_to_use_up() -> None:
    Path("plain.yaml").write_text(Path("mounted.yaml").read_text().replace("P15", "P40"))
    with pytest.raises(UsageError, match="--drain has no effect on plain: it declares no `burst`"):
        planned(asked("mounted", {"profiles": ("plain.yaml",), "drain": True}))


@pytest.mark.parametrize("database", ["nonsense", "dry"])
def test_an_unknown_database_is_refused_where_none_is_started(database: str) -> None:
    with pytest.raises(UsageError, match=database):
        planned(asked("disk-matrix", {"database": database}))


def test_the_time_of_a_campaign_has_no_draining_that_is_not_done() -> None:
    plan = planned(asked("StorageClass", {}))
    assert durations.timed(replace(plan, drain=True)).most_s == durations.timed(plan).most_s


# ------------------------------------------------------------------ keys of a profile

KEYS = {
    "cluster.port": "port: 5433",
    "cluster.node_of": "node_of: {yugabytedb: {smoke: {cpus: 1, memory: 1GiB, disk: 8GiB}}}",
    "cluster.settings_of": "settings_of: {yugabytedb: {smoke: {tls: 'on'}}}",
}


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_nodes_that_are_started_are_refused_of_a_cluster_of_others(key: str) -> None:
    theirs = THEIRS.replace("{database", f"{{{KEYS[key]}, database", 1)
    text = Path("existing.yaml").read_text().replace(THEIRS, theirs)
    Path("existing.yaml").write_text(text)
    with pytest.raises(UsageError) as refused:
        planned(asked("existing", {}))
    (mistake,) = refused.value.mistakes
    assert f"`{key.partition('.')[2]}`" in mistake.what and "existing.yaml" in mistake.where


def test_the_section_kubernetes_is_not_ignored_on_docker() -> None:
    """Where Docker is asked for by name, the same profile is meant for both."""
    section = "kubernetes: {node_selector: {pool: bench}}\n"
    cluster = f"question: q\ntier: azure/P15\ncluster: {OURS}\n{section}"
    Path("pool.yaml").write_text(cluster)
    with pytest.raises(UsageError, match="pool has `kubernetes`: say --platform"):
        planned(asked("emulated on Docker", {"profiles": ("pool.yaml",)}))
    for platform in ("docker", "kubernetes"):
        given = {"profiles": ("pool.yaml",), "platform": platform}
        assert planned(asked("emulated on Docker", given)).platform == platform


# ------------------------------------------------------------------ values of --set

LOADS = {
    **{one.stem: one for one in sorted((ROOT / "workloads").glob("*.yaml"))},
    "BenchBase": ROOT / "workloads" / "tpcc.yaml",
}


def settable() -> list[tuple[str, str]]:
    """Each key that a shipped workload's load generator takes."""
    contents = {name: yaml.safe_load(file.read_text()) for name, file in LOADS.items()}
    of_loads = {name: keys(one["generator"], one["script"]) for name, one in contents.items()}
    groups = ("options", "dataset")
    return [(name, key) for name, taken in of_loads.items() for g in groups for key in taken[g]]


@pytest.mark.parametrize(("load", "key"), settable())
def test_a_value_of_another_kind_is_refused(load: str, key: str) -> None:
    """And named as it was given, or by its place where that is found when the campaign begins."""
    generator = "benchbase" if load == "BenchBase" else None
    given = {"workloads": (LOADS[load].stem,), "generator": generator, "nodes": 1}
    try:
        said = problems(asked("emulated on Docker", {**given, "overrides": (f"{key}=nonsense",)}))
    except UsageError as refused:
        said = [told(refused)]
        assert f"--set {key}=nonsense" in said[0]
    assert [text for text in said if key in text]


@pytest.mark.parametrize("key", ["options.foo=1", "dataset.foo=1", "threads=2", "loader_threads=2"])
def test_what_fio_does_not_read_cannot_be_set(key: str) -> None:
    try:
        (said,) = problems(asked("disk-matrix", {"overrides": (key,)}))
    except UsageError as refused:
        said = told(refused)
    assert key.partition("=")[0] in said


# ------------------------------------------------------------------ other commands

# Command → its options, each with words of a call in which it cannot have an effect. Without words:
# it has one in every call, which the command's own tests show.
OTHER_COMMANDS: dict[str, dict[str, str]] = {
    "analyze": {"--slo": "", "--json": "", "--results": ""},
    "report": {"--results": ""},
    "calibrate": {
        "--profile": "",
        "--scale": "",
        "--quick": "",
        "--drain": "--profile premium --drain",
    },
    "setup": {"--platform": "", "--profile": ""},
    "doctor": {"--db": "", "--version": "--version 2025.2.2.2", "--platform": "", "--profile": ""},
    "yugabyte-image": {},
    "list": {},
    "check": dict.fromkeys(("--host", "--port", "--user", "--database", "--fresh"), ""),
    "rehearse": dict.fromkeys(
        ("--profiles", "--workloads", "--scale", "--repeats", "--seed", "--results"), ""
    ),
    "import-study": {"--results": "", "--beside": "--beside latest --json", "--json": ""},
    "init": {
        "--tier": "--workload tpcc --tier azure/P15",
        "--path": "--workload tpcc --path /mnt/a",
        "--existing": "--workload tpcc --existing db.example",
        "--workload": "",
    },
    "schema": {},
    "export": dict.fromkeys(("--format", "--output", "--slo", "--results"), ""),
    "verify": {"--results": ""},
    "history": {
        **dict.fromkeys(("--profile", "--workload", "--database", "--since"), ""),
        "--trend": "--trend",
        "--fail-if-worse": "--fail-if-worse",
        "--across-machines": "--across-machines",
        "--results": "",
        "--json": "",
    },
    "compare-results": {
        **dict.fromkeys(
            ("--margin", "--p99-margin", "--fail-if-worse", "--accept-inconclusive"), ""
        ),
        **dict.fromkeys(("--across-machines", "--results", "--json"), ""),
        "--markdown": "a b --json --markdown",
    },
    "helm-values": dict.fromkeys(("--scale", "--nodes", "--storage-class"), ""),
    "storage-class": {"--scale": ""},
    "clean": dict.fromkeys(("--platform", "--profile", "--yes", "--dry-run"), ""),
    "disk up": dict.fromkeys(("--at", "--size", "--name", "--data", "--gate"), ""),
    "disk down": {"--all": "mine --all", "--keep-data": "", "--yes": "", "--dry-run": ""},
    "disk record": dict.fromkeys(("--out", "--burst-minutes", "--quick", "--allow-root-disk"), ""),
    "disk list": {},
    "disk set": {},
    "tiers list": {
        "--provider": "",
        "--min-iops": "",
        "--min-throughput": "--vms --min-throughput 1MB/s",
        "--max-latency": "--vms --max-latency 1ms",
        "--burst": "--vms --burst",
        "--vms": "",
    },
    "tiers set": {"--results": ""},
    "prices update": dict.fromkeys(("--provider", "--region", "--currency", "--file"), ""),
    **{f"baseline {name}": {"--results": ""} for name in ("set", "list", "remove")},
}
REHEARSED = ("--profiles ultra", "--workloads tpcc", "--scale laptop", "--repeats 4", "--seed 7")
WITHOUT_EFFECT = [
    (command, option, words)
    for command, options in OTHER_COMMANDS.items()
    for option, words in options.items()
    if words
]


def test_every_option_of_every_command_has_its_place_here() -> None:
    found = {
        name: {one.opts[0] for one in command.params if one.param_type_name == "option"}
        for name, command in commands(PROGRAM)
    }
    own = {"--results", "--json"}
    of_compare = {"--profiles", "--workloads", "--fail-if-worse", "--accept-inconclusive"}
    in_table = {WORDS[option] for option in TABLE}
    assert found.pop("compare") == in_table | own | of_compare
    assert found.pop("run") < in_table | own | {"--profile", "--workload"}
    assert found == {name: set(options) for name, options in OTHER_COMMANDS.items()}


@pytest.mark.parametrize("words", REHEARSED)
def test_each_option_of_a_rehearsal_reaches_its_plan(words: str, tmp_path: Path) -> None:
    app = Planning(**vars(an_app(tmp_path)))
    for given in ([], words.split()):
        assert tierbench(app, "rehearse", *given) == EXIT_DONE
    without, with_it = app.asked
    assert without.plan != with_it.plan
    options = {one.partition(" ")[0] for one in (*REHEARSED, "--results")}
    assert options == set(OTHER_COMMANDS["rehearse"])  # test_rehearsal.py shows that of --results


@pytest.mark.parametrize(("command", "option", "words"), WITHOUT_EFFECT)
def test_an_option_that_cannot_have_an_effect_is_refused(
    command: str, option: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert tierbench(App(), *command.split(), *words.split()) == EXIT_USAGE
    assert option in capsys.readouterr().err
