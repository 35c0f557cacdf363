"""`tierbench init`: what it writes is read at once, can be planned, and nothing is overwritten."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from orchestrator.cli import main
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_USAGE, UsageError
from orchestrator.keys import yaml_text
from orchestrator.model import Profile
from orchestrator.planning import project_files
from tests import ROOT
from tests.apps import an_app
from tests.asked import Planning
from tests.fakes import this_machine_has

TIB = 2**40
MACHINES = [
    "--machines",
    "ssh://me@vm1,ssh://me@vm2, ssh://me@vm3",
    "--client-machine",
    "ssh://me@vm4",
]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with what is shipped, in which the command is given."""
    for name in ("profiles", "workloads", "docs/schema"):
        shutil.copytree(ROOT / name, tmp_path / "project" / name)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def tierbench_init(root: Path, *words: str) -> None:
    """Raises what the command raises."""
    app = CampaignApp(root, out=LastingConsole(quiet=True))
    main.program(["init", *words], standalone_mode=False, obj=app)


def read(root: Path, profile: str) -> Profile:
    ((found,), _) = project_files.read(root, [profile], [], "laptop")
    return found


def schema_errors(file: Path) -> list[str]:
    """By the schema that the file's own first line names."""
    text = file.read_text()
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
    assert named
    schema = json.loads((file.parent / named[1]).read_text())
    content = yaml_text.parse(file.name, text)
    return [
        error.message for error in Draft202012Validator(schema).iter_errors(content)
    ]


@pytest.mark.parametrize(
    ("words", "kind", "place"),
    [
        (["--tier", "azure/P15"], "emulated", None),
        (["--tier", "azure/premium-v2", "size=128GiB", "iops=5000"], "emulated", None),
        (["--path", "/mnt/p15"], "mounted", "/mnt/p15"),
        (["--path", "/mnt/p15-{node}"], "mounted", None),
        (["--tier", "azure/P15", "--path", "/mnt/p15"], "mounted", "/mnt/p15"),
        (["--storage-class", "managed-csi-premium"], "storage-class", None),
        (
            ["--tier", "azure/P15", "--storage-class", "managed-csi-premium"],
            "storage-class",
            None,
        ),
        (["--tier", "aws/gp3", "size=250GiB"], "emulated", None),
        (
            [
                "--tier",
                "azure/ultra",
                "size=250GiB",
                "iops=9000",
                "throughput=200MB/s",
                *MACHINES,
            ],
            "emulated",
            None,
        ),
        (["--tier", "azure/P15", "--vm", "azure/Standard_D16s_v5"], "emulated", None),
        (
            ["--path", "/mnt/p15", "--cluster", "gcp-n2-standard-8", *MACHINES],
            "mounted",
            None,
        ),
        (["--existing", "10.0.0.1,10.0.0.2:5434"], "existing", None),
        (["--existing", "10.0.0.1", "--tier", "azure/P15"], "existing", None),
        (["--existing", "host=a,b port=5433,5434 user=bench"], "existing", None),
    ],
)
def test_a_profile_is_valid_as_it_is_and_with_all_that_its_comments_show(
    root: Path, words: list[str], kind: str, place: str | None
) -> None:
    tierbench_init(root, "mine", *words)
    file = root / "profiles" / "mine.yaml"
    found = read(root, "mine")
    assert (found.tier.disk.kind, found.tier.disk.path) == (kind, place)
    assert bool(found.tier.origin.catalog_type) == ("--tier" in words)
    assert schema_errors(file) == []
    shown = re.sub(r"^( *)# (\w+: \S)", r"\1\2", file.read_text(), flags=re.MULTILINE)
    assert shown != file.read_text()
    file.write_text(shown)
    read(root, "mine")
    assert schema_errors(file) == []


