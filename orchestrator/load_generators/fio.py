"""fio on the tier's disk alone: one short job for each point of the disk matrix.

A workload names the job file in `script` and the points in the option `cells`
(design/disk_matrix.py); its warm-up and measured time are those of each point. fio runs inside
the one node that `databases/none.py` starts, with the disk at /tier and the job files at /fio. Its
JSON is kept untouched, one file per point."""

import hashlib
import json
import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator import parts, units
from orchestrator.design import disk_matrix, latency_quantiles
from orchestrator.design.disk_matrix import MatrixCell
from orchestrator.errors import KeyPlace, LoadError, Mistake, require_none
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.common import options, program_output
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.metrics import measured
from orchestrator.model import Cluster, ClusterSpec, Measurement, Node, Phase, Workload
from orchestrator.platforms import own_images
from orchestrator.powers import Container, World
from orchestrator.system import files

# Keys that its workloads take; threads are those of each point.
KEYS = {"options": ("cells",), "dataset": ("size",), "scale": ("warmup", "measure")}
FOLDER = "fio"  # the folder of the points' JSON, below a run's raw files
_OUTPUT = "/tmp/fio.json"  # not its standard output, which begins with warnings
_LOAD_TIMEOUT_S = 3600.0
_END_GRACE_S = 120.0  # a deep queue of large blocks drains for a while on a slow disk
_FILE_OF_DISK = 0.8  # the file system's log and metadata need the rest
_PERCENTILES = {"latency_p50_s": 0.50, "latency_p95_s": 0.95, "latency_p99_s": 0.99}
_WAYS = {"read_bytes": "read", "written_bytes": "write"}  # our words → fio's
_BEYOND = 10  # I/Os beyond a percentile that is given, as for transactions


class Fio(parts.LoadGenerator):
    """Nothing is verified after a run: the integrity of the disk is part of the truth gate."""

    name = "fio"

    @property
    def abilities(self) -> parts.LoadAbilities:
        return parts.LoadAbilities(points=parts.MeasuredPoints(FOLDER, self.so_far))

    def loader_version(self, workload: Workload, world: World) -> str:
        job = world.root / "workloads" / "fio" / "prepare.fio"
        return hashlib.sha256(job.read_bytes()).hexdigest()[:12]

    def scripts(self, workload: Workload, world: World) -> str:
        """Returns a hash of all job files."""
        return own_images.content_hash(world.root / "workloads" / "fio")

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        mistakes: list[Mistake] = []
        for key, what in mistakes_in(workload, spec):
            mistakes.append(Mistake.at(KeyPlace("").below_path(key), what))
        script = world.root / "workloads" / workload.script
        if not script.is_file() or script.parent.name != "fio":
            mistakes.append(
                Mistake.at(
                    KeyPlace("", ("script",)),
                    f"there is no {script} below workloads/fio",
                )
            )
        what = f"workload {workload.name} cannot be run by fio"
        require_none(mistakes, what, "see workloads/disk-matrix.yaml for one that can")

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        """Writes the file in full: an extent never written is read without touching the disk."""
        size = disk_matrix.file_bytes(workload)
        container = _container(cluster, world)
        argv = ("fio", "/fio/prepare.fio")
        env = {"DIR": "/tier", "SIZE": str(size)}
        done = container.exec(argv, env=env, timeout_s=_LOAD_TIMEOUT_S)
        stat = ("stat", "--format=%s", "/tier/tierbench.fio")
        status = container.exec(stat, timeout_s=30)
        if done.exit_code != 0 or status.out.strip() != str(size):
            what = f"fio did not lay out its file of {units.format_bytes(size)}"
            raise LoadError(what, evidence=done.tail() + status.err)

    def run(self, load: parts.ClientLoad) -> tuple[Phase, Phase]:
        """Runs fio for each point that an earlier run of the cell has not left in `out`, at least
        the last. `measure` begins with the first point's, and has the later warm-ups in it."""
        folder = files.make_folder(load.out, FOLDER)
        points = _points_left(load.workload, folder)
        clock = load.world.clock
        start_s = clock.now()
        middle_s = start_s + load.workload.warmup_s
        load.world.window_begins(middle_s)
        _measure_all(load, points, folder)
        end_s = max(clock.now(), middle_s)
        return Phase("warm-up", start_s, middle_s), Phase("measure", middle_s, end_s)

    def so_far(self, workload: Workload, out: Path) -> tuple[Measurement, ...]:
        figures: list[Measurement] = []
        for point in disk_matrix.planned(workload.options):
            file = out / FOLDER / f"{point.name}.json"
            if file.is_file():
                figures += point_figures(point, _json(file))
        return tuple(figures)

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> parts.Result:
        """Returns the figures of every point, and with scope `all` those of the whole matrix:
        throughput is the highest plateau of IOPS, latency that of one small I/O alone."""
        # It needs a library of tables, for which whoever only plans does not wait.
        from orchestrator.analysis.figures.matrix_laws import figures_of_matrix

        points = disk_matrix.planned(workload.options)
        contents = [_json(out / FOLDER / f"{point.name}.json") for point in points]
        figures: list[Measurement] = []
        windows: list[Mapping[str, float]] = []
        for point, content in zip(points, contents, strict=True):
            figures += point_figures(point, content)
            window = _window(content)
            if window:
                windows.append(window)
        versions = sorted({str(content.get("fio version", "")) for content in contents})
        facts = GeneratorFacts(
            version=", ".join(versions),
            windows=windows or None,
            more={"cells": len(points)},
        )
        figures += figures_of_matrix(points, figures)
        return parts.Result(tuple(figures), None, None, facts)


