"""A profile as values for YugabyteDB's Helm chart, and its disks as a StorageClass to apply.

Goal: who runs the chart gets the cluster that tierbench would start, as far as the chart can.
Method: golden files of the project's own profiles, and refusals of what has no place in them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.cli import main
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.databases.yugabytedb import flags
from orchestrator.databases.yugabytedb.settings import read
from orchestrator.errors import EXIT_DONE, EXIT_USAGE, UsageError
from orchestrator.extensions.kubernetes import helm_values
from orchestrator.model import ClusterSpec, NodeSize, Placing
from orchestrator.tier import ClassWanted
from orchestrator.yugabyte import versions
from tests import ROOT, golden
from tests.evidence import entries

GIB = 2**30
FAST = ClassWanted("fast", size_bytes=100 * GIB)


def spec(memory_gib: float = 32, **settings: str) -> ClusterSpec:
    size = NodeSize(8.0, round(memory_gib * GIB), 100 * GIB)
    return ClusterSpec("yugabytedb", 3, 3, size, settings=settings)


def tierbench(*words: str) -> int:
    return main.exit_code(words, CampaignApp())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ultra-study", ("ultra", "--scale", "study")),
        ("premium-laptop", ("premium", "--nodes", "5")),
        (
            "named-class",
            ("premium", "--scale", "study", "--storage-class", "managed-premium"),
        ),
    ],
)
def test_the_values_of_a_profile(
    name: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert tierbench("admin", "helm-values", *words) == EXIT_DONE
    golden.compare(f"helm-values/{name}.yaml", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("version", "chart"),
    [(None, "2025.2.6"), ("2025.2.2.2-b11", "2025.2.2"), (versions.STUDY, "2.18.1")],
)
def test_the_chart_is_that_of_the_images_release(
    version: str | None, chart: str
) -> None:
    """A later one runs the pods as another user, and the image cannot start."""
    remarks = list(helm_values.remarks(replace(spec(), version=version), FAST))
    (command,) = [remark for remark in remarks if "helm install" in remark]
    assert f" --version {chart} " in command


def test_documents_install_the_chart_of_what_is_printed() -> None:
    settings, _ = read(spec())
    document = (ROOT / "docs" / "YUGABYTEDB.md").read_text().replace(" \\\n  ", " ")
    assert helm_values.install_command(settings) in document
    for file in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for line in file.read_text().splitlines():
            assert "helm install" not in line or "--version" in line, file.name


def test_the_class_of_a_profile_is_printed_to_be_applied(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tierbench("storage-class", "premium") == EXIT_DONE
    text = capsys.readouterr().out
    assert (
        text.startswith("# Claims must ask for 256Gi.\n")
        and "skuName: Premium_LRS" in text
    )


def test_striped_disks_are_as_many_volumes_of_the_chart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of its own size; the chart names them in `fs_data_dirs`."""
    profile = tmp_path / "striped.yaml"
    profile.write_text(
        "question: q\ntier: {type: azure/P15, count: 2}\ncluster: azure-d8s-v5\n"
    )
    assert tierbench("admin", "helm-values", str(profile)) == EXIT_DONE
    text = capsys.readouterr().out
    tserver = yaml.safe_load(text)["storage"]["tserver"]
    assert tserver == {"count": 2, "size": "256Gi", "storageClass": "striped"}
    assert "# 2 volumes are 2 directories and no stripe" in text


def a_profile_with_a_log(folder: Path, data: str = "type: azure/P15") -> str:
    profile = folder / "logged.yaml"
    profile.write_text(
        f"question: q\ntitle: t\ntier: {{{data}, wal: azure/P10}}\ncluster: azure-d8s-v5\n"
    )
    return str(profile)


def test_the_class_of_the_log_is_printed_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tierbench("storage-class", a_profile_with_a_log(tmp_path)) == EXIT_DONE
    text = capsys.readouterr().out
    classes = list(yaml.safe_load_all(text))
    of_data, of_log = [made["metadata"]["name"] for made in classes]
    assert of_data == "logged"
    assert of_log.startswith("logged-wal-")
    assert "# Claims must ask for 256Gi." in text
    assert "# Claims must ask for 128Gi." in text


