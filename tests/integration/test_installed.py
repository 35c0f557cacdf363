"""A wheel, installed away from the checkout, in a folder of the user's.

Method: the wheel is built as `make release` does, unpacked beside the libraries of this environment
(whose own installation of the checkout is not looked at), and run as a program of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from orchestrator.errors import UnavailableError
from orchestrator.model import Dataset, Placing, Record
from orchestrator.platforms import own_images, platforms
from orchestrator.registry.references import ExtensionOrigin
from orchestrator.system import campaign_writing
from orchestrator.system.clock import SystemClock
from tests import ROOT
from tests.campaigns import stored
from tests.documented import examples
from tests.doubted import small
from tests.installed import STRANGER, Installed, copied, install

pytestmark = pytest.mark.program


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    site = folder / "site"
    install(ROOT, folder, site)
    home = folder / "home"
    home.mkdir()
    return Installed(site, home, home / "xdg")


def test_it_is_not_the_checkout_that_runs(installed: Installed) -> None:
    shown = installed.run("--version")
    assert (shown.returncode, shown.stdout) == (0, "tierbench 0.1.0\n"), shown.stderr
    assert (
        installed.site / "orchestrator" / "shipped" / "docker" / "disk" / "device"
    ).is_file()


def test_what_was_shipped_is_known(installed: Installed) -> None:
    shown = installed.run("list")
    assert shown.returncode == 0, shown.stderr
    for name in ("premium-v2", "ultra", "tpcc", "disk-matrix"):
        assert name in shown.stdout
    schema = installed.run("admin", "schema", "cluster")
    assert schema.stdout == (ROOT / "docs/schema/cluster.json").read_text(), (
        schema.stderr
    )


def test_a_profile_of_the_users_is_written_and_found_in_his_folder(
    installed: Installed,
) -> None:
    written = installed.run("init", "my-disk", "--tier", "azure/P15")
    assert written.returncode == 0, written.stderr
    assert (installed.home / "profiles" / "my-disk.yaml").is_file()
    planned = installed.run(
        "compare", "--profiles", "my-disk ultra", "--workloads", "insert", "--dry-run"
    )
    assert planned.returncode == 0, planned.stderr
    assert "my-disk" in planned.stdout


@pytest.mark.slow
def test_a_rehearsal_leaves_its_report_in_the_users_folder(
    installed: Installed,
) -> None:
    done = installed.run("rehearse", "--repeats", "2", "--results", "results")
    assert done.returncode == 0, done.stderr
    assert (installed.home / "results" / "latest" / "report.html").is_file()
    assert (installed.cache / "tierbench").is_dir()
    assert not (installed.home / ".cache").exists()


def test_images_have_the_tags_of_the_checkout(installed: Installed) -> None:
    """So that a registry serves both, and neither builds what the other has built. Agents on other
    machines are started from them without the project folder of the command."""
    ask = (
        "from orchestrator.cli import root; from orchestrator.platforms import own_images; "
        "print(*(own_images.tag(folder, name) for folder in (root(), own_images.PROJECT) "
        "for name in own_images.OURS))"
    )
    search = os.pathsep.join([str(installed.site), sysconfig.get_path("purelib")])
    tags = subprocess.run(
        [sys.executable, "-S", "-c", ask],
        cwd=installed.home,
        env={
            **os.environ,
            "PYTHONPATH": search,
            "XDG_CACHE_HOME": str(installed.cache),
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert tags == 2 * [own_images.tag(ROOT, name) for name in own_images.OURS]


def test_without_the_client_of_kubernetes_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "orchestrator.extensions.kubernetes.engine", None)
    with pytest.raises(UnavailableError) as raised:
        platforms()["kubernetes"](SystemClock(), Placing())
    assert raised.value.advice == "pip install 'tierbench[kubernetes]'"


def needed(name: str, extras: frozenset[str] = frozenset()) -> Iterator[str]:
    """The distributions that an installation of `name` brings, itself included; some repeatedly."""
    yield name
    for line in metadata.requires(name) or ():
        wanted = Requirement(line)
        asked = [{"extra": extra} for extra in ("", *extras)]
        if wanted.marker is None or any(map(wanted.marker.evaluate, asked)):
            yield from needed(wanted.name, frozenset(wanted.extras))


def mebibytes(distribution: str) -> float:
    files = [Path(str(file.locate())) for file in metadata.files(distribution) or ()]
    return sum(file.stat().st_size for file in files if file.is_file()) / 2**20


def test_the_smallest_installation_is_small() -> None:
    """Below 650 MiB of a new environment's site-packages, where the wheel itself, pip, setuptools
    and whole blocks took 64 more. Neither what draws charts nor the client of Kubernetes is in it.
    """
    sizes = {name: mebibytes(name) for name in {*needed("tierbench")}}
    assert not {"vl-convert-python", "kubernetes"} & set(sizes)
    assert sum(sizes.values()) < 586, sizes


# ------------------------------------------------------------------ without extensions

IMPORT_ALL = """
import importlib, pkgutil, sys
import orchestrator
for module in pkgutil.walk_packages(orchestrator.__path__, "orchestrator."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print([name for name in sys.modules if "extensions" in name and "orchestrator" in name])
"""


@pytest.fixture(scope="module")
def bare(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The same without the extensions that come with it, and without their entry points."""
    alone = copied(installed, tmp_path_factory.mktemp("bare"))
    shutil.rmtree(alone.site / "orchestrator" / "extensions")
    (points,) = alone.site.glob("tierbench-*.dist-info/entry_points.txt")
    points.unlink()
    return alone


def test_every_module_of_the_core_is_imported_without_an_extension(
    bare: Installed,
) -> None:
    imported = bare.python("-c", IMPORT_ALL)
    assert imported.returncode == 0, imported.stderr
    assert imported.stdout.strip() == "[]"


def test_help_and_lists_of_the_core_name_none_of_what_extensions_bring(
    bare: Installed, installed: Installed
) -> None:
    for words in (["--help"], ["list"], ["compare", "--help-all"], ["admin", "--help"]):
        shown = bare.run(*words)
        assert shown.returncode == 0, shown.stderr
        named = (
            *(
                "predict ",
                "advise ",
                "observe ",
                "hdfs,",
                "tera,",
                "benchbase",
                "helm-values",
            ),
            *("sysbench-stock", "compare-results", "any program"),
        )
        assert [name for name in named if name in shown.stdout] == []
    assert "advise " in installed.run("--help").stdout
    assert "helm-values" in installed.run("admin", "--help").stdout


def test_a_rehearsal_goes_through_the_core_to_its_report(bare: Installed) -> None:
    rehearsed = bare.run(
        *("rehearse", "--profiles", "premium ultra", "--workloads", "point-select"),
        *("--repeats", "2", "--results", "results"),
    )
    assert rehearsed.returncode in (0, 2), rehearsed.stderr
    (page,) = bare.home.glob("results/2*/report.html")
    assert "Rehearsal" in page.read_text() or "rehearsal" in page.read_text()


@pytest.mark.parametrize(
    ("option", "name", "refusal"),
    [
        ("--db", "hdfs", "unknown database 'hdfs'"),
        ("--platform", "kubernetes", "no platform 'kubernetes'"),
        ("--enforcement", "storage-class", "tier.enforcement: unknown"),
    ],
)
def test_what_an_extension_would_bring_is_refused_in_words(
    option: str, name: str, refusal: str, bare: Installed
) -> None:
    asked = ("compare", "--profiles", "premium", "--workloads", "insert", "--dry-run")
    refused = bare.run(*asked, option, name)
    assert refused.returncode == 64, refused.stderr
    assert "Traceback" not in refused.stderr
    assert refusal in refused.stderr
    assert "extension" in refused.stderr


# ------------------------------------------------------------------ with somebody else's

CAPTURED = ROOT / "tests" / "fixtures" / "pgbench"
PROBE = """
import sys
from orchestrator.cli.main import main
try:
    main()
finally:
    print([name for name in sys.modules if name.startswith("tierbench_pgbench.")])
"""
READ = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from orchestrator.planning import project_files
from orchestrator.load_generators import load_generators
from orchestrator.model import Dataset, Workload
load = Workload("pgbench", "pgbench", "pgbench", "tpcb-like", Dataset("pgbench", {"scale": 2}),
                "smoke", 2, 2, 0.0, 1.0)
read = load_generators()["pgbench"].read(load, Path(sys.argv[1]), 1795977890.0, 1795977910.0)
print(json.dumps([asdict(figure) for figure in read.measurements]))
"""


@pytest.fixture(scope="module")
def strangers(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    """With the distribution that docs/ADDING.md walks through, from its own wheel."""
    folder = tmp_path_factory.mktemp("strangers")
    extended = copied(installed, folder)
    install(STRANGER, folder, extended.site)
    return extended


@pytest.fixture(scope="module")
def planned(strangers: Installed) -> subprocess.CompletedProcess[str]:
    """Its files written and a run of them planned, as its README says it."""
    written = strangers.run("pgbench-files")
    assert written.returncode == 0, written.stderr
    names = ("profiles/pgbench-disk.yaml", "workloads/pgbench.yaml")
    checked = strangers.run("validate", *names)
    assert checked.returncode == 0, checked.stderr
    run = ("run", *names, "--db", "plain-postgresql", "--scale", "smoke")
    return strangers.run(*run, "--dry-run", "--offline")


def test_the_documents_show_what_is_built_here() -> None:
    (shown,) = examples("ADDING.md", "An extension", "python")
    assert shown.strip() in (STRANGER / "tierbench_pgbench/__init__.py").read_text()
    (entry,) = examples("ADDING.md", "An extension", "toml")
    assert entry.strip() in (STRANGER / "pyproject.toml").read_text()


def test_help_names_a_strangers_command_and_imports_nothing_of_it(
    strangers: Installed,
) -> None:
    shown = strangers.python("-c", PROBE, "--help")
    assert "Writes a profile and a workload of pgbench" in shown.stdout
    assert shown.stdout.splitlines()[-1] == "[]", shown.stderr
    listed = strangers.run("list").stdout
    for name in ("plain-postgresql", "pgbench (tierbench-pgbench 1.0)"):
        assert name in listed


def test_a_strangers_run_is_planned_and_checked(
    planned: subprocess.CompletedProcess[str],
) -> None:
    assert planned.returncode == 0, planned.stderr
    assert "pgbench" in planned.stdout


def test_a_strangers_rules_refuse_what_his_generator_does_not_take(
    strangers: Installed, planned: subprocess.CompletedProcess[str]
) -> None:
    run = ("run", "profiles/pgbench-disk.yaml", "workloads/pgbench.yaml")
    asked = ("--db", "plain-postgresql", "--dry-run", "--offline")
    refused = strangers.run(*run, *asked, "--set", "options.think=spec")
    assert refused.returncode == 64
    assert "tpcb-like does not take this" in refused.stderr


def test_a_strangers_generator_reads_what_pgbench_left(strangers: Installed) -> None:
    """Against the log's own numbers: microseconds in its third column."""
    read = strangers.python("-c", READ, str(CAPTURED))
    assert read.returncode == 0, read.stderr
    figures = {}
    for figure in json.loads(read.stdout):
        figures[figure["metric"]] = figure["value"]
    (log,) = CAPTURED.glob("transactions.*")
    durations_us = [int(line.split()[2]) for line in log.read_text().splitlines()]
    assert figures["transactions"] == len(durations_us) == 300
    mean_s = sum(durations_us) / len(durations_us) / 1e6
    assert figures["latency_avg_s"] == pytest.approx(mean_s)


def by_pgbench(record: Record) -> Record:
    """As if the extension had taken part in the run, and recorded what it records."""
    kept = {"distribution": "tierbench-pgbench", "version": "1.0", "has_doubts": True}
    generator = {**record.facts.get("generator", {}), "tps_printed": 1234.0}
    facts = {**record.facts, "extensions": {"pgbench": kept}, "generator": generator}
    data = Dataset("pgbench", {"scale": 2})
    load = replace(
        record.workload, generator="pgbench", script="tpcb-like", dataset=data
    )
    return replace(record, facts=facts, workload=load)


def test_a_strangers_results_are_judged_with_his_doubts_and_shown_with_his_section(
    strangers: Installed, tmp_path: Path
) -> None:
    folder = stored(small(change=by_pgbench), tmp_path)
    judged = strangers.run("analyze", str(folder))
    assert judged.returncode in (0, 2), judged.stderr
    page = (folder / "report.md").read_text()
    assert "What pgbench printed" in page
    assert "1,234" in page
    assert "they wait for each other, and not for the disk" in page


def test_without_the_extension_they_load_say_what_is_missing_and_count_no_run(
    installed: Installed, tmp_path: Path
) -> None:
    folder = stored(small(change=by_pgbench), tmp_path)
    judged = installed.run("analyze", str(folder))
    assert judged.returncode in (0, 2), judged.stderr
    page = (folder / "report.md").read_text()
    assert "pip install tierbench-pgbench==1.0" in page
    assert "were excluded: doubts not readable" in page
    assert "What pgbench printed" not in page


def test_what_an_extension_has_kept_beside_the_runs_is_named_without_it(
    bare: Installed, tmp_path: Path
) -> None:
    folder = stored(small(), tmp_path)
    campaign_writing.save_predictions(
        folder, [], ExtensionOrigin("predict", "tierbench", "0.1.0")
    )
    judged = bare.run("analyze", str(folder))
    assert judged.returncode in (0, 2), judged.stderr
    page = (folder / "report.md").read_text()
    assert "predictions.json belongs to the extension predict" in page


def test_an_observation_is_named_without_its_extension(
    bare: Installed, tmp_path: Path
) -> None:
    folder = tmp_path / "20261130T101010Z-observed"
    folder.mkdir()
    made_by = {"extension": "observe", "distribution": "tierbench", "version": "0.1.0"}
    (folder / "observed.json").write_text(json.dumps({"made_by": made_by}))
    refused = bare.run("report", str(folder))
    assert "observed.json belongs to the extension observe" in refused.stderr.replace(
        "\n", " "
    )


def test_an_option_that_an_extension_carries_out_is_refused_without_it(
    bare: Installed, tmp_path: Path
) -> None:
    folder = stored(small(), tmp_path)
    refused = bare.run("analyze", str(folder), "--disk-metrics", "azure.json")
    assert refused.returncode == 69, refused.stderr
    assert "the option '--disk-metrics' is not installed here" in refused.stderr


def test_one_that_cannot_be_imported_is_named_with_what_to_do(
    strangers: Installed, tmp_path: Path
) -> None:
    broken = copied(strangers, tmp_path)
    (broken.site / "tierbench_pgbench" / "__init__.py").write_text("import nowhere\n")
    shown = broken.run("list")
    assert shown.returncode == 69
    assert "the extension pgbench (tierbench-pgbench)" in shown.stderr
    assert "No module named 'nowhere'" in shown.stderr
    assert "pip uninstall tierbench-pgbench" in shown.stderr
    assert "Traceback" not in shown.stderr
