"""What pods with named capabilities can do on a real cluster, and what they cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.platforms.kubernetes.engine import KubernetesPlatform
from orchestrator.tiers.common.real import removal
from tests import ROOT

pytestmark = pytest.mark.kubernetes


def test_the_agent_reads_its_machine_and_writes_nothing(campaign: KubernetesPlatform) -> None:
    machine = campaign.machines()[0]
    assert "loop" in machine.read("/proc/diskstats")
    assert machine.is_folder("/var/lib/kubelet/pods"), "which is closed to others"
    assert machine.real_path("/proc/self") != "/proc/self"
    plan = agent.container("writes", own_images.tag(ROOT, "disk"), "node-1")
    script = "touch /host/written || chroot /host touch /written || echo refused"
    done = campaign.once(replace(plan, entrypoint=("sh", "-c"), command=(script,)), 60)
    assert done.out.splitlines()[-1] == "refused"
    campaign.sweep()


def test_a_pod_has_the_capabilities_that_are_named_alone(campaign: KubernetesPlatform) -> None:
    plan = agent.container("rights", own_images.tag(ROOT, "disk"), "node-1")
    plan = replace(plan, entrypoint=("sh", "-c"), capabilities=removal.CAPABILITIES)
    done = campaign.once(
        replace(plan, command=("grep -E 'CapEff|NoNewPrivs' /proc/self/status",)), 60
    )
    # Bits 0 (CHOWN), 1 (DAC_OVERRIDE), 3 (FOWNER) and 4 (FSETID) of linux/capability.h.
    assert done.out.split() == ["CapEff:", "000000000000001b", "NoNewPrivs:", "1"]
