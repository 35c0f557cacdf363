"""`--enforcement`: a profile of a catalog row on the volumes of a Kubernetes cluster.

Method: the whole plan of what was asked; the classes are golden files, as of rows by themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.errors import UsageError
from orchestrator.extensions.kubernetes import class_manifests
from orchestrator.model import Plan
from tests import golden
from tests.apps import an_app


def planned(cache: Path, *profiles: str, **options: Any) -> Plan:
    options = {"platform": "kubernetes", "enforcement": "storage-class", **options}
    request = Request(
        profiles=profiles,
        workloads=["insert"],
        database="postgresql",
        scale="smoke",
        **options,
    )
    return plans.make_plan(an_app(cache), request)


@pytest.mark.parametrize("name", ["premium", "premium-v2", "ultra"])
def test_the_disks_of_a_profile_become_volumes_of_a_class(
    name: str, tmp_path: Path
) -> None:
    (profile,) = planned(tmp_path, name).profiles
    wanted, tier = profile.tier.disk.storage_class, profile.tier
    assert (
        tier.disk.kind == "storage-class"
        and wanted is not None
        and wanted.size_bytes is not None
    )
    assert wanted.nodes == profile.cluster.nodes == 3
    text = f"# claims ask for {wanted.size_bytes // 2**30}Gi\n{class_manifests.manifest(wanted)}"
    golden.compare(f"storage-classes/profile-{name}.yaml", text)
    emulated = planned(tmp_path, name, enforcement=None).profiles[0].tier
    assert emulated.disk.kind == "emulated"
    same = emulated.limits
    assert (tier.limits.iops, tier.limits.bytes_per_s) == (same.iops, same.bytes_per_s)


@pytest.mark.parametrize(
    ("tier", "what"),
    [
        (
            "{enforcement: emulated, iops: 500, throughput: 60MB/s}",
            "needs a `storage_class`, or",
        ),
        (
            "{type: azure/L8s_v3-nvme}",
            "no Kubernetes driver makes volumes of azure/L8s_v3-nvme",
        ),
    ],
    ids=["figures", "a local disk"],
)
def test_what_no_class_can_be_made_of_is_refused(
    tier: str, what: str, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"question: q\ntitle: Mine\ntier: {tier}\ncluster: azure-d8s-v5\n")
    with pytest.raises(UsageError) as refused:
        planned(tmp_path, str(mine))
    (mistake,) = refused.value.mistakes
    assert what in mistake.what


def test_only_kubernetes_has_such_volumes(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="volumes of a StorageClass, which docker does not have"
    ):
        planned(tmp_path, "ultra", platform=None)
