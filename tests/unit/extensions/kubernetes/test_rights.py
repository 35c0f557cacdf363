"""The rights that `doctor` looks for, that calls of the platform need, and that docs/KUBERNETES.md
asks for: they are the same. `FakeCluster.close` holds the calls of every other test against them.
"""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest
import yaml

from orchestrator.errors import RunError, UnavailableError
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.model import Placing
from orchestrator.powers import NETWORK_OF, ContainerSpec
from orchestrator.system.clock import SystemClock, wait_until
from tests import ROOT
from tests.documented import examples
from tests.fake_cluster import FakeCluster, placed_rights_of_doctor, rights_of_doctor

GIVEN = "bench"
NAMESPACE = f"/api/v1/namespaces/{GIVEN}"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1"


def spec(name: str, **more: object) -> ContainerSpec:
    given: dict[str, object] = {"entrypoint": ("sleep",), "placement": "node-1", **more}
    return ContainerSpec(name, "debian:trixie-slim", ("infinity",), "database", **given)  # type: ignore[arg-type]


def test_each_right_that_is_looked_for_is_used(cluster: FakeCluster) -> None:
    all_of_a_campaign(cluster)
    assert sorted(rights_of_doctor() - cluster.rights()) == []


def test_in_a_given_namespace_rights_are_needed_there_alone(
    cluster: FakeCluster,
) -> None:
    """But for what is in no namespace."""
    given(cluster)
    all_of_a_campaign(cluster, namespace=GIVEN)
    asked = cluster.placed_rights() - {("", "get namespaces")}
    assert {place for place, _ in asked} == {"", GIVEN}
    assert sorted(placed_rights_of_doctor(GIVEN) ^ asked) == []


def test_a_given_namespace_and_what_others_have_in_it_stay(
    cluster: FakeCluster,
) -> None:
    """Also a service and a claim without a label, and things of a live campaign that has another
    namespace."""
    given(cluster)
    foreign = {
        f"{NAMESPACE}/services/web": {},
        f"{NAMESPACE}/secrets/registry": {},
        f"{NAMESPACE}/pods/web": {},
        f"{NAMESPACE}/persistentvolumeclaims/web": {},
        "/api/v1/namespaces/other/pods/x": {"tierbench": "1", "tierbench.campaign": "a"},
        "/api/v1/persistentvolumes/a": {"tierbench": "1", "tierbench.campaign": "a"},
        "/api/v1/persistentvolumes/b": {
            "tierbench": "1", "tierbench.campaign": "b", "tierbench.namespace": "other",
        },
        "/apis/storage.k8s.io/v1/storageclasses/a": {"tierbench": "1", "tierbench.campaign": "a"},
    }  # fmt: skip
    for path, labels in foreign.items():
        cluster.things[path] = thing(path, labels)
    before = set(cluster.things)
    all_of_a_campaign(cluster, namespace=GIVEN)
    assert before - set(cluster.things) == set()
    ours = [path for path in set(cluster.things) - before if f"/{GIVEN}/" in path]
    assert [path for path in ours if "/jobs/" not in path] == []


def test_the_job_that_ends_what_is_rented_ends_with_the_campaign(
    cluster: FakeCluster,
) -> None:
    """It would go with a namespace of the campaign's own."""
    given(cluster)
    with KubernetesPlatform(SystemClock(), Placing(namespace=GIVEN)).guard.held():
        (job,) = (
            one for path, one in cluster.things.items() if f"/{GIVEN}/jobs/" in path
        )
        assert job["spec"]["activeDeadlineSeconds"] > 1
    assert job["spec"]["activeDeadlineSeconds"] == 1


def test_what_a_dead_campaign_left_in_a_given_namespace_goes(
    cluster: FakeCluster,
) -> None:
    given(cluster)
    labels = {
        "tierbench": "1",
        "tierbench.campaign": "dead",
        "tierbench.namespace": GIVEN,
    }
    for path in (f"{NAMESPACE}/services/nodes", "/api/v1/persistentvolumes/dead"):
        cluster.things[path] = thing(path, labels)
    platform = KubernetesPlatform(SystemClock(), Placing(namespace=GIVEN))
    left = ("network nodes", "volume dead")
    assert platform.sweep(only_list=True) == left
    assert platform.sweep() == left
    assert cluster.names("services") == cluster.names("persistentvolumes") == []


