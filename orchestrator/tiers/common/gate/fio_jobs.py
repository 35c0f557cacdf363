"""fio on a tier: its jobs run in a container that has the tier mounted, and what they measured."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from orchestrator import errors, model, powers
from orchestrator.tiers.common.any_disk import fio_containers

_JOB_TIMEOUT_S = 600.0
_OUTPUT = "/tmp/fio.json"  # not its standard output, where warnings come first
_CARRIES_P99 = 1000  # requests: ten took longer

Jobs = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class FioContainer:
    """fio in a container that has the tier mounted; its jobs are `workloads/fio/*.fio`."""

    container: powers.Container

    def run(self, job: str, settings: Mapping[str, str]) -> Jobs:
        """Runs a job to its end; returns `jobs[]` of fio's JSON. GateError if fio cannot run."""
        done = self._run(job, settings)
        if done.exit_code != 0:
            raise errors.GateError(
                f"fio could not run {job}: {done.err.strip()[-300:]}",
                evidence=done.out[-2000:],
            )
        written = self.container.exec(("cat", _OUTPUT), timeout_s=30)
        return list(json.loads(written.out)["jobs"])

    def verified(self, settings: Mapping[str, str]) -> bool:
        """Tells if every block read back as written."""
        # fio ends with an error where a block reads back otherwise.
        return bool(self._run("verify", settings).exit_code == 0)

    def _run(self, job: str, settings: Mapping[str, str]) -> Any:
        # `json+` also has the histogram of latencies, which `disk record` reads.
        return self.container.exec(
            ("fio", "--output-format=json+", f"--output={_OUTPUT}", f"/fio/{job}.fio"),
            env={"DIR": "/tier", **settings},
            timeout_s=_JOB_TIMEOUT_S,
        )


StartFio = Callable[
    [model.Volume, powers.World], AbstractContextManager["FioContainer"]
]


@contextmanager
def fio_on(volume: model.Volume, world: powers.World) -> Iterator[FioContainer]:
    """A container with fio and the volume."""
    spec = fio_containers.fio_container(f"{world.scope}-gate", "client", volume, world)
    with world.platform.running(spec) as container:
        yield FioContainer(container)


StartFioOnTwo = Callable[
    [model.Volume, model.Volume, powers.World], AbstractContextManager["FioContainer"]
]


@contextmanager
def fio_on_two(
    first: model.Volume, second: model.Volume, world: powers.World
) -> Iterator[FioContainer]:
    """A container with fio and two volumes."""
    name = f"{world.scope}-gate"
    spec = fio_containers.fio_container(name, "client", first, world, second)
    with world.platform.running(spec) as container:
        yield FioContainer(container)


def in_ms(seconds: float) -> str:
    """A time as fio reads it."""
    return f"{round(1e3 * seconds)}ms"


def random_reads(iodepth: int, block_bytes: int = 4096) -> dict[str, str]:
    """Random reads as one cell of depth.fio."""
    cell = {"RW": "randread", "READ_PCT": "100", "NUMJOBS": "1"}
    return {**cell, "BS": f"{block_bytes // 1024}k", "IODEPTH": str(iodepth)}


def bytes_per_s(job: Mapping[str, Any]) -> float:
    """The rate of reads and writes together. fio's own "iops" would count the time of the last
    requests but not the requests."""
    return float(job["read"]["bw_bytes"] + job["write"]["bw_bytes"])


def median_s(job: Mapping[str, Any], way: str) -> float:
    """The median latency. A mean would include how long fio waited for a processor."""
    return float(job[way]["lat_ns"]["percentile"]["50.000000"] * 1e-9)


def p99_s(job: Mapping[str, Any], way: str) -> float | None:
    """The 99th percentile of latency; None where fewer than ten requests took longer."""
    if job[way].get("total_ios", 0) < _CARRIES_P99:
        return None
    return float(job[way]["lat_ns"]["percentile"]["99.000000"] * 1e-9)