def test_a_class_that_exists_is_not_printed_beside_that_of_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = "storage_class: fast, enforcement: storage-class"
    assert tierbench("storage-class", a_profile_with_a_log(tmp_path, data)) == EXIT_DONE
    (made,) = yaml.safe_load_all(capsys.readouterr().out)
    assert made["metadata"]["name"].startswith("logged-wal-")


def test_the_log_of_one_profile_and_the_data_of_another_have_unlike_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both are applied to one cluster, where the second would replace the first."""
    logged = a_profile_with_a_log(tmp_path)
    named_as_its_log = tmp_path / "logged-wal.yaml"
    named_as_its_log.write_text(Path(logged).read_text())
    names: list[str] = []
    for profile in (logged, str(named_as_its_log)):
        assert tierbench("storage-class", profile) == EXIT_DONE
        for made in yaml.safe_load_all(capsys.readouterr().out):
            names.append(made["metadata"]["name"])
    assert len(set(names)) == 4, names


@pytest.mark.parametrize(
    "command", [("storage-class",), ("admin", "helm-values")], ids=" ".join
)
def test_a_cluster_that_runs_already_needs_no_class(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "on-p15.yaml"
    profile.write_text(
        "question: q\ntier: {type: azure/P15, enforcement: existing}\n"
        "cluster:\n  database: existing\n  replication_factor: 1\n"
        "  existing: {hosts: 10.0.0.11, tls: 'off'}\n"
    )
    assert tierbench(*command, str(profile)) == EXIT_USAGE
    told = " ".join(capsys.readouterr().err.split())
    assert "a cluster that runs already: it needs no class of disks" in told
    assert "name a profile whose nodes tierbench starts" in told


def test_the_chart_has_no_volume_for_the_log_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It gives a server `count` volumes of one class, all of them for data."""
    profile = a_profile_with_a_log(tmp_path)
    assert tierbench("admin", "helm-values", profile) == EXIT_USAGE
    assert "a second volume for the log" in capsys.readouterr().err


def test_a_cluster_of_others_has_no_values(tmp_path: Path) -> None:
    profile = tmp_path / "theirs.yaml"
    profile.write_text(
        "question: Is it enough?\n"
        "tier: {type: azure/P15, enforcement: existing}\n"
        "cluster: {database: existing, replication_factor: 3, existing: {hosts: a b c}}\n"
    )
    assert tierbench("admin", "helm-values", str(profile)) == EXIT_USAGE


@pytest.mark.parametrize(
    ("memory_gib", "master", "tserver"), [(32, 3, 29), (16, 2, 14), (2, 1, 2)]
)
def test_memory_is_whole_gib_and_holds_what_the_flags_give(
    memory_gib: float, master: int, tserver: int
) -> None:
    """The chart cannot write less, and a server above its pod's memory is killed."""
    cluster = spec(memory_gib)
    assert helm_values.memory(cluster) == {"master": master, "tserver": tserver}
    shares = flags.memory(cluster.size.memory_bytes)
    assert shares.master_bytes < master * GIB
    assert shares.tserver_bytes < tserver * GIB


def side_container() -> dict[str, dict[str, str]]:
    """What the container beside each server asks for, in pods of the chart as they were seen."""
    (seen,) = [entry for entry in entries() if entry["id"] == "chart-side-container"]
    resources: dict[str, dict[str, str]] = seen["fact"]["yb-cleanup"]
    return resources


@pytest.mark.parametrize("version", versions.PINNED)
def test_the_container_beside_each_server_is_as_large_as_in_real_pods(
    version: str,
) -> None:
    """Charts before 2025.2 give it nothing, which takes the pods' guaranteed class."""
    content = helm_values.values(replace(spec(), version=version), FAST)
    assert content["ybCleanup"] == {"resources": side_container()}


