"""What a cloud's metadata service says of the disks, and what is made of it.

The answers are the providers' own samples, cut to what is read, with other values where a comment
says so. Azure: "Azure Instance Metadata Service", sample of /metadata/instance (api-version
2021-02-01). AWS: "Instance metadata categories" (instance-type) and "Use IMDSv2" (token by PUT).
Google Cloud: a VM's answer to computeMetadata/v1/instance/?recursive=true with two more disks, as
seen of a machine with a balanced and two SSD disks.
"""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.kernel import mounts
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.tier import NodeDisks
from orchestrator.tiers.common.real import cloud_metadata
from orchestrator.tiers.common.real.cloud_metadata import of_clouds, recorded
from orchestrator.tiers.common.real.node_places import DiskPath, Use
from tests import ROOT
from tests.disk_scripts import Engine
from tests.disk_trees import ebs, tree
from tests.fakes import fake_world
from tests.tiers import a_tier, changed

ULTRA = {
    "bytesPerSecondThrottle": "979202048",
    "caching": "None",
    "createOption": "Empty",
    "diskCapacityBytes": "274877906944",
    "diskSizeGB": "1024",
    "image": {"uri": ""},
    "isSharedDisk": "false",
    "isUltraDisk": "true",
    "lun": "0",
    "managedDisk": {"id": "/subscriptions/…", "storageAccountType": "StandardSSD_LRS"},
    "name": "exampledatadiskname",
    "opsPerSecondThrottle": "65280",
    "vhd": {"uri": ""},
    "writeAcceleratorEnabled": "false",
}
GCP = {
    "disks": [
        {"deviceName": "persistent-disk-0", "index": 0, "interface": "SCSI",
         "mode": "READ_WRITE", "type": "PERSISTENT-BALANCED"},
        {"deviceName": "disk-500g", "index": 1, "interface": "SCSI",
         "mode": "READ_WRITE", "type": "PERSISTENT-SSD"},
    ],
    "machineType": "projects/531966061769/machineTypes/e2-standard-4",
}  # fmt: skip
AWS = of_clouds("clouds")["aws"]
AWS_TOKEN_URL, AWS_URL = AWS["token_url"], AWS["url"]
AZURE_URL, GCP_URL = (of_clouds("clouds")[cloud]["url"] for cloud in ("azure", "gcp"))
PLACE = DiskPath("/mnt/a", (Use("node-1", wal=False),))
TIER = a_tier("p", "P", "mounted", None, None, disks={"node-1": NodeDisks("/mnt/a")})


def test_a_disk_that_has_data_too_is_not_one_of_the_wal_alone() -> None:
    data = Use("node-1", wal=False)
    wal = Use("node-2", wal=True)
    assert DiskPath("/mnt/b", (wal,)).only_wal
    assert not DiskPath("/mnt/b", (data, wal)).only_wal
    assert not DiskPath("/mnt/b").only_wal, "the data of all nodes"


def azure(**changes: Any) -> str:
    disk = {**ULTRA, **changes}
    profile = {
        "dataDisks": [disk],
        "imageReference": {},
        "osDisk": {"caching": "ReadWrite"},
    }
    return json.dumps({"compute": {"storageProfile": profile, "vmSize": "Standard_A3"}})


class Service:
    """Answers as told; keeps what was asked of it."""

    def __init__(self, answers: Mapping[str, str]) -> None:
        self._answers, self.asked = answers, list[tuple[str, str, dict[str, str]]]()

    def __call__(self, method: str, url: str, headers: Mapping[str, str]) -> str:
        self.asked.append((method, url, dict(headers)))
        if url not in self._answers:
            raise OSError(f"{url}: timed out")
        return self._answers[url]


