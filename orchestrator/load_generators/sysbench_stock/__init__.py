"""Stock sysbench: its own scripts, or a user's, unmodified, through its own PostgreSQL driver.

`script` names a script of sysbench (`oltp_read_write`), or is the path of a .lua file: below
workloads/, or anywhere on this machine. The warm-up is a process of its own, because 1.0.20 cannot
leave it out of its histogram. 1.0.20's driver takes one host, so each node that takes SQL gets a
process with its share of the threads. Differences from our own workloads: docs/WORKLOADS.md.

oltp_common.lua of 1.0.20 lets every script take every option, also those that the script never
reads; and of two equal options the last is used silently. Both are refused before anything starts.
"""

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.errors import LoadError, UnavailableError, UsageError
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.common import options
from orchestrator.load_generators.common.client import (
    LOAD_TIMEOUT_S,
    InClient,
    run_in_client,
)
from orchestrator.load_generators.sysbench_stock import results
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Node, Phase, Workload
from orchestrator.parts import ClientLoad, Result
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.system import files, sql

IMAGE_VARIABLE = "SYSBENCH_IMAGE"
NAME = "sysbench-stock"
BULK_INSERT = "bulk_insert"
_TABLES = ("tables", "table_size", "create_secondary", "secondary")
KNOWN = options.read_by_scripts(__package__)  # those of sysbench 1.0.20, while they run
_WARMUP = "warm-up"
_MEASURE = "measure"
_FATAL = "FATAL: "
_COMPLAINTS = (_FATAL, "invalid option")
_OWN = "/tmp/own.lua"  # a user's script from elsewhere, in the client
_WRITE_OWN = f'printf %s "$SYSBENCH_SCRIPT" > {_OWN}'


class SysbenchStock(InClient):
    """sysbench's data have no conditions that could be checked after a run."""

    name = NAME

    def __init__(
        self, image: str | None = None, connect: sql.Connect = sql.session
    ) -> None:
        self._image = image
        self._connect = connect

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        options.refuse(workload, mistakes_in(workload, upstream=self._image is None))
        if is_path(workload.script) and _own_script(workload, world) is None:
            raise UsageError(
                f"workload {workload.name}: there is no script {workload.script}",
                advice="give its path below workloads/, or on this machine",
            )
        self.client_image(world)

    def loader_version(self, workload: Workload, world: World) -> str:
        """Returns the identity of sysbench, and of the user's script that makes the tables."""
        client = own_images.content_hash(own_images.folder(world.root, "client"))
        image = None
        if self._image:
            image = world.platform.images.id(self._image)
        return f"{image or client}-{self.scripts(workload, world)}".rstrip("-")

    def scripts(self, workload: Workload, world: World) -> str:
        """Returns a hash of the user's script; sysbench's own are in the image."""
        file = _own_script(workload, world)
        if file:
            return hashlib.sha256(file.read_bytes()).hexdigest()[:12]
        return ""

    def client_image(self, world: World) -> tuple[str, Mapping[str, Path]]:
        if self._image is None:
            return super().client_image(world)
        if not world.platform.images.present(self._image):
            raise UnavailableError(
                f"the image {self._image} of {IMAGE_VARIABLE} is not here",
                advice=f"build or pull it, or leave {IMAGE_VARIABLE} out for sysbench "
                "1.0.20",
            )
        return self._image, {}

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        """sysbench's own `prepare`; then the rows of its tables are counted. YugabyteDB refuses to
        make several tables at a time, now and then (yugabyte-db issues 3350, 30229), and `prepare`
        ends at that: there one thread makes them all."""
        family = workload.dataset.family
        if cluster.database == "yugabytedb":
            threads = 1
        else:
            threads = workload.loader_threads
        prepare = [
            *_sysbench(workload, cluster.endpoints[0], world),
            f"--threads={threads}",
            *options.flags(workload.dataset.parameters),
            f"--rand-seed={_rand_seed(workload, 0, 0)}",
            "prepare",
        ]

        def on_line(line: str) -> None:
            if line:
                world.progress.step(f"loading {family}: {line}")

        argv = ["bash", "-c", f"{_WRITE_OWN}; exec {shlex.join(prepare)} 2>&1"]
        env = _script(workload, world)
        done = run_in_client(client, argv, cluster, world, on_line=on_line, env=env)
        if (
            done.exit_code != 0 or _FATAL in done.out
        ):  # `prepare` ends with code 0 all the same
            what = (
                f"loading {family} failed: {options.complaint(done.out, *_COMPLAINTS)}"
            )
            raise LoadError(what, evidence=done.tail())
        if is_path(workload.script) or workload.script == BULK_INSERT:
            return
        rows = int(workload.dataset.parameters.get("table_size", 10_000))
        with self._connect(sql.local(cluster.endpoints[0]), LOAD_TIMEOUT_S) as session:
            for table in range(
                1, int(workload.dataset.parameters.get("tables", 1)) + 1
            ):
                (row,) = session.rows(f"SELECT count(*) AS rows FROM sbtest{table}")
                if row["rows"] != rows:
                    what = f"sysbench loaded {row['rows']:,} rows into sbtest{table}, not {rows:,}"
                    raise LoadError(what, evidence=done.tail())

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        starts_s = dict[str, float]()
        workload = load.workload
        for phase, seconds in (
            (_WARMUP, workload.warmup_s),
            (_MEASURE, workload.measure_s),
        ):
            if seconds:
                starts_s[phase] = _run_phase(phase, seconds, load)
        if is_path(workload.script):
            script = _script(workload, load.world)["SYSBENCH_SCRIPT"]
            (load.out / "script.lua").write_text(script)
        middle_s = starts_s[_MEASURE]
        measure = Phase("measure", middle_s, middle_s + workload.measure_s)
        return Phase("warm-up", starts_s.get(_WARMUP, middle_s), middle_s), measure

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        phases = {
            phase: [
                results.parse(file.read_text())
                for file in sorted(out.glob(f"{phase}-*.out"))
            ]
            for phase in (_WARMUP, _MEASURE)
        }
        measure = phases[_MEASURE]
        if not measure:
            raise LoadError(f"{out} holds no output of sysbench's measured processes")
        begins_s = {_WARMUP: start_s - workload.warmup_s, _MEASURE: start_s}
        return Result(
            tuple(results.measurements(measure, workload.statements_per_transaction)),
            results.intervals(
                {phase: (begins_s[phase], phases[phase]) for phase in phases}
            ),
            None,
            _facts(workload, measure, self._image),
        )


