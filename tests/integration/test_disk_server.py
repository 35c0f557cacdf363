"""The container that serves an emulated disk: its rights, what it leaves, and what it and the
kernel count of the same requests."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.system.clock import wait_until, wait_while
from orchestrator.tiers.common.emulated import host_load, running_disks
from orchestrator.tiers.common.gate import fio_jobs
from tests.integration import mount_points
from tests.integration.conftest import measured
from tests.integration.emulated_disks import SMALL, device
from tests.tiers import changed

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]


def test_a_disk_that_is_killed_leaves_no_device(world: World) -> None:
    """Its container holds the device from the first moment on, which goes with its last holder."""
    image = own_images.need(world.root, "disk", world.platform)
    folder = world.cache / "disks"
    folder.mkdir(parents=True, exist_ok=True)
    started = docker(
        *("run", "--detach", "--volume", "/dev:/dev", "--volume", f"{folder}:/disks"),
        *("--cap-add", "SYS_ADMIN", "--cap-add", "MKNOD"),
        *("--security-opt", "apparmor=unconfined"),
        *("--device-cgroup-rule", "b 7:* rwm", "--device-cgroup-rule", "c 10:237 rwm"),
        *(image, "raw", "--image", "/disks/killed.img", "--bytes", str(300 * 2**20)),
    )
    try:
        begins = partial(_line_of, started, "{")
        ready = wait_until(begins, deadline_s=30, clock=world.clock)
        device = json.loads(ready)["device"]
        loop = Path("/sys/block") / Path(device).name / "loop"
        assert (loop / "autoclear").read_text() == "1\n"
        docker("kill", started)
        gone = not wait_while(loop.exists, deadline_s=10, clock=world.clock)
        assert gone, f"{device} is still attached"
    finally:
        docker("rm", "--force", started)
        (folder / "killed.img").unlink(missing_ok=True)


def _line_of(container: str, begin: str) -> str:
    for line in docker("logs", container).splitlines():
        if line.startswith(begin):
            return line
    return ""


def docker(*words: str) -> str:
    done = subprocess.run(
        ["docker", *words], capture_output=True, text=True, check=True
    )
    return (done.stdout + done.stderr).strip()


def test_what_the_host_cannot_store_is_refused_and_counted(
    world: World, tmp_path: Path
) -> None:
    """The image is larger than the file system that holds it."""
    small = mount_points.made(tmp_path / "small.img", "ext4", 256 * 2**20)
    with (
        mount_points.mounted_at(tmp_path / "small", str(small), "loop") as place,
        device(SMALL, replace(world, cache=place / "cache")) as volume,
    ):
        assert volume.server is not None and volume.server.container
        stats = partial(running_disks.ask, volume.server.container, ("stats",), world)
        assert stats()["host_errors"] == 0
        argv = ["dd", "if=/dev/zero", f"of={volume.device}", "oflag=direct"]
        errors = 0
        for block in ("256k", "8k"):  # of loading, and of a database's page
            refused = subprocess.run(
                [*argv, f"bs={block}"], capture_output=True, text=True, check=False
            )
            assert refused.returncode != 0 and "error writing" in refused.stderr
            before = errors
            errors = stats()["host_errors"]
            assert errors > before
        said = docker("logs", volume.server.container)
        # By the begin of this line the cause of a run that failed is found.
        why = (
            "tierdisk: the host cannot store or read the image: No space left on device"
        )
        assert said.splitlines().count(why) == 1


SYNCING = (
    *(
        "fio",
        "--name=sync",
        "--directory=/tier",
        "--size=16m",
        "--ioengine=psync",
        "--bs=8k",
    ),
    *("--rw=randwrite", "--fdatasync=1", "--numjobs=4", "--time_based", "--runtime=5"),
)
LARGE = (
    *(
        "fio",
        "--name=large",
        "--directory=/tier",
        "--size=64m",
        "--ioengine=psync",
        "--bs=1m",
    ),
    *("--rw=write", "--direct=1", "--time_based", "--runtime=3"),
)


@pytest.mark.slow
@measured
def test_the_kernel_counts_what_the_disk_was_asked(world: World) -> None:
    """A loop device with a write cache gets empty flushes, of which the kernel counts some as
    writes: 187 a second where the disk served 147."""
    tier = changed(SMALL, iops=150, read_latency_s=None, write_latency_s=None)
    with device(tier, world) as volume, fio_jobs.fio_on(volume, world) as fio:
        for load in (SYNCING, LARGE):
            before = host_load.read(volume, world)
            done = fio.container.exec(load, timeout_s=60)
            after = host_load.read(volume, world)
            assert done.exit_code == 0, done
            served_ios = after.disk["write"]["ops"] - before.disk["write"]["ops"]
            assert served_ios > 300
            found = host_load.counted_apart(before, after)
            assert found["write"]["served"] == served_ios
            assert found["write"]["apart_pct"] < 2, found
            assert after.disk["flushes"] == before.disk["flushes"]


SINGLE = (
    "fio",
    "--name=single",
    "--directory=/tier",
    "--size=32m",
    "--ioengine=psync",
    "--direct=1",
)
FILLING = (*SINGLE, "--rw=write", "--bs=256k")
ONE_AT_A_TIME = (
    *SINGLE,
    *("--rw=randrw", "--bs=4k", "--time_based", "--runtime=4", "--output-format=json"),
)


@pytest.mark.slow
@measured
def test_the_overhead_in_a_window_is_between_what_kernel_and_server_saw(
    world: World,
) -> None:
    """With one request at a time nothing queues, so fio sees what the kernel sees, and on a busy
    machine also how long it waits for a CPU."""
    tier = changed(
        SMALL, iops=None, bytes_per_s=None, read_latency_s=5e-4, write_latency_s=5e-4
    )
    with device(tier, world) as volume, fio_jobs.fio_on(volume, world) as fio:
        assert fio.container.exec(FILLING, timeout_s=60).exit_code == 0
        before = host_load.read(volume, world)
        done = fio.container.exec(ONE_AT_A_TIME, timeout_s=60)
        found = host_load.overheads(before, host_load.read(volume, world))
        (job,) = json.loads(done.out)["jobs"]
        assert 0 < found["queue_depth"] < 1.1
        for way in ("read", "write"):
            of_fio_us = job[way]["clat_ns"]["mean"] / 1e3
            assert found[way]["ios"] == pytest.approx(job[way]["total_ios"], rel=0.05)
            assert 450 <= found[way]["device_us"] <= of_fio_us * 1.05  # 500 declared
            assert 0 < found[way]["overhead_us"] < found[way]["device_us"] / 2


def test_the_disks_container_has_no_right_that_it_does_not_need(world: World) -> None:
    with device(SMALL, world) as volume:
        assert volume.server is not None and volume.server.container
        argv = [
            "docker",
            "inspect",
            "-f",
            "{{json .HostConfig}}",
            volume.server.container,
        ]
        said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        given = json.loads(said)
        queue = Path("/sys/block") / Path(volume.device).name / "queue"
        assert (queue / "write_cache").read_text().strip() == "write through"
        assert (queue / "max_sectors_kb").read_text().strip() == "256"
    # Settings outlive a loop device, and the next one may be no disk of ours.
    assert (queue / "max_sectors_kb").read_text().strip() != "256"
    assert given["NetworkMode"] == "none" and given["ReadonlyRootfs"]
    assert given["CapDrop"] == ["ALL"] and "no-new-privileges" in given["SecurityOpt"]
    wished = {"SYS_RESOURCE"}  # not on a host whose capability bounding set is cut
    assert set(given["CapAdd"]) - wished == {"SYS_ADMIN", "MKNOD", "DAC_OVERRIDE"}
    assert given["DeviceCgroupRules"] == ["b 7:* rwm", "c 10:229 rwm", "c 10:237 rwm"]