def test_what_a_campaign_of_a_given_namespace_has_outside_is_not_swept_by_others(
    cluster: FakeCluster,
) -> None:
    path = "/api/v1/persistentvolumes/b"
    labels = {"tierbench": "1", "tierbench.campaign": "b", "tierbench.namespace": GIVEN}
    cluster.things[path] = thing(path, labels)
    KubernetesPlatform(SystemClock()).sweep()
    assert cluster.names("persistentvolumes") == ["b"]


def test_a_service_of_others_that_has_the_name_of_ours_is_left_alone(
    cluster: FakeCluster,
) -> None:
    given(cluster)
    cluster.things[f"{NAMESPACE}/services/nodes"] = thing("x/nodes", {})
    platform = KubernetesPlatform(SystemClock(), Placing(namespace=GIVEN))
    with (
        platform.guard.held(),
        pytest.raises(UnavailableError, match="did not make: it is left alone"),
        platform.network("network", 1),
    ):
        pass
    assert cluster.names("services") == ["nodes"]


def thing(path: str, labels: dict[str, str]) -> dict[str, Any]:
    metadata = {
        "name": path.rpartition("/")[2],
        "labels": labels,
        "resourceVersion": "1",
    }
    return {
        "metadata": metadata,
        "provisioner": "others",
        "spec": {"nodeName": "vm-1"},
        "status": {},
    }


def given(cluster: FakeCluster) -> None:
    """A namespace that others have made."""
    for path in (NAMESPACE, f"{NAMESPACE}/serviceaccounts/default"):
        cluster.things[path] = thing(path, {})


def all_of_a_campaign(cluster: FakeCluster, namespace: str | None = None) -> None:
    """All that a campaign can do to a cluster, once."""
    cluster.things["/api/v1/namespaces/default/secrets/registry"] = {
        "metadata": {"name": "registry"}, "type": "kubernetes.io/dockerconfigjson", "data": {},
    }  # fmt: skip
    cluster.things[f"{SNAPSHOTS}/volumesnapshotclasses/shots"] = {
        "metadata": {"name": "shots"}, "driver": "disk.test", "deletionPolicy": "Delete",
    }  # fmt: skip
    placing = Placing(namespace=namespace, image_pull_secrets=("registry",))
    platform = KubernetesPlatform(SystemClock(), placing)
    platform.pods.look_every_s = 0.0
    platform.claims.binding_s = 0.0  # looked at once: nothing here depends on time
    assert platform.free_cpus(1) > 0
    with platform.guard.held(), platform.network("network", 1):
        with (
            platform.volume("disk", "/dev/loop9", "xfs", "node-1"),
            platform.running(
                spec("runs", environment={"PASSWORD": "x"}, ports={5432: None})
            ) as container,
        ):
            platform.container("runs").exec(("true",), timeout_s=20)
            with socket.create_connection(
                ("127.0.0.1", container.ports[5432])
            ) as connection:
                connection.recv(1)
            platform.once(spec("helper", network=f"{NETWORK_OF}runs"), 20)
            platform.container("runs").logs()
            platform.container("runs").stop(5)
        with pytest.raises(RunError, match="got no volume"):
            manifest = {"metadata": {"name": "fast"}, "provisioner": "disk.test"}
            with (
                platform.claims.storage_class(manifest),
                platform.claims.claim("data", "fast", 2**30),
            ):
                make_ready(cluster, platform)
                with platform.claims.snapshot("kept", "data", 60, stays=False):
                    pass
                platform.claims.rented("data", 0.1)
        with platform.running(spec("lost", placement="")):
            cluster.lose("vm-0")
        platform.sweep()
        platform.guard.beats.renew()


def make_ready(cluster: FakeCluster, platform: KubernetesPlatform) -> None:
    """As a snapshot controller does, once the snapshot is made, however long that takes."""
    path = f"{SNAPSHOTS}/namespaces/{platform.space.namespace}/volumesnapshots/kept"
    status = {"status": {"readyToUse": True}}

    def await_snapshot() -> None:
        is_there = wait_until(
            lambda: path in cluster.things, deadline_s=60.0, clock=SystemClock()
        )
        assert is_there
        cluster.things[path].update(status)

    threading.Thread(target=await_snapshot, daemon=True).start()