def _facts(
    workload: Workload, reports: list[results.Report], image: str | None
) -> GeneratorFacts:
    fork = any(report.fork for report in reports)
    queries = {
        kind: int(results.total(reports, kind)) for kind in ("read", "write", "other")
    }
    return GeneratorFacts(
        version=reports[0].version,
        sysbench_transactions=results.total(reports, "transactions"),
        more={
            "generator": f"{NAME}, yugabyte/sysbench" if fork else NAME,
            "script": workload.script,
            "image": image or "our own",
            "processes": len(reports),
            "distribution": workload.options.get("rand_type", "sysbench's default"),
            "single_transactions_kept": False,
            "sqlstates_known": False,
            "percentiles_within_pct": round(results.HISTOGRAM_STEP / 2 * 100, 2),
            "queries": queries,
            "reconnects": int(results.total(reports, "reconnects")),
        },
    )


# ------------------------------------------------------------------ command lines


def _own_script(workload: Workload, world: World) -> Path | None:
    """The user's script; None if there is no such file, or it is one of sysbench's own."""
    if not is_path(workload.script):
        return None
    places = (world.root / "workloads" / workload.script, Path(workload.script))
    return next((file for file in places if file.is_file()), None)


def _script(workload: Workload, world: World) -> dict[str, str]:
    """The text of a user's script as the client gets it; it may be outside of workloads/."""
    file = _own_script(workload, world)
    return {"SYSBENCH_SCRIPT": file.read_text() if file else ""}


def _sysbench(workload: Workload, endpoint: Endpoint, world: World) -> list[str]:
    script = workload.script
    if is_path(script):
        shipped = (world.root / "workloads" / script).is_file() and not Path(
            script
        ).is_absolute()
        if shipped:
            script = f"/workloads/{script}"
        else:
            script = _OWN
    return ["sysbench", script, "--db-driver=pgsql", *options.connection((endpoint,))]


def commands(
    phase: str, seconds: float, workload: Workload, cluster: Cluster, world: World
) -> list[list[str]]:
    """One command for each node that takes SQL, but no more than threads; bulk_insert's processes
    would write the same rows, so it has one."""
    if workload.script == BULK_INSERT:
        most = 1
    else:
        most = workload.threads
    endpoints = cluster.endpoints[:most]
    share, rest = divmod(workload.threads, len(endpoints))
    return [
        [
            *_sysbench(workload, endpoint, world),
            *options.flags(workload.dataset.parameters),
            *options.flags(
                {key: value for key, value in workload.options.items() if key != "seed"}
            ),
            f"--rand-seed={_rand_seed(workload, 1 + (phase == _MEASURE), number)}",
            f"--threads={share + (number < rest)}",
            f"--time={seconds:g}",
            "--report-interval=1",
            "--histogram",
            f"--percentile={results.PERCENT}",
            "run",
        ]
        for number, endpoint in enumerate(endpoints)
    ]