def about(
    root: Path, service: Service, cloud: str, device: str, link: str = "", **tier: Any
) -> cloud_metadata.MetadataAnswer:
    layout = {"sdc": {"size": "2147483648"}, "nvme1n1": ebs("vol06afc3f8715b7a597")}
    machine = tree(root, layout)
    (root / "dev").mkdir()
    (root / "dev" / device).touch()
    if link:
        (root / link).parent.mkdir(parents=True)
        (root / link).symlink_to(root / "dev" / device)
    disk = mounts.RealDisk(
        Path("/mnt/a"), mounts.MountPoint("/mnt/a", "8:32", "xfs", "", "rw", 1),
        device, device, {},
    )  # fmt: skip
    declared = changed(TIER, cloud=cloud, **tier)
    return cloud_metadata.about(declared, {PLACE: disk}, machine, service)


@pytest.mark.parametrize("link", ["data/by-lun/0", "scsi1/lun0"])
def test_azure_tells_type_size_cache_and_what_an_ultra_disk_is_provisioned_with(
    tmp_path: Path, link: str
) -> None:
    service = Service({AZURE_URL: azure()})
    answer = about(tmp_path, service, "azure", "sdc", f"dev/disk/azure/{link}")
    assert service.asked == [("GET", AZURE_URL, {"Metadata": "true"})]
    assert answer.machine == "Standard_A3"
    assert answer.disks["/mnt/a"]["sdc"] == {
        "lun": 0,
        "name": "exampledatadiskname",
        "type": "StandardSSD_LRS",
        "size_bytes": 2**40,
        "caching": "None",
        "iops": 65_280,
        "bytes_per_s": 979_202_048,
    }
    assert (answer.differences, answer.warnings) == ((), ())


def test_another_type_is_a_warning_and_other_figures_are_differences(
    tmp_path: Path,
) -> None:
    service = Service({AZURE_URL: azure(caching="ReadOnly")})  # the sample has None
    answer = about(
        tmp_path, service, "azure", "sdc", "dev/disk/azure/scsi1/lun0",
        catalog_type="azure/ultra", iops=20_000, bytes_per_s=1_000_000_000,
    )  # fmt: skip
    (contradiction,) = answer.warnings
    assert contradiction == (
        "node-1 (/mnt/a) is on sdc, which the cloud calls StandardSSD_LRS; "
        "the profile says azure/ultra"
    )
    assert answer.differences[0] == contradiction
    rest = " ".join(answer.differences[1:])
    assert (
        "host caching ReadOnly" in rest
        and "65,280 IOPS; the profile says 20,000" in rest
    )
    assert "bytes/s" not in rest, "979 MB/s are the declared 1 GB/s"
    assert recorded([answer])["differences"] == list(answer.differences)


@pytest.mark.parametrize(
    ("provisioned", "differs"), [(949, True), (950, False), (1050, False), (1051, True)]
)
def test_a_figure_is_the_declared_one_within_5_pct(
    tmp_path: Path, provisioned: int, differs: bool
) -> None:
    service = Service({AZURE_URL: azure(opsPerSecondThrottle=str(provisioned))})
    place = "dev/disk/azure/scsi1/lun0"
    answer = about(tmp_path, service, "azure", "sdc", place, iops=1_000)
    assert bool(answer.differences) is differs


def test_a_disk_that_cannot_be_told_from_the_others_is_not_guessed(
    tmp_path: Path,
) -> None:
    answer = about(tmp_path, Service({AZURE_URL: azure()}), "azure", "sdc")
    assert answer.disks == {"/mnt/a": {}} and answer.differences == ()


@pytest.mark.parametrize(
    ("row", "contradicts"), [("aws/gp3", False), ("aws/local-nvme", True), ("", False)]
)
def test_aws_tells_the_machine_and_the_disk_itself_if_it_is_local(
    tmp_path: Path, row: str, contradicts: bool
) -> None:
    service = Service({AWS_TOKEN_URL: "TOKEN==", AWS_URL: "m5.xlarge\n"})
    answer = about(tmp_path, service, "aws", "nvme1n1", catalog_type=row)
    assert [(method, url) for method, url, _ in service.asked] == [
        ("PUT", AWS_TOKEN_URL),
        ("GET", AWS_URL),
    ]
    assert service.asked[1][2] == {"X-aws-ec2-metadata-token": "TOKEN=="}
    assert answer.machine == "m5.xlarge"
    assert answer.disks["/mnt/a"]["nvme1n1"] == {
        "type": "EBS",
        "volume": "vol06afc3f8715b7a597",
    }
    assert bool(answer.warnings) == contradicts
    assert "describe-volumes" in recorded([answer])["not_told"]