def test_a_workload_is_valid_as_it_is_and_with_all_that_its_comments_show(
    root: Path,
) -> None:
    tierbench_init(root, "--workload", "my-load")
    file = root / "workloads" / "my-load.yaml"
    for scale in ("smoke", "laptop"):
        _, (load,) = project_files.read(root, [], ["my-load"], scale)
        assert not load.slo
    assert schema_errors(file) == []
    file.write_text(re.sub(r"^# (slo: )", r"\1", file.read_text(), flags=re.MULTILINE))
    _, (load,) = project_files.read(root, [], ["my-load"], "smoke")
    assert load.slo
    assert schema_errors(file) == []


def test_all_is_written_where_one_is_and_named_so_that_it_is_found(
    planned: CampaignApp,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Names are looked up in the project's folder; elsewhere a path says what is meant."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    words = ["init", "mine", "--tier", "azure/P15", "--workload", "load"]
    assert main.exit_code(words, planned) == EXIT_DONE
    assert capsys.readouterr().out.splitlines() == [
        "wrote profiles/mine.yaml",
        "wrote workloads/load.yaml",
        'next: tierbench compare --profiles "profiles/mine.yaml ultra" '
        "--workloads workloads/load.yaml --dry-run",
    ]
    assert (elsewhere / "profiles/mine.yaml").is_file()
    assert not (planned.root / "profiles/mine.yaml").exists()


def test_a_campaign_written_elsewhere_is_planned_there(
    planned: CampaignApp,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    words = ["init", "mine", "--tier", "azure/P15", "--campaign", "ledger"]
    assert main.exit_code(words, planned) == EXIT_DONE
    text = (elsewhere / "ledger.yaml").read_text()
    assert "$schema" not in text, "there is none beside it"
    assert "profiles: [profiles/mine.yaml, ultra]" in text
    planning = Planning(**vars(planned))
    assert main.exit_code(["compare", "ledger.yaml", "--dry-run"], planning) == 0
    names = [profile.name for profile in planning.asked[-1].plan.profiles]
    assert names == ["mine", "ultra"]
    capsys.readouterr()


def test_several_values_of_an_option_are_joined(root: Path) -> None:
    with pytest.raises(UsageError, match="'ssh://vm2' is not key=value") as refused:
        words = ("mine", "--tier", "azure/P15", "--machines", "ssh://vm1", "ssh://vm2")
        tierbench_init(root, *words)
    assert "joined by commas" in refused.value.advice


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--path", "/mnt/p15-{nod}"], "write {node} for a node's number"),
        (["--machines", "ssh://vm1,ssh://bench@"], "write ssh://user@host"),
    ],
)
def test_a_slip_in_an_address_or_a_path_is_not_written(
    root: Path, words: list[str], told: str
) -> None:
    with pytest.raises(UsageError) as refused:
        tierbench_init(root, "mine", "--tier", "azure/P15", *words)
    assert told in str([mistake.what for mistake in refused.value.mistakes])
    assert not (root / "profiles/mine.yaml").exists()


