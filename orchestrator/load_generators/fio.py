"""fio on the tier's disk alone: one short job for each cell of a matrix (orchestrator/matrix.py).

A workload names the job file in `script` and the cells in the option `cells`; its warm-up and
measured time are those of each cell. fio runs inside the one node that `databases/none.py` starts,
with the disk at /tier and the job files at /fio. Its JSON is kept untouched, a file per cell.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.errors import LoadError, Mistake, UsageError
from orchestrator.facts import GeneratorFacts
from orchestrator.metrics import measured
from orchestrator.model import Cluster, ClusterSpec, Measurement, Node, Phase, Workload
from orchestrator.parts import Result
from orchestrator.planning import disk_matrix
from orchestrator.planning.disk_matrix import MatrixCell
from orchestrator.powers import World
from orchestrator.units import format_bytes

FOLDER = "fio"  # of the cells' JSON, below a run's raw files
_OUTPUT = "/tmp/fio.json"  # not its standard output, where warnings come first
_LOAD_TIMEOUT_S = 3600.0
_END_GRACE_S = 120.0  # a deep queue of large blocks drains for a while on a slow disk
_FILE_OF_DISK = 0.8  # the file system's log and metadata need their part
_PERCENTILES = {"latency_p50_s": 0.50, "latency_p95_s": 0.95, "latency_p99_s": 0.99}
# A percentile is given only where ten I/Os lie beyond it, as for transactions. Those in flight at
# the end are not among the ten: fio collects them all at once, so their latency is too long.
_BEYOND = 10


class Fio:
    name = "fio"

    def loader_version(self, workload: Workload, world: World) -> str:
        job = world.root / "workloads" / "fio" / "prepare.fio"
        return hashlib.sha256(job.read_bytes()).hexdigest()[:12]

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        mistakes = list(_mistakes(workload, spec))
        script = world.root / "workloads" / workload.script
        if not script.is_file() or script.parent.name != "fio":
            mistakes.append(Mistake("script", f"there is no {script} below workloads/fio"))
        if mistakes:
            raise UsageError(
                f"workload {workload.name} cannot be run by fio",
                advice="see workloads/disk-matrix.yaml for one that can",
                mistakes=tuple(mistakes),
            )

    @contextmanager
    def client(self, network: str, out: Path, world: World) -> Iterator[Node]:
        """No container of its own: fio runs where the disk is, and its CPU is that node's."""
        yield Node(name="client", role="client")

    def load(self, workload: Workload, cluster: Cluster, client: Node, world: World) -> None:
        """Writes the file in full: an extent never written reads without touching the disk."""
        size = disk_matrix.file_bytes(workload)
        container = _container(cluster)
        argv = ("fio", "/fio/prepare.fio")
        env = {"DIR": "/tier", "SIZE": str(size)}
        done = world.platform.exec(container, argv, env=env, timeout_s=_LOAD_TIMEOUT_S)
        found = world.platform.exec(
            container, ("stat", "--format=%s", "/tier/tierbench.fio"), timeout_s=30
        )
        if done.exit_code != 0 or found.out.strip() != str(size):
            raise LoadError(
                f"fio did not lay out its file of {format_bytes(size)}",
                evidence=(done.out + done.err + found.err)[-4000:],
            )

    def run(
        self, workload: Workload, cluster: Cluster, client: Node, out: Path, world: World
    ) -> tuple[Phase, Phase]:
        """The measured phase begins when the first cell's does and holds all later warm-ups."""
        cells = disk_matrix.planned(workload.options)
        folder = out / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        each_s = workload.warmup_s + workload.measure_s
        start_s = world.clock.now()
        for number, cell in enumerate(cells, start=1):
            left_s = (len(cells) - number + 1) * each_s
            world.progress.step(f"cell {number} of {len(cells)}: {cell.name}", left_s)
            content = _measure(workload, cell, _container(cluster), folder, world)
            (folder / f"{cell.name}.json").write_text(content)
        middle_s = start_s + workload.warmup_s
        return (
            Phase("warm-up", start_s, middle_s),
            Phase("measure", middle_s, max(world.clock.now(), middle_s)),
        )

    def verify(self, workload: Workload, cluster: Cluster, world: World) -> Mapping[str, Any]:
        """Nothing: that the disk keeps what is written is part of the truth gate."""
        return {}

    def read(self, workload: Workload, out: Path, start_s: float, end_s: float) -> Result:
        """Figures of every cell, and under the scope `all` what they say together: throughput is
        the highest plateau of IOPS, latency that of one small I/O alone."""
        cells = disk_matrix.planned(workload.options)
        found: list[Measurement] = []
        versions: set[str] = set()
        for cell in cells:
            content = _json(out / FOLDER / f"{cell.name}.json")
            versions.add(str(content.get("fio version", "")))
            found += cell_figures(cell, content)
        facts = GeneratorFacts(version=", ".join(sorted(versions)), more={"cells": len(cells)})
        return Result((*found, *_together(cells, found)), None, None, facts)


# ------------------------------------------------------------------ before and while it runs


def _mistakes(workload: Workload, spec: ClusterSpec) -> Iterator[Mistake]:
    if spec.database != "none":
        yield Mistake("database", f"must be `none`: fio measures a disk, not {spec.database}")
    try:
        if not disk_matrix.planned(workload.options):
            yield Mistake("options.cells", "is missing: which cells shall be measured?")
    except ValueError as error:
        yield Mistake("options.cells", str(error))
    try:
        size = disk_matrix.file_bytes(workload)
    except ValueError as error:
        yield Mistake("dataset.size", str(error))
        return
    most = int(_FILE_OF_DISK * spec.size.disk_bytes)
    if not 0 < size <= most:
        disk = format_bytes(spec.size.disk_bytes)
        yield Mistake(
            "dataset.size", f"a disk of {disk} takes a file of up to {format_bytes(most)}"
        )


