"""What pods with named capabilities can do on a real cluster, and what they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.model import Placing
from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.powers import ContainerSpec, Mount
from orchestrator.system.clock import SystemClock, wait_until
from orchestrator.tiers.common.any_disk import removal
from tests import ROOT
from tests.cluster.cluster import Cluster
from tests.kubernetes.conftest import MANIFESTS

pytestmark = pytest.mark.kubernetes


def test_the_agent_reads_its_machine_and_writes_nothing(
    campaign: KubernetesPlatform,
) -> None:
    machine = campaign.machines()[0]
    assert "loop" in machine.read("/proc/diskstats")
    assert machine.is_folder("/var/lib/kubelet/pods"), "which is closed to others"
    assert machine.real_path("/proc/self") != "/proc/self"
    plan = agent.container("writes", own_images.tag(ROOT, "disk"), "node-1")
    # In one stream: a log may have the lines of two in another order.
    script = "(touch /host/written || chroot /host touch /written || echo refused) 2>&1"
    done = campaign.once(replace(plan, entrypoint=("sh", "-c"), command=(script,)), 60)
    assert done.out.splitlines()[-1] == "refused"
    campaign.sweep()


def test_a_pod_has_the_capabilities_that_are_named_alone(
    campaign: KubernetesPlatform,
) -> None:
    plan = agent.container("rights", own_images.tag(ROOT, "disk"), "node-1")
    plan = replace(plan, entrypoint=("sh", "-c"), capabilities=removal.CAPABILITIES)
    done = campaign.once(
        replace(plan, command=("grep -E 'CapEff|NoNewPrivs' /proc/self/status",)), 60
    )
    # Bits 0 (CHOWN), 1 (DAC_OVERRIDE), 3 (FOWNER) and 4 (FSETID) of linux/capability.h.
    assert done.out.split() == ["CapEff:", "000000000000001b", "NoNewPrivs:", "1"]


def test_no_capability_opens_a_device_so_that_disks_need_a_privileged_pod(
    campaign: KubernetesPlatform,
) -> None:
    """What the server of a disk opens is refused, as docs/SECURITY.md says. Where a cluster lets
    it, disks need not be privileged there."""
    plan = ContainerSpec(
        "devices",
        own_images.tag(ROOT, "disk"),
        (
            "-c",
            "for name in null fuse loop-control; do : <>/dev/$name && echo $name; done 2>&1; :",
        ),
        "client",
        entrypoint=("bash",),
        capabilities=("ALL",),
        mounts=(Mount("/dev", "/dev"),),
    )
    opened, *refused = campaign.once(plan, 60).out.splitlines()
    assert opened == "null"
    assert [line.rpartition("/dev/")[2] for line in refused] == [
        "fuse: Operation not permitted",
        "loop-control: Operation not permitted",
    ]


GIVEN, USER = "bench", "tester"
_ROLES = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture
def given(
    loaded: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KubernetesPlatform]:
    """Who has the documented roles alone, in a namespace that somebody has made."""
    monkeypatch.setenv("KUBECONFIG", str(loaded.kubeconfig))
    api = KubernetesPlatform(SystemClock())._api
    api.make("/api/v1/namespaces", {"metadata": {"name": GIVEN}})
    here = f"/api/v1/namespaces/{GIVEN}"
    api.make(f"{here}/serviceaccounts", {"metadata": {"name": USER}})
    api.make(
        f"{here}/services",
        {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}},
    )
    made = []
    roles = [thing for thing in MANIFESTS if thing["kind"] in ("Role", "ClusterRole")]
    for role in roles:
        kind, name = role["kind"], role["metadata"]["name"]
        place = f"{_ROLES}/namespaces/{GIVEN}" if kind == "Role" else _ROLES
        binding = {
            "metadata": {"name": name},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": kind,
                "name": name,
            },
            "subjects": [{"kind": "ServiceAccount", "namespace": GIVEN, "name": USER}],
        }
        for plural, thing in (
            (f"{kind.lower()}s", role),
            (f"{kind.lower()}bindings", binding),
        ):
            api.make(f"{place}/{plural}", thing)
            made.append(f"{place}/{plural}/{name}")
    token = api.make(f"{here}/serviceaccounts/{USER}/token", {"spec": {}})["status"][
        "token"
    ]
    config = yaml.safe_load(loaded.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    yield KubernetesPlatform(SystemClock(), Placing(namespace=GIVEN))
    assert api.find(here) is not None and api.find(f"{here}/services/web") is not None
    for path in (*made, here):
        api.remove(
            path
        )  # nobody waits for the namespace: it goes with the cluster at the latest


def test_the_documented_roles_are_enough_in_a_given_namespace(
    given: KubernetesPlatform, debian: str
) -> None:
    # The API server sees roles some time after it has stored them.
    assert wait_until(
        lambda: all(one.ok is not False for one in given.examine()),
        deadline_s=60,
        clock=SystemClock(),
    )
    spec = ContainerSpec(
        "runs", debian, ("-c", "sleep 1000"), "client", entrypoint=("sh",), stop_timeout_s=1,
        environment={"PGPASSWORD": "pl4nt3d"}, placement="node-1", network="net",
        address="node-1.nodes",
    )  # fmt: skip
    api: Any = given._api
    with given.guard.held(), given.network("net", 1), given.running(spec) as container:
        done = container.exec(
            ("sh", "-c", "echo $PGPASSWORD; getent hosts node-1.nodes"), timeout_s=60
        )
        assert done.out.startswith("pl4nt3d") and "node-1.nodes" in done.out
        given.guard.beats.renew()
    left = [
        thing["metadata"]["name"]
        for kind in ("container", "secret", "network", "claim")
        for thing in api.listed(given.space.path(kind), "tierbench=1")
    ]
    assert left == []