def test_nothing_is_overwritten(root: Path) -> None:
    for words in (
        ["ultra", "--tier", "azure/P15"],
        ["new", "--tier", "azure/P15", "--workload", "tpcc"],
    ):
        with pytest.raises(UsageError, match="nothing is overwritten"):
            tierbench_init(root, *words)
    assert (root / "profiles/ultra.yaml").read_text() == (
        ROOT / "profiles/ultra.yaml"
    ).read_text()
    assert not (root / "profiles/new.yaml").exists(), "all or nothing"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a profile"),
        (["mine"], "say which disk"),
        (
            ["mine", "--path", "/mnt/a", "--existing", "b"],
            "--path and --existing name 2 disks",
        ),
        (
            ["mine", "--tier", "azure/P15", "--existing", "10.0.0.11:abc"],
            "--existing: 'abc' is not a port",
        ),
        (
            ["mine", "--tier", "azure/P15", "--existing", "a,10.0.0.11:abc"],
            "--existing: 'abc' is not a port",
        ),
        (["mine", "--tier", "azure/P15", "--existing", ","], "names no host"),
        (["../mine", "--tier", "azure/P15"], "cannot be the name"),
        (["mine", "--tier", "azure/P15", "size"], "is not key=value"),
        (
            ["mine", "--tier", "azure/P15", "wal=azure/P4", "wal=azure/P10"],
            "the key 'wal' stands twice: azure/P4 and azure/P10",
        ),
        (
            ["mine", "--tier", "azure/P15", "--vm", "aws/r5b.2xlarge"],
            "aws/r5b.2xlarge takes no disk of azure/premium",
        ),
        (["mine", "--tier", "azure/P16"], "did you mean"),
        (["mine", "--tier", "azure/premium-v2"], "1TiB, in a command size=1TiB"),
        (["mine", "--path", "/mnt/a", "iosp=5"], "unknown key"),
    ],
)
def test_what_cannot_be_a_profile_is_not_written(
    root: Path, words: list[str], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        tierbench_init(root, *words)
    assert said in " ".join(
        [refused.value.what, *(one.what for one in refused.value.mistakes)]
    )
    assert not (root / "profiles/mine.yaml").exists()


@pytest.mark.parametrize(
    ("words", "follows"),
    [
        (
            ["mine", "--tier", "azure/P15"],
            'compare --profiles "mine ultra" --workloads tpcc',
        ),
        (["--workload", "load"], 'compare --profiles "premium ultra" --workloads load'),
        (
            ["mine", "--path", "{disk}"],
            "run --profile mine --workload tpcc --db yugabytedb",
        ),
        (
            ["mine", "--path", "{disk}", "--tier", "azure/P15"],
            "run --profile mine --workload tpcc --db yugabytedb",
        ),
    ],
)
def test_what_comes_next_can_end_with_0_and_has_disks_of_one_kind(
    planned: CampaignApp,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    follows: str,
) -> None:
    disk = planned.root / "disk"
    disk.mkdir()
    app = replace(planned, out=LastingConsole(width=200))
    assert (
        main.exit_code(["init", *(word.format(disk=disk) for word in words)], app)
        == EXIT_DONE
    )
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == f"next: tierbench {follows} --dry-run"
    asked = shlex.split(said.removeprefix("next: tierbench "))
    planning = Planning(**vars(app))
    assert main.exit_code(asked, planning) == EXIT_DONE
    profiles = planning.asked[-1].plan.profiles
    assert len({profile.tier.disk.is_real for profile in profiles}) == 1
    assert asked[0] == "run" or len(profiles) > 1  # with one tier there is no decision


def test_what_must_be_written_first_comes_before_the_next_command(
    planned: CampaignApp, capsys: pytest.CaptureFixture[str]
) -> None:
    """A campaign on a cluster of others is refused until its authority is named."""
    words = ["init", "mine", "--existing", "10.0.0.1", "--workload", "load"]
    app = replace(planned, out=LastingConsole(width=400))
    assert main.exit_code(words, app) == EXIT_DONE
    *_, lacking, following = capsys.readouterr().out.splitlines()
    assert lacking.startswith(
        "still missing: profiles/mine.yaml:13: cluster.existing.tls_root: "
    )
    assert "for servers without TLS write `tls: off`" in lacking
    assert following == "next: tierbench validate profiles/mine.yaml"
    asked = shlex.split(following.removeprefix("next: tierbench "))
    assert main.exit_code(asked, app) == EXIT_USAGE, "it says the same again"
    file = planned.root / "profiles/mine.yaml"
    file.write_text(file.read_text().replace("    # tls_root:", "    tls_root:"))
    assert main.exit_code(asked, app) == EXIT_DONE


def test_a_dry_run_says_where_real_and_emulated_disks_are_compared(
    planned: CampaignApp, capfd: pytest.CaptureFixture[str]
) -> None:
    tierbench_init(planned.root, "mine", "--path", str(planned.root))
    words = [
        "compare",
        "--profiles",
        "mine premium ultra",
        "--workloads",
        "tpcc",
        "--db",
        "postgresql",
        "--dry-run",
    ]
    main.exit_code([*words, "--output=json"], planned)
    notes = json.loads(capfd.readouterr().out)["plan"]["notes"]
    assert [note["text"] for note in notes if note["kind"] == "unlike disks"] == [
        "the disks of mine are real and those of premium and ultra are not. Part of each "
        "difference comes from this machine, and not from the tier"
    ]


@pytest.fixture
def planned(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CampaignApp:
    """The program on a project folder of its own, on a machine without an engine."""
    (root / "docker").symlink_to(ROOT / "docker")
    this_machine_has(monkeypatch, free_bytes=TIB, memory_bytes=TIB, cpus=8)
    return replace(an_app(tmp_path / "cache"), root=root)


def test_from_init_to_a_planned_comparison(
    planned: CampaignApp, capsys: pytest.CaptureFixture[str]
) -> None:
    tierbench_init(
        planned.root, "my-disk", "--tier", "azure/P15", "--workload", "my-load"
    )
    words = [
        "compare",
        "--profiles",
        "my-disk ultra",
        "--workloads",
        "my-load",
        "--dry-run",
    ]
    assert main.exit_code(words, planned) == EXIT_DONE
    assert "my-disk" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "vm"),
    [
        (["--tier", "azure/P15"], "azure/Standard_D8s_v5"),
        (["--tier", "aws/gp3", "size=250GiB"], "aws/r5b.2xlarge"),
        (["--tier", "gcp/pd-ssd", "size=250GiB"], "gcp/n2-standard-8"),
        (["--path", "/mnt/a", "--cluster", "aws-r5b-2xlarge"], "aws/r5b.2xlarge"),
        (
            ["--tier", "azure/P15", "--vm", "azure/Standard_D16s_v5"],
            "azure/Standard_D16s_v5",
        ),
    ],
)
def test_each_provider_has_a_cluster_of_its_own(
    root: Path, words: list[str], vm: str
) -> None:
    tierbench_init(root, "mine", *words)
    profile = read(root, "mine")
    assert (profile.cluster.vm, profile.cluster.nodes) == (vm, 3)