def _container(cluster: Cluster) -> str:
    return cluster.nodes[0].container or ""


def _measure(
    workload: Workload, cell: MatrixCell, container: str, folder: Path, world: World
) -> str:
    """fio's JSON for one cell. LoadError with what fio said where it fails."""
    argv = (
        "fio",
        "--output-format=json+",  # with histograms: percentiles of reads and writes together
        f"--output={_OUTPUT}",
        f"/fio/{Path(workload.script).name}",
    )
    env = _environment(workload, cell)
    with (folder / "commands.txt").open("a") as commands:
        settings = " ".join(f"{key}={shlex.quote(value)}" for key, value in env.items())
        commands.write(f"{settings} {shlex.join(argv)}\n")
    done = world.platform.exec(
        container,
        argv,
        env=env,
        timeout_s=workload.warmup_s + workload.measure_s + _END_GRACE_S,
        watch=(container,),
    )
    if done.exit_code != 0:
        raise LoadError(
            f"fio ended with exit code {done.exit_code} in cell {cell.name}",
            advice="the output of the cells before it is among the raw files of the run",
            evidence=(done.out + done.err)[-4000:],
        )
    return world.platform.exec(container, ("cat", _OUTPUT), timeout_s=30).out


def _environment(workload: Workload, cell: MatrixCell) -> dict[str, str]:
    """What the job file's variables mean is said there."""
    one_way = {100: "read", 0: "write"}.get(cell.read_pct, "rw")
    return {
        "DIR": "/tier",
        "SIZE": str(disk_matrix.file_bytes(workload)),
        "RAMP": f"{round(workload.warmup_s * 1000)}ms",
        "RUNTIME": f"{round(workload.measure_s * 1000)}ms",
        "RW": f"rand{one_way}" if cell.pattern == "random" else one_way,
        "READ_PCT": str(cell.read_pct),
        "BS": str(cell.block_bytes),
        "IODEPTH": str(cell.depth),
        "NUMJOBS": str(cell.threads),
    }


# ------------------------------------------------------------------ raw files to figures


def _json(file: Path) -> Mapping[str, Any]:
    try:
        content: Mapping[str, Any] = json.loads(file.read_text())
    except FileNotFoundError as error:
        raise LoadError(f"{file} is not there: the cell was not measured") from error
    except ValueError as error:
        raise LoadError(f"{file} is not what fio writes: {error}") from error
    return content


def cell_figures(cell: MatrixCell, content: Mapping[str, Any]) -> tuple[Measurement, ...]:
    """The figures of one cell from fio's JSON, reads and writes together; scope is its name.

    Rates are from bytes, as in the truth gate. LoadError where fio counted an error, or no I/O.
    """
    (job,) = content["jobs"]
    if job["error"]:
        raise LoadError(f"fio counted error {job['error']} in cell {cell.name}")
    both = [job["read"], job["write"]]
    bytes_per_s = float(sum(one["bw_bytes"] for one in both))
    counts = [int(one["lat_ns"]["N"]) for one in both]
    count = sum(counts)
    if not count or not bytes_per_s:
        raise LoadError(f"cell {cell.name}: no I/O ended in its time", advice="measure for longer")
    total_ns = sum(n * one["lat_ns"]["mean"] for n, one in zip(counts, both, strict=True))
    figures = {
        "iops": bytes_per_s / cell.block_bytes,
        "bytes_per_s": bytes_per_s,
        "transactions": float(count),
        "latency_avg_s": total_ns / count * 1e-9,
        **_percentiles([one["lat_ns"].get("bins", {}) for one in both], cell.in_flight),
    }
    return tuple(measured(metric, value, cell.name) for metric, value in figures.items())


def _percentiles(histograms: Sequence[Mapping[str, int]], in_flight: int) -> dict[str, float]:
    """Of histograms (ns → count) taken together, by the nearest rank."""
    together: dict[int, int] = {}
    for bins in histograms:
        for value, number in bins.items():
            together[int(value)] = together.get(int(value), 0) + int(number)
    count = sum(together.values())
    return {
        metric: _ranked(together, math.ceil(share * count)) * 1e-9
        for metric, share in _PERCENTILES.items()
        if count - math.ceil(share * count) >= _BEYOND + in_flight
    }


def _ranked(counts: Mapping[int, int], rank: int) -> int:
    seen = 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= rank:
            return value
    raise ValueError(f"rank {rank} is beyond the {seen} that were counted")


def _together(cells: Sequence[MatrixCell], found: Sequence[Measurement]) -> Iterator[Measurement]:
    """Ceilings only where they were reached: a disk that was never busy has shown none."""
    rows = disk_matrix.table(cells, {(m.metric, m.scope): m.value for m in found})
    for metric in ("iops", "bytes_per_s"):
        for way, ceiling in disk_matrix.ceilings(rows, metric).items():
            if metric == "iops" and way == "all":
                yield measured("throughput_per_s", ceiling.value)
            if ceiling.reached:
                yield measured(f"{metric}_ceiling", ceiling.value, way)
    alone = disk_matrix.lightest(rows)
    for metric in disk_matrix.FIGURES:
        if metric.startswith("latency_") and not math.isnan(alone[metric]):
            yield measured(metric, float(alone[metric]))
    native = disk_matrix.native_io_bytes(rows)
    if native is not None:
        yield measured("native_io_bytes", native)
    for law in disk_matrix.depth_laws(rows):
        yield measured("latency_per_depth_s", law.slope_s, law.scope)
