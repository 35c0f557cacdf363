"""Volumes of a class whose provisioner stands for a cloud's driver, and the outside there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.extensions.kubernetes.storage_class import StorageClassTier
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.system.clock import SystemClock, wait_until
from orchestrator.tier import ClassWanted, Snapshots
from tests import ROOT
from tests.cluster import provisioner
from tests.fakes import fake_world
from tests.tiers import a_tier, changed

NODES, SIZE = 3, 2 * 2**30
XFS = {"csi.storage.k8s.io/fstype": "xfs"}
WANTED = ClassWanted("fast", provisioner.NAME, XFS, SIZE, NODES)
TIER = a_tier("fast", "Fast volumes", "storage-class", None, None, storage_class=WANTED)
COPIES = changed(TIER, snapshots=Snapshots("copy"))
MECHANISM = StorageClassTier()


@pytest.fixture
def world(campaign: KubernetesPlatform, tmp_path: Path) -> Iterator[World]:
    """Afterwards no volume and no class of the campaign is there."""
    disk = own_images.tag(ROOT, "disk")
    # Machines report their images only now and then.
    assert wait_until(
        lambda: campaign.images.present(disk),
        deadline_s=60,
        clock=SystemClock(),
        every_s=1,
    )
    platform: Any = campaign
    made = fake_world(None, tmp_path, SystemClock(), platform)
    yield replace(made, root=ROOT, scope="tierbench-1")
    platform.sweep()
    left = [
        one["metadata"]["name"]
        for one in platform._api.listed("/api/v1/persistentvolumes")
    ]
    assert not left and not platform.claims.storage_classes()
