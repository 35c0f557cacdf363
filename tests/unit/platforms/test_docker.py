"""The Docker platform without Docker: an engine with errors, and things of others.

Method: docker-py's client is replaced by that of tests/fake_docker.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.errors import NodeError, RunError, UnavailableError
from orchestrator.platforms import own_images
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.platforms.docker import limits
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import RUNNING, ContainerEntry, ContainerSpec
from tests import ROOT
from tests.fake_docker import RESET, SILENT, Engine, refusal

SPEC = ContainerSpec("tierbench-x", "image", ("true",), "client")


# ------------------------------------------------------------------ an engine with errors


@pytest.mark.parametrize("error", [RESET, SILENT, refusal(503, "starting")])
def test_one_error_ends_nothing(
    engine: Engine, ours: DockerPlatform, error: Exception
) -> None:
    engine.add("container", "node", {"State": {"Running": True}})
    for call in ("get container node", "logs node", "stop node", "list container"):
        engine.errors[call] = [error]
    engine.errors["list volume"] = [error, error]
    assert ours.container("node").state().words == "running"
    assert ours.container("node").logs() == "a line\n"
    ours.container("node").stop(3)
    assert ours.sweep() == ()
    assert not any(engine.errors.values()), "each was raised"


def test_an_engine_that_is_gone_is_asked_for_a_minute(
    engine: Engine, ours: DockerPlatform
) -> None:
    engine.errors["get container node"] = [RESET] * 1000
    began_s = engine.clock.time_s
    with pytest.raises(UnavailableError, match="does not answer"):
        ours.container("node").state()
    assert 45 < engine.clock.time_s - began_s <= 60


def test_an_answer_is_not_asked_for_twice(engine: Engine, ours: DockerPlatform) -> None:
    engine.errors["get container node"] = [refusal(500, "odd"), refusal(500, "odd")]
    with pytest.raises(RunError, match="odd"):
        ours.container("node").state()
    assert engine.calls.count("get container node") == 1


def test_a_container_that_lost_its_network_does_not_count_as_running(
    engine: Engine, ours: DockerPlatform
) -> None:
    networks = {"tierbench-net": {"IPAddress": "172.28.0.2"}}
    settings = {"Networks": networks}
    node = engine.add(
        "container", "node", {"State": {"Running": True}, "NetworkSettings": settings}
    )
    assert ours.container("node").state().words == "running"
    networks.clear()  # as after `docker network disconnect`
    assert ours.container("node").state().words == "cut off from its network"
    node.attrs["HostConfig"] = {"NetworkMode": "host"}
    assert ours.container("node").state().words == "running"


def test_a_container_that_was_not_started_has_not_ended(
    engine: Engine, ours: DockerPlatform
) -> None:
    state = {"Running": False, "Status": "created", "ExitCode": 0}
    engine.add("container", "node", {"State": state})
    assert ours.container("node").state().exit_code is None
    assert ours.container("node").state().words == "created"
    state["Status"] = "exited"
    assert ours.container("node").state().exit_code == 0


@pytest.mark.parametrize("call", ["create container tierbench-x", "start tierbench-x"])
def test_changes_are_not_repeated(
    engine: Engine, ours: DockerPlatform, call: str
) -> None:
    engine.errors[call] = [RESET]
    with pytest.raises(UnavailableError), ours.running(SPEC):
        pass
    assert engine.calls.count(call) == 1
    assert engine.names("container") == []


def test_a_slow_command_is_no_dead_engine(engine: Engine, ours: DockerPlatform) -> None:
    engine.lasts_s = 90.0
    with pytest.raises(RunError, match="tierbench-x did not end within 60 s") as late:
        ours.once(SPEC, timeout_s=60)
    assert "engine" not in late.value.what and late.value.evidence == "a line\n"
    assert engine.names("container") == []


def test_a_connection_lost_in_a_command_is_renewed(
    engine: Engine, ours: DockerPlatform
) -> None:
    engine.lasts_s, engine.errors["get container tierbench-x"] = 5.0, [RESET] * 2
    assert ours.once(SPEC, timeout_s=60).exit_code == 0


# ------------------------------------------------------------------ architectures


@pytest.mark.parametrize(
    ("engine_says", "image_says", "wrong"),
    [
        ("x86_64", "amd64", ""),
        ("aarch64", "arm64", ""),
        ("aarch64", "amd64", "is built for amd64; the engine runs on arm64"),
        ("amd64", "arm64", "is built for arm64; the engine runs on amd64"),
        ("armv7l", "arm64", ""),  # not compared
        ("aarch64", "", ""),
        (None, "amd64", ""),
    ],
)
def test_the_architecture_of_an_image_is_held_against_its_engines(
    engine: Engine, engine_says: str | None, image_says: str, wrong: str
) -> None:
    engine.facts["Architecture"] = engine_says
    engine.images.built_for["disk:1"] = image_says
    assert engine.platform().images.mismatch("disk:1") == wrong


def test_an_image_of_ours_for_another_architecture_is_said_before_it_starts(
    engine: Engine,
) -> None:
    engine.facts["Architecture"] = "aarch64"
    tag = own_images.tag(ROOT, "disk")
    engine.images.built_for[tag] = "amd64"
    with pytest.raises(UnavailableError, match="built for amd64") as raised:
        own_images.need(ROOT, "disk", engine.platform())
    assert "it builds its own there" in raised.value.advice
    assert not any("create" in call for call in engine.calls)


# ------------------------------------------------------------------ removing


@contextlib.contextmanager
def measured_in(ours: DockerPlatform) -> Iterator[None]:
    with (
        ours.network("tierbench-n", 1),
        ours.volume("tierbench-v", "", ""),
        ours.running(SPEC),
    ):
        yield


BUSY = refusal(409, "volume is in use")


@pytest.mark.parametrize(
    "call",
    [
        "remove container tierbench-x",
        "remove volume tierbench-v",
        "remove network tierbench-n",
    ],
)
def test_a_failed_removal_is_reported(
    engine: Engine, ours: DockerPlatform, call: str
) -> None:
    engine.errors[call] = [BUSY] * 10_000
    reason = "could not be removed within 20 s: volume is in use"
    with pytest.raises(RunError, match=reason), measured_in(ours):
        pass
    assert engine.calls.count(call) > 10, "it was tried for a while"


def test_a_removal_at_the_second_try_is_no_error(
    engine: Engine, ours: DockerPlatform
) -> None:
    engine.errors["remove network tierbench-n"] = [refusal(403, "has active endpoints")]
    engine.errors["remove container tierbench-x"] = [
        refusal(500, "no exit event"),
        RESET,
    ]
    with measured_in(ours):
        pass
    assert engine.things == []


def test_an_error_in_removing_does_not_hide_another(
    engine: Engine, ours: DockerPlatform
) -> None:
    engine.errors["remove container tierbench-x"] = [BUSY] * 10_000
    with pytest.raises(NodeError, match="node-1 died") as failed, measured_in(ours):
        raise NodeError("node-1 died")
    assert any("could not be removed" in note for note in failed.value.__notes__)


# As moby and runc say it where the engine itself may not raise a limit (containerd issue 8304).
RLIMIT = "failed to create shim task: error setting rlimits: error setting rlimit type 7: EPERM"


@pytest.mark.parametrize(
    ("words", "limits"),
    [(RLIMIT, []), ("no such device", None)],
    ids=["limits", "another reason"],
)
def test_a_container_starts_without_limits_that_the_engine_may_not_raise(
    engine: Engine, ours: DockerPlatform, words: str, limits: list[Any] | None
) -> None:
    engine.errors["start tierbench-x"] = [refusal(500, words)]
    spec = replace(SPEC, ulimits={"nofile": 1048576})
    expected = pytest.raises(RunError) if limits is None else contextlib.nullcontext()
    with expected, ours.running(spec):
        (container,) = engine.things
        assert container.attrs["HostConfig"]["ulimits"] == limits
    assert engine.names("container") == []


def test_limits_of_a_running_container_are_lifted(
    engine: Engine, ours: DockerPlatform
) -> None:
    spec = replace(SPEC, cpus=1.0, memory_bytes=2**28)
    with ours.running(spec) as container:
        container.lift_limits()
        left = engine.things[-1].attrs["HostConfig"]
    assert left["cpu_quota"] == -1
    assert left["mem_limit"] == left["memswap_limit"] > 2**50


@pytest.mark.parametrize(("cpus", "quota_us"), [(0.5, 50_000), (None, -1)])
def test_the_processors_of_a_running_container_are_limited(
    engine: Engine, ours: DockerPlatform, cpus: float | None, quota_us: int
) -> None:
    """Of each tenth of a second. None lifts the limit."""
    with ours.running(replace(SPEC, cpus=1.0)) as container:
        assert container.limits is not None
        container.limits.set_cpus(cpus)
        limits_given = engine.things[-1].attrs["HostConfig"]
    assert limits_given["cpu_quota"] == quota_us
    assert limits_given["cpu_period"] == 100_000


def test_limits_in_force_are_read_back() -> None:
    text = (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max processes             unlimited            unlimited            processes \n"
        "Max open files            1024                 524288               files     \n"
    )

    class Kernel(LocalMachine):
        def read(self, path: str) -> str:
            return {"/proc/7/limits": text}[path]

    wishes = {"nofile": 1048576, "nproc": 12000}
    assert limits.ulimits_in_force(wishes, 7, Kernel()) == {
        "nofile": "1024",
        "nproc": "unlimited",
    }
    assert limits.ulimits_in_force({}, 7, Kernel()) == {}


@pytest.mark.parametrize("kind", ["container", "volume"])
def test_things_without_our_label_stay(
    engine: Engine, ours: DockerPlatform, kind: str
) -> None:
    name = {"container": "tierbench-x", "volume": "tierbench-v"}[kind]
    theirs = engine.add(
        kind, name, {"Labels": None, "Config": {"Labels": {"mine": "1"}}}
    )
    with pytest.raises(UnavailableError, match=f"{kind} named {name}") as refused:
        measured_in(ours).__enter__()
    assert f"docker {kind} rm" in refused.value.advice
    assert engine.things == [theirs]
    assert ours.sweep() == () and engine.things == [theirs]


def test_a_leftover_of_ours_is_replaced(engine: Engine, ours: DockerPlatform) -> None:
    engine.add("volume", "tierbench-v", {"Labels": {"tierbench": "1"}})
    engine.add("container", "tierbench-x", {"Config": {"Labels": {"tierbench": "1"}}})
    with measured_in(ours):
        assert engine.names("volume") == ["tierbench-v"]
    assert engine.things == []


# ------------------------------------------------------------------ what stands

STANDS = replace(SPEC, name="tierbench-standing-p15", note="what it is")


def test_what_stands_outlives_sweeps_until_it_is_removed(
    engine: Engine, ours: DockerPlatform
) -> None:
    ours.stand(STANDS)
    for campaign in (ours, engine.platform()):
        assert campaign.sweep() == ()
        assert campaign.find_containers() == (
            ContainerEntry(STANDS.name, "what it is", RUNNING),
        )
    ours.container(STANDS.name).remove(1)
    assert (engine.things, ours.find_containers()) == ([], ())
    ours.container(STANDS.name).remove(1)  # it is gone already


def test_nothing_stays_of_what_cannot_stand(
    engine: Engine, ours: DockerPlatform
) -> None:
    engine.errors[f"start {STANDS.name}"] = [refusal(500, "no such device")] * 2
    with pytest.raises(RunError, match="no such device"):
        ours.stand(STANDS)
    assert engine.things == []


def test_a_sweep_goes_on_and_names_what_stays(
    engine: Engine, ours: DockerPlatform
) -> None:
    for name in ("tierbench-a", "tierbench-b"):
        engine.add("volume", name, {"Labels": {"tierbench": "1"}})
    engine.errors["remove volume tierbench-a"] = [BUSY] * 10_000
    with pytest.raises(RunError, match="tierbench-a could not be removed"):
        ours.sweep()
    assert engine.names("volume") == ["tierbench-a"]


def test_a_leftover_that_stays_blocks_no_campaign(
    engine: Engine, ours: DockerPlatform
) -> None:
    engine.add("volume", "tierbench-a", {"Labels": {"tierbench": "1"}})
    engine.errors["remove volume tierbench-a"] = [BUSY] * 10_000
    with ours.guard.held():
        with pytest.raises(RunError, match="tierbench-a could not be removed"):
            ours.sweep()
        with measured_in(ours):
            assert "tierbench-x" in engine.names("container")
    assert engine.names("volume") == ["tierbench-a"]


@pytest.mark.parametrize(
    "words",
    [
        "invalid pool request: Pool overlaps with other one on this address space",
        "subnet 10.201.77.0/24 is already used on the host or by another config",
    ],
)
def test_a_refused_subnet_is_skipped(
    engine: Engine, ours: DockerPlatform, words: str
) -> None:
    engine.errors["create network tierbench-n"] = [refusal(403, words)]
    with ours.network("tierbench-n", 2) as network:
        assert network.addresses == ("10.202.77.11", "10.202.77.12")


USED = {"Config": [{"Subnet": "10.207.77.0/24"}]}


def test_a_leftover_network_frees_its_addresses(
    engine: Engine, ours: DockerPlatform
) -> None:
    engine.add("network", "tierbench-old", {"Labels": {"tierbench": "1"}, "IPAM": USED})
    addresses = ("10.207.77.11", "10.207.77.12")
    with ours.network("tierbench-n", 2, addresses) as network:
        assert network.addresses == addresses


def test_used_addresses_are_replaced(engine: Engine, ours: DockerPlatform) -> None:
    engine.add("network", "somebody's", {"IPAM": USED})
    for addresses in (("10.207.77.11",), ("node-1.cluster",)):
        with ours.network("tierbench-n", 1, addresses) as network:
            assert network.addresses == ("10.201.77.11",)


# ------------------------------------------------------------------ the machine it runs on


@pytest.mark.parametrize(
    "other", [{}, {"KernelVersion": "5.15-linuxkit"}, {"MemTotal": 2**33}]
)
def test_its_machine_is_this_one_only_if_kernel_and_memory_are(
    engine: Engine, other: dict[str, Any]
) -> None:
    here = LocalMachine().facts()
    engine.facts = {
        "KernelVersion": here.kernel,
        "MemTotal": here.memory_bytes,
        "Name": "vm",
        "NCPU": 3,
    }
    engine.facts |= other
    ours = engine.platform()
    machine = ours.container("tierbench-x").find_machine()
    engine.calls.clear()
    assert ours.machines() == (machine,) and engine.calls == []
    if not other:
        assert machine.exists("/proc/self/stat")
        return
    assert (machine.facts().hostname, machine.facts().cpus) == ("vm", 3)
    with pytest.raises(
        OSError, match=r"the machine vm does not answer: the image .* is not here"
    ):
        machine.read("/proc/stat")


def test_the_record_says_which_engine_it_was(engine: Engine) -> None:
    engine.facts = {"Name": "vm1", "ID": "f3a1", "NCPU": 3}
    facts = engine.platform("tcp://192.0.2.7:2376").facts()
    assert (facts["Name"], facts["Host"], facts["ID"]) == (
        "vm1",
        "tcp://192.0.2.7:2376",
        "f3a1",
    )


def test_an_engine_keeps_only_so_much_of_a_containers_output(
    engine: Engine, ours: DockerPlatform
) -> None:
    """Chatty settings of a database would fill its disk, and this program's memory."""
    with ours.running(SPEC) as container:
        log = engine.things[-1].attrs["HostConfig"]["log_config"]
        assert log.type == "json-file"
        kept_bytes = int(log.config["max-size"]) * int(log.config["max-file"])
        assert kept_bytes == limits.LOG_BYTES
        # An engine that keeps more all the same.
        engine.things[-1].log = b"x" * limits.LOG_BYTES + b"the last line\n"
        text = container.logs()
    assert len(text) == limits.LOG_BYTES and text.endswith("the last line\n")