def test_a_row_has_its_keys_behind_it_as_an_answer_names_it(root: Path) -> None:
    row = "azure/P15:count=2+wal=azure/premium-v2:size=32GiB,iops=3000"
    tierbench_init(root, "mine", "--tier", row)
    tier = read(root, "mine").tier
    assert (tier.count, tier.origin.catalog_type) == (2, "azure/premium")
    assert tier.wal is not None and tier.wal.limits.iops == 3000
    with pytest.raises(UsageError, match="'count' stands twice: 2 and 4"):
        tierbench_init(root, "other", "--tier", "azure/P15:count=2", "count=4")


def test_machines_are_those_of_the_nodes_and_of_the_client(root: Path) -> None:
    tierbench_init(root, "mine", "--tier", "azure/P15", *MACHINES)
    placing = read(root, "mine").placing
    assert placing is not None
    assert placing.machines == ("ssh://me@vm1", "ssh://me@vm2", "ssh://me@vm3")
    assert placing.client_machine == "ssh://me@vm4"


def test_of_several_machines_the_comments_are_true_too(root: Path) -> None:
    """Three machines have a disk each, and none is the disk of all nodes."""
    words = ("--tier", "azure/P15", "--path", "/mnt/p15")
    tierbench_init(root, "ours", *words, *MACHINES)
    ours = (root / "profiles" / "ours.yaml").read_text()
    assert "  # The same path on each machine.\n  path: /mnt/p15\n" in ours
    tierbench_init(root, "one", *words)
    one = (root / "profiles" / "one.yaml").read_text()
    assert "  # One disk for all nodes." in one
    # Who gave no machine for the load is told where it runs.
    tierbench_init(root, "alone", *words, *MACHINES[:2])
    alone = (root / "profiles" / "alone.yaml").read_text()
    assert "# The load runs on the engine of this environment." in alone
    assert "# client_machine: ssh://USER@HOST\n" in alone
    assert "The load runs" not in ours


def test_a_class_is_one_of_kubernetes(root: Path) -> None:
    tierbench_init(root, "mine", "--storage-class", "gp3")
    assert read(root, "mine").platform == "kubernetes"