@pytest.mark.parametrize(
    ("cpus", "memory_gib", "needed"),
    [
        (8.0, 32, "8.5 CPUs and 33268Mi"),
        (2.5, 128, "3 CPUs and 131572Mi"),
        (0.5, 2, "1.5 CPUs and 3572Mi"),
    ],
)
def test_a_machine_needs_room_for_the_containers_beside_the_servers(
    cpus: float, memory_gib: int, needed: str
) -> None:
    size = NodeSize(cpus, memory_gib * GIB, 100 * GIB)
    cluster = replace(spec(), node=size)
    remarks = list(helm_values.remarks(cluster, FAST))
    (sum_of_both,) = [remark for remark in remarks if "yb-cleanup" in remark]
    assert f"needs {needed} free" in sum_of_both
    assert "0.5 CPUs and 500Mi" in sum_of_both
    content = helm_values.values(cluster, FAST)
    servers = [content["resource"][name] for name in ("master", "tserver")]
    both = [each["requests"] for each in servers]
    asked = [
        float(each["cpu"]) for each in (*both, *2 * [side_container()["requests"]])
    ]
    assert f"{sum(asked):g} CPUs" in needed


@pytest.mark.parametrize(("cpus", "is_said"), [(0.5, True), (1.0, False), (8.0, False)])
def test_servers_that_take_more_cpus_than_the_profiles_node_are_said(
    cpus: float, is_said: bool
) -> None:
    size = NodeSize(cpus, 32 * GIB, 100 * GIB)
    remarks = list(helm_values.remarks(replace(spec(), node=size), FAST))
    text = "Servers need 1 CPU a node, more than the profile's 0.5."
    assert (text in remarks) is is_said


def test_flags_are_those_of_the_docker_form() -> None:
    content = helm_values.values(
        spec(durability="durable", rocksdb_disable_compactions="x"), FAST
    )
    tserver = content["gflags"]["tserver"]
    assert tserver["require_durable_wal_write"] == "true"
    assert tserver["rocksdb_disable_compactions"] == "x"
    requests = content["resource"]["tserver"]["requests"]
    assert requests == content["resource"]["tserver"]["limits"]


def test_servers_are_as_yugabyted_would_start_them() -> None:
    """The chart starts them without it, and adds a container that nobody asked for."""
    old, new = (
        helm_values.values(replace(spec(), version=version), FAST)
        for version in versions.PINNED
    )
    assert old["yugabytedUi"] == new["yugabytedUi"] == {"enabled": False}
    assert "ysql_pg_conf_csv" not in old["gflags"]["tserver"]
    assert new["gflags"]["tserver"]["yb_enable_read_committed_isolation"] == "true"
    assert new["gflags"]["tserver"]["ysql_pg_conf_csv"] == "yb_enable_cbo=on"
    own = replace(spec(ysql_pg_conf_csv="yb_enable_cbo=off"), version=versions.DEFAULT)
    assert helm_values.values(own, FAST)["gflags"]["tserver"][
        "ysql_pg_conf_csv"
    ].endswith("off")


def test_a_claim_is_as_large_as_the_limits_need() -> None:
    premium = ClassWanted("p15", "disk.csi.azure.com", {}, 256 * GIB)
    tserver = helm_values.values(spec(), premium)["storage"]["tserver"]
    assert tserver == {"count": 1, "size": "256Gi", "storageClass": "p15"}


def test_pods_go_where_the_profile_says() -> None:
    taint = {"key": "only", "operator": "Equal", "value": "db", "effect": "NoSchedule"}
    placing = Placing(node_selector={"pool": "db"}, tolerations=(taint,))
    content = helm_values.values(spec(), FAST, placing)
    assert content["nodeSelector"] == {"pool": "db"}
    assert content["master"] == content["tserver"] == {"tolerations": [taint]}
    assert "nodeSelector" not in helm_values.values(spec(), FAST)


def test_what_has_no_place_in_the_chart_is_refused() -> None:
    with pytest.raises(UsageError, match="wal_directory"):
        helm_values.values(spec(wal_directory="own"), FAST)
    with pytest.raises(UsageError):
        helm_values.values(spec(fs_data_dirs="/mnt"), FAST)


def test_the_disks_of_a_profile_on_real_ones_become_volumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "mine.yaml"
    tier = "{type: azure/P15, enforcement: mounted, disks: '/mnt/{node}', cloud: azure}"
    profile.write_text(f"question: q\ntier: {tier}\ncluster: azure-d8s-v5\n")
    assert tierbench("storage-class", str(profile)) == EXIT_DONE
    assert "skuName: Premium_LRS" in capsys.readouterr().out