def _rand_seed(workload: Workload, part: int, process: int) -> int:
    """Differs between loading, warm-up and window, or the window would draw the keys that the
    warm-up has just read. Never 0, which means the time of day."""
    return 1 + (options.seed_of(workload) * 3000 + part * 1000 + process) % (2**31 - 1)


def _run_phase(phase: str, seconds: float, load: ClientLoad) -> float:
    """Runs the processes of one phase to their end; returns when the first had begun."""
    workload = load.workload
    out = load.out
    world = load.world
    argvs = commands(phase, seconds, workload, load.cluster, world)
    files.keep(
        out / "command.txt",
        "".join(f"{shlex.join(argv)}\n" for argv in argvs),
        adds=True,
    )
    # Each line goes with its process's number, so that one pipe can hold all.
    started = [
        f"{{ {shlex.join(argv)} 2>&1 | sed -u 's/^/{number} /'; }} &"
        for number, argv in enumerate(argvs, start=1)
    ]
    wait = "code=0; for job in $(jobs -p); do wait $job || code=$?; done; exit $code"
    script = "\n".join([_WRITE_OWN, "set -o pipefail", *started, wait])
    starts_s: list[float] = []
    before_s = 0.0
    if phase == _MEASURE:
        before_s = workload.warmup_s

    def on_line(line: str) -> None:
        line = line.partition(" ")[2]
        if line.startswith(options.STARTED):
            starts_s.append(world.clock.now())
            if phase == _MEASURE:
                world.window_begins(starts_s[0])
        elif seen := options.reported(line):
            times_s = before_s + seen[0], workload.warmup_s, workload.measure_s
            world.progress.step(options.progress(*times_s, seen[1]))

    argv = ["bash", "-c", script]
    env = _script(workload, world)
    timeout_s = seconds + options.STOP_GRACE_S
    done = run_in_client(
        load.client,
        argv,
        load.cluster,
        world,
        timeout_s=timeout_s,
        on_line=on_line,
        env=env,
    )
    lines = [line.partition(" ") for line in done.out.splitlines()]
    for number in range(1, len(argvs) + 1):
        own = [text for mark, _, text in lines if mark == str(number)]
        files.keep(out / f"{phase}-{number}.out", "\n".join(own) + "\n")
    if done.exit_code != 0 or len(starts_s) < len(argvs):
        output = "\n".join(text for _, _, text in lines)
        why = f": {options.complaint(output, *_COMPLAINTS)}"
        raise options.ended_badly("sysbench", done.exit_code, why, done.tail())
    return starts_s[0]


# ------------------------------------------------------------------ what a workload may set


def is_path(script: str) -> bool:
    """Returns whether the script is a file of the user's; else it is one of sysbench's own."""
    return script.endswith(".lua") or "/" in script


def keys(script: str) -> Mapping[str, tuple[str, ...]]:
    """What a script takes under `options` and `dataset`; of a user's own that is unknown."""
    if script not in KNOWN:
        return {}
    parameters: tuple[str, ...] = _TABLES
    if script == BULK_INSERT:
        parameters = ("threads",)
    # Without it, oltp_insert begins empty.
    if script not in ("oltp_insert", BULK_INSERT):
        parameters = (*parameters, "auto_inc")
    return {"options": KNOWN[script], "dataset": parameters}


def mistakes_in(
    workload: Workload, upstream: bool | None = None
) -> Iterator[tuple[str, str]]:
    """What has no effect or cannot work. `upstream`: it is sysbench 1.0.20, as in our image;
    another sysbench has other scripts and options, and refuses unknown ones itself."""
    if upstream is None:
        upstream = not os.environ.get(IMAGE_VARIABLE)
    else:
        upstream = upstream
    script = workload.script
    yield from options.mistakes(workload, keys(script) if upstream else {}, __package__)
    if upstream and not is_path(script) and script not in KNOWN:
        yield (
            "script",
            f"sysbench 1.0.20 has {', '.join(KNOWN)}, or give the path of a .lua file",
        )
    for key, seconds in (
        ("warmup", workload.warmup_s),
        ("measure", workload.measure_s),
    ):
        if seconds != int(seconds):
            yield f"scales.{key}", f"sysbench counts whole seconds, not {seconds:g}"
    dataset = workload.dataset.parameters
    if workload.script == BULK_INSERT:
        if dataset.get("threads") != workload.threads:
            yield (
                "dataset.threads",
                f"must be {workload.threads}: each thread has its own table",
            )
        if workload.warmup_s:
            yield (
                "scales.warmup",
                "must be 0s: each start of bulk_insert begins at row 1",
            )
    if workload.script.startswith("select_random_") and dataset.get("tables", 1) != 1:
        yield "dataset.tables", f"must be 1: {workload.script} reads one table"