# ------------------------------------------------------------------ before and while it runs


def keys(_script: str) -> Mapping[str, Sequence[str]]:
    """What a workload may have under `options`, `dataset` and `scale`."""
    return KEYS


def mistakes_in(
    workload: Workload, spec: ClusterSpec | None = None
) -> Iterator[tuple[str, str]]:
    yield from options.mistakes(workload, KEYS)
    if spec and spec.database != "none":
        yield "database", f"must be `none`: fio measures a disk, not {spec.database}"
    try:
        if not disk_matrix.planned(workload.options):
            yield "options.cells", "is missing: name the points to measure"
    except ValueError as error:
        yield "options.cells", str(error)
    try:
        size_bytes = disk_matrix.file_bytes(workload)
    except ValueError as error:
        yield "dataset.size", str(error)
        return
    if not spec:
        return
    most_bytes = int(_FILE_OF_DISK * spec.size.disk_bytes)
    if not 0 < size_bytes <= most_bytes:
        disk = units.format_bytes(spec.size.disk_bytes)
        most = units.format_bytes(most_bytes)
        yield "dataset.size", f"a disk of {disk} takes a file of up to {most}"


def _points_left(workload: Workload, folder: Path) -> Sequence[MatrixCell]:
    """The points that are not measured yet, at least the last."""
    planned = disk_matrix.planned(workload.options)
    missing: list[MatrixCell] = []
    for point in planned:
        if not (folder / f"{point.name}.json").is_file():
            missing.append(point)
    return missing or planned[-1:]


def _container(cluster: Cluster, world: World) -> Container:
    return world.platform.container(cluster.nodes[0].container or "")


def _measure_all(
    load: parts.ClientLoad, points: Sequence[MatrixCell], folder: Path
) -> None:
    """One after another, each into a file of its own."""
    workload = load.workload
    world = load.world
    point_s = workload.warmup_s + workload.measure_s
    for number, point in enumerate(points, start=1):
        left_s = (len(points) - number + 1) * point_s
        world.progress.step(f"point {number} of {len(points)}: {point.name}", left_s)
        content = _measure(workload, point, _container(load.cluster, world), folder)
        files.write_text(folder / f"{point.name}.json", content)


def _measure(
    workload: Workload, point: MatrixCell, container: Container, folder: Path
) -> str:
    """Returns fio's JSON for one point. LoadError with fio's output if it fails."""
    # `json+` has histograms: percentiles of reads and of writes cannot be put together.
    output = ("--output-format=json+", f"--output={_OUTPUT}")
    argv = ("fio", *output, f"/fio/{Path(workload.script).name}")
    env = _environment(workload, point)
    words = [f"{key}={shlex.quote(value)}" for key, value in env.items()]
    command = " ".join([*words, shlex.join(argv)])
    files.keep(folder / "commands.txt", f"{command}\n", adds=True)
    timeout_s = workload.warmup_s + workload.measure_s + _END_GRACE_S
    done = container.exec(argv, env=env, timeout_s=timeout_s, watch=(container,))
    if done.exit_code != 0:
        raise LoadError(
            f"fio ended with exit code {done.exit_code} at point {point.name}",
            advice="the output of the points before it is among the raw files of the "
            "run",
            evidence=done.tail(),
        )
    return container.exec(("cat", _OUTPUT), timeout_s=30).out