def test_google_cloud_tells_the_type(tmp_path: Path) -> None:
    service = Service({GCP_URL: json.dumps(GCP)})
    link = "dev/disk/by-id/google-disk-500g"
    answer = about(
        tmp_path, service, "gcp", "sdc", link, catalog_type="gcp/pd-balanced"
    )
    assert service.asked == [("GET", GCP_URL, {"Metadata-Flavor": "Google"})]
    assert answer.machine == "e2-standard-4"
    assert answer.disks["/mnt/a"]["sdc"]["type"] == "PERSISTENT-SSD"
    assert "the profile says gcp/pd-balanced" in answer.warnings[0]


@pytest.mark.parametrize("answers", [{}, {AZURE_URL: "<html>"}, {AZURE_URL: "{}"}])
def test_no_answer_or_an_odd_one_is_said_and_recorded(
    tmp_path: Path, answers: Mapping[str, str]
) -> None:
    answer = about(tmp_path, Service(answers), "azure", "sdc")
    (line,) = answer.warnings
    assert (
        line.startswith("the metadata service of azure told nothing: ")
        and "\n" not in line
    )
    assert recorded([answer])["failure"] == line


def test_nothing_is_asked_unless_the_profile_names_the_cloud(tmp_path: Path) -> None:
    service = Service({})
    nothing = cloud_metadata.about(TIER, {}, LocalMachine(tmp_path), service)
    assert nothing == cloud_metadata.MetadataAnswer() and service.asked == []


class Page(http.server.BaseHTTPRequestHandler):
    """Tells what it was asked, in a line of JSON."""

    def _answer(self) -> None:
        self.send_response(403 if self.path == "/no" else 200)
        self.end_headers()
        told = [self.command, self.path, self.headers.get("Metadata-Flavor")]
        self.wfile.write(json.dumps(told).encode())

    do_GET = do_PUT = _answer

    def log_message(self, *_: object) -> None: ...


def test_a_question_is_carried_to_a_machine_and_its_answer_back(tmp_path: Path) -> None:
    """By the very program that a container there runs."""
    platform = Engine(tmp_path)
    ask = cloud_metadata.asked_there(replace(fake_world(platform=platform), root=ROOT))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        told = json.loads(ask("PUT", f"{url}/token", {"Metadata-Flavor": "Google"}))
        assert told == ["PUT", "/token", "Google"]
        with pytest.raises(OSError, match="HTTP Error 403"):
            ask("GET", f"{url}/no", {})
        server.shutdown()


def test_answers_of_several_machines_are_one() -> None:
    one = cloud_metadata.MetadataAnswer(
        "gcp", "n2", {"vm1:/mnt": {"sdb": {}}}, ("a",), (), "down"
    )
    other = cloud_metadata.MetadataAnswer(
        "gcp", "n2", {"vm2:/mnt": {"sdb": {}}}, ("b",), ("b",), "down"
    )
    both = recorded([one, other])
    assert (both["machine"], both["failure"]) == ("n2", "down")
    assert both["machines"] == ["n2"]
    assert both["differences"] == ["a", "b"]
    assert list(both["disks"]) == ["vm1:/mnt", "vm2:/mnt"]


def test_only_the_link_local_address_is_ever_asked() -> None:
    for url in (AZURE_URL, AWS_TOKEN_URL, AWS_URL, GCP_URL):
        assert url.startswith("http://169.254.169.254/")