def manifests_of_the_job() -> list[dict[str, Any]]:
    """What docs/recipes/in-cluster.md applies."""
    text = (ROOT / "docs/recipes/in-cluster.yaml").read_text()
    return [*yaml.safe_load_all(text)]


def roles_of_the_job() -> dict[str, dict[str, Any]]:
    """Kind → the role; docs/KUBERNETES.md names them for a namespace that somebody was given."""
    roles: dict[str, dict[str, Any]] = {}
    for manifest in manifests_of_the_job():
        if manifest["kind"] in ("Role", "ClusterRole"):
            assert manifest["kind"] not in roles, "one of each"
            roles[manifest["kind"]] = manifest
    return roles


def test_the_documented_role_gives_what_is_looked_for_and_no_more() -> None:
    (text,) = examples("KUBERNETES.md", "Rights")
    everywhere, in_default = yaml.safe_load_all(text)
    assert rights_in(everywhere) | rights_in(in_default) == rights_of_doctor()
    assert rights_in(everywhere) & rights_in(in_default) == set()
    assert in_default["metadata"]["namespace"] == "default"


def test_leases_of_controllers_are_out_of_reach(cluster: FakeCluster) -> None:
    """By those of `kube-system` the cluster's own controllers know their leader."""
    (text,) = examples("KUBERNETES.md", "Rights")
    for role in (*yaml.safe_load_all(text), *roles_of_the_job().values()):
        for rule in role["rules"]:
            if "leases" in rule["resources"] and rule["verbs"] != ["create"]:
                assert role["kind"] == "Role"
                assert rule["resourceNames"] == ["tierbench-campaign"]
    asked: list[dict[str, Any]] = []

    def allows(attributes: dict[str, Any]) -> bool:
        asked.append(attributes)
        return True

    cluster.allows = allows
    list(KubernetesPlatform(SystemClock()).examine())
    leases = [each for each in asked if each["resource"] == "leases"]
    names = {each["verb"]: each.get("name", "") for each in leases}
    one = "tierbench-campaign"
    assert names == {"get": one, "create": "", "patch": one, "delete": one}
    assert {each["namespace"] for each in leases} == {"default"}


def test_the_documented_role_of_a_given_namespace_gives_what_is_looked_for_and_no_more() -> (
    None
):
    roles = roles_of_the_job()
    assert roles["Role"]["metadata"]["namespace"] == GIVEN
    places = {"Role": GIVEN, "ClusterRole": ""}
    found = {
        (places[kind], right)
        for kind, role in roles.items()
        for right in rights_in(role)
    }
    assert found == placed_rights_of_doctor(GIVEN)


def test_the_recipes_job_is_bound_to_its_roles() -> None:
    manifests = manifests_of_the_job()
    roles = roles_of_the_job()
    bound = {each["roleRef"]["name"] for each in manifests if "roleRef" in each}
    assert bound == {role["metadata"]["name"] for role in roles.values()}
    (account,) = {str(each["subjects"]) for each in manifests if "roleRef" in each}
    assert account == str(
        [{"kind": "ServiceAccount", "name": "tierbench", "namespace": GIVEN}]
    )


def rights_in(role: dict[str, Any]) -> set[str]:
    given = set()
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                name, _, below = resource.partition("/")
                whole = (
                    name
                    + (f".{group}" if group else "")
                    + (f"/{below}" if below else "")
                )
                given |= {f"{verb} {whole}" for verb in rule["verbs"]}
    return given


def test_who_may_not_see_how_many_disks_a_machine_takes_is_told_the_rest(
    cluster: FakeCluster,
) -> None:
    """The documented role does not give it: it is a hint only."""
    cluster.refusals[("GET", "/csinodes")] = (403, "is forbidden")
    found = KubernetesPlatform(SystemClock()).examine()
    assert "storage classes" in [one.subject for one in found]


def test_a_right_that_is_refused_is_said_with_what_it_is_for(
    cluster: FakeCluster,
) -> None:
    cluster.allows = lambda asked: (
        (asked["verb"], asked["resource"]) != ("create", "namespaces")
    )
    (refused,) = (
        one for one in KubernetesPlatform(SystemClock()).examine() if one.ok is False
    )
    assert "create" in refused.subject and "create is refused" in refused.text