def _environment(workload: Workload, point: MatrixCell) -> dict[str, str]:
    # fio wants one word for both the direction and the pattern: `randread`, `rw`.
    direction = {100: "read", 0: "write"}.get(point.read_pct, "rw")
    if point.pattern == "random":
        direction = f"rand{direction}"
    warmup_ms = round(workload.warmup_s * 1000)
    measure_ms = round(workload.measure_s * 1000)
    return {
        "DIR": "/tier",
        "SIZE": str(disk_matrix.file_bytes(workload)),
        "RAMP": f"{warmup_ms}ms",
        "RUNTIME": f"{measure_ms}ms",
        "RW": direction,
        "READ_PCT": str(point.read_pct),
        "BS": str(point.block_bytes),
        "IODEPTH": str(point.depth),
        "NUMJOBS": str(point.threads),
    }


# ------------------------------------------------------------------ raw files to figures


def _json(file: Path) -> Mapping[str, Any]:
    try:
        content: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise program_output.raw_file_error(file, "is not there") from error
    except ValueError as error:
        raise program_output.raw_file_error(
            file, f"is not what fio writes: {error}"
        ) from error
    return content


def point_figures(
    point: MatrixCell, content: Mapping[str, Any]
) -> tuple[Measurement, ...]:
    """The figures of one point, whose name is their scope, of reads and writes together, from fio's
    JSON. LoadError if fio counted an error, or no I/O."""
    (job,) = content["jobs"]
    if job["error"]:
        raise LoadError(
            f"fio counted error {job['error']} at point {point.name}",
            advice="look for the error of the disk in the kernel's log: `dmesg`",
        )
    reads = job["read"]
    writes = job["write"]
    bytes_per_s = float(reads["bw_bytes"] + writes["bw_bytes"])
    latencies = [reads["lat_ns"], writes["lat_ns"]]
    count = sum(int(latency["N"]) for latency in latencies)
    if count <= 0 or bytes_per_s <= 0:
        raise LoadError(
            f"point {point.name}: no I/O ended in time", advice="measure for longer"
        )
    total_ns = sum(int(latency["N"]) * latency["mean"] for latency in latencies)
    histograms = [latency.get("bins", {}) for latency in latencies]
    figures = {
        # The rate follows from bytes, as in the truth gate.
        "iops": bytes_per_s / point.block_bytes,
        "bytes_per_s": bytes_per_s,
        "transactions": float(count),
        "latency_avg_s": total_ns / count * 1e-9,
        **_percentiles(histograms, point.in_flight),
    }
    return tuple(
        measured(metric, value, point.name) for metric, value in figures.items()
    )


def _window(content: Mapping[str, Any]) -> Mapping[str, float]:
    """Between which times (Unix seconds) fio moved what it counts, and the bytes; empty where it
    does not say when it began to count."""
    (job,) = content["jobs"]
    if "job_start" not in job:
        return {}
    window = {
        "start_s": job["job_start"] / 1000,
        # The time is that of its output, which comes after the last I/O was collected.
        "end_s": content["timestamp_ms"] / 1000,
    }
    for way, name in _WAYS.items():
        window[way] = float(job[name]["io_bytes"])
    return window


def _percentiles(
    histograms: Sequence[Mapping[str, int]], in_flight: int
) -> dict[str, float]:
    """Percentiles, by nearest rank, of the sum of histograms (ns → count)."""
    counts: Counter[int] = Counter()
    for bins in histograms:
        for value, count in bins.items():
            counts[int(value)] += int(count)
    total = counts.total()
    percentiles: dict[str, float] = {}
    for metric, share in _PERCENTILES.items():
        # I/Os in flight at the end do not count. fio collects them all at once, so their latency is
        # too long.
        beyond = total - math.ceil(share * total)
        if beyond >= _BEYOND + in_flight:
            percentiles[metric] = latency_quantiles.nearest_rank(counts, share) * 1e-9
    return percentiles


RULES = WorkloadRules(keys=keys, mistakes=mistakes_in, keeps_transactions=False)
