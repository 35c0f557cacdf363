"""Stock sysbench: its own scripts, or a user's, unmodified, through its own PostgreSQL driver.

`script` names a script of sysbench (`oltp_read_write`), or is the path of a .lua file: below
workloads/, or anywhere on this machine. Differences from our own workloads:
docs/research/WORKLOADS.md.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.errors import LoadError, UnavailableError, UsageError
from orchestrator.extensions.sysbench_stock import own_files, results
from orchestrator.extensions.sysbench_stock.scripts import (
    BULK_INSERT,
    IMAGE_VARIABLE,
    NAME,
    is_path,
    mistakes_in,
)
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.common import options, program_output
from orchestrator.load_generators.common.client import (
    LOAD_TIMEOUT_S,
    InClient,
    run_in_client,
)
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Node, Phase, Workload
from orchestrator.parts import ClientLoad, Result
from orchestrator.platforms import own_images
from orchestrator.platforms.common import architectures
from orchestrator.powers import World
from orchestrator.system import files, sql

_WARMUP = "warm-up"
_MEASURE = "measure"
_PREPARE = "prepare"
# Each part draws other keys. With the same ones the window would read what the warm-up has just
# brought into the cache.
_SEED_PARTS = {_PREPARE: 0, _WARMUP: 1, _MEASURE: 2}
_FATAL = "FATAL: "
_COMPLAINTS = (_FATAL, "invalid option")
# This line says why there was no connection. Lines of other threads, which may come before it, say
# only that there was none.
_NO_CONNECTION = "Connection to database failed"


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
        if is_path(workload.script) and own_files.script(workload, world) is None:
            raise UsageError(
                f"workload {workload.name}: there is no script {workload.script}",
                advice="give its path below workloads/, or on this machine",
            )
        own_files.environment(workload, world)  # refuses what is too large for a client
        image, _ = self.client_image(world)
        architectures.warn_of_emulation(image, world)

    def loader_version(self, workload: Workload, world: World) -> str:
        """Returns the identity of sysbench, and of the user's script that makes the tables."""
        client = own_images.content_hash(own_images.folder(world.root, "client"))
        image = None
        if self._image:
            image = world.platform.images.id(self._image)
        return f"{image or client}-{self.scripts(workload, world)}".rstrip("-")

    def scripts(self, workload: Workload, world: World) -> str:
        """Returns a hash of the user's files; sysbench's own are in the image."""
        return own_files.identity(workload, world)

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
        """sysbench's own `prepare`; then the rows of its tables are counted."""
        family = workload.dataset.family
        prepare = _prepare_command(workload, cluster, world)

        def on_line(line: str) -> None:
            if line:
                world.progress.step(f"loading {family}: {line}")

        prologue = own_files.prologue(workload, world)
        argv = ["bash", "-c", f"{prologue}; exec {shlex.join(prepare)} 2>&1"]
        env = own_files.environment(workload, world)
        done = run_in_client(client, argv, cluster, world, on_line=on_line, env=env)
        # `prepare` ends with code 0 all the same.
        if done.exit_code != 0 or _FATAL in done.out:
            what = f"loading {family} failed: {complaint(done.out)}"
            raise LoadError(what, evidence=done.tail())
        if not is_path(workload.script) and workload.script != BULK_INSERT:
            # Tables of sysbench's own scripts alone are known by name.
            self._require_rows(workload, cluster, done.tail())

    def _require_rows(self, workload: Workload, cluster: Cluster, output: str) -> None:
        """LoadError unless each table has as many rows as were asked for."""
        parameters = workload.dataset.parameters
        rows = int(parameters.get("table_size", 10_000))
        tables = int(parameters.get("tables", 1))
        with self._connect(sql.local(cluster.endpoints[0]), LOAD_TIMEOUT_S) as session:
            for table in range(1, tables + 1):
                (row,) = session.rows(f"SELECT count(*) AS rows FROM sbtest{table}")
                if row["rows"] != rows:
                    what = f"sysbench loaded {row['rows']:,} rows into sbtest{table}, not {rows:,}"
                    raise LoadError(what, evidence=output)

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        workload = load.workload
        # The warm-up has processes of its own: 1.0.20 cannot leave it out of its histogram.
        warmup_began_s = None
        if workload.warmup_s:
            warmup_began_s = _run_phase(_WARMUP, workload.warmup_s, load)
        window_began_s = _run_phase(_MEASURE, workload.measure_s, load)
        _keep_scripts(load)
        # Without a warm-up its phase has no length.
        if warmup_began_s is None:
            warmup_began_s = window_began_s
        warmup = Phase("warm-up", warmup_began_s, window_began_s)
        window_end_s = window_began_s + workload.measure_s
        return warmup, Phase("measure", window_began_s, window_end_s)

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        warmup = _reports(out, _WARMUP)
        measure = _reports(out, _MEASURE)
        if not measure:
            raise program_output.raw_file_error(
                out, "holds no output of sysbench's measured processes"
            )
        statements = workload.statements_per_transaction
        phases = {
            _WARMUP: (start_s - workload.warmup_s, warmup),
            _MEASURE: (start_s, measure),
        }
        return Result(
            tuple(results.measurements(measure, statements)),
            results.intervals(phases),
            None,
            _facts(workload, measure, self._image),
        )


def _keep_scripts(load: ClientLoad) -> None:
    """Copies the user's scripts to the raw files: the user may change them before the next run."""
    scripts = own_files.needed(load.workload, load.world)
    main_script = next(iter(scripts), "")
    for name, file in scripts.items():
        copied_name = name.replace("/", ".")
        # The first is the script that was run. The others are what it needs.
        if name == main_script:
            copied_name = "script.lua"
        files.copy(file, load.out / copied_name)


def _reports(out: Path, phase: str) -> list[results.Report]:
    """What the processes of a phase printed."""
    outputs = sorted(out.glob(f"{phase}-*.out"))
    return [results.parse(file.read_text(encoding="utf-8")) for file in outputs]


def _facts(
    workload: Workload, reports: list[results.Report], image: str | None
) -> GeneratorFacts:
    generator = NAME
    if any(report.fork for report in reports):
        generator = f"{NAME}, yugabyte/sysbench"
    queries: dict[str, int] = {}
    for kind in ("read", "write", "other"):
        queries[kind] = int(results.total(reports, kind))
    # sysbench says the middle of a class: a latency lies within half a class of it.
    within_pct = results.HISTOGRAM_STEP / 2 * 100
    more = {
        "generator": generator,
        "script": workload.script,
        "image": image or "our own",
        "processes": len(reports),
        "distribution": workload.options.get("rand_type", "sysbench's default"),
        "single_transactions_kept": False,
        "sqlstates_known": False,
        "percentiles_within_pct": round(within_pct, 2),
        "queries": queries,
        "reconnects": int(results.total(reports, "reconnects")),
    }
    transactions = results.total(reports, "transactions")
    return GeneratorFacts(
        version=reports[0].version, sysbench_transactions=transactions, more=more
    )


# ------------------------------------------------------------------ command lines


def _sysbench_words(workload: Workload, endpoint: Endpoint, world: World) -> list[str]:
    script = own_files.in_client(workload.script, world)
    return ["sysbench", script, "--db-driver=pgsql", *options.connection((endpoint,))]


def _prepare_command(workload: Workload, cluster: Cluster, world: World) -> list[str]:
    threads = workload.loader_threads
    if cluster.database == "yugabytedb":
        # It refuses to make several tables at a time, now and then (yugabyte-db issues 3350,
        # 30229), and `prepare` ends at that.
        threads = 1
    seed = _rand_seed(workload, _SEED_PARTS[_PREPARE], 0)
    return [
        *_sysbench_words(workload, cluster.endpoints[0], world),
        f"--threads={threads}",
        *options.flags(workload.dataset.parameters),
        f"--rand-seed={seed}",
        _PREPARE,
    ]


def commands(
    phase: str, seconds: float, workload: Workload, cluster: Cluster, world: World
) -> list[list[str]]:
    """One command for each node that takes SQL, but no more than threads, each with its share of
    the threads."""
    # 1.0.20's driver takes one host. bulk_insert's processes would write the same rows.
    most_processes = workload.threads
    if workload.script == BULK_INSERT:
        most_processes = 1
    endpoints = cluster.endpoints[:most_processes]
    threads_of_all, more_threads = divmod(workload.threads, len(endpoints))
    commands: list[list[str]] = []
    for process, endpoint in enumerate(endpoints):
        threads = threads_of_all
        if process < more_threads:
            threads += 1
        seed = _rand_seed(workload, _SEED_PARTS[phase], process)
        command = [
            *_sysbench_words(workload, endpoint, world),
            *_run_options(workload, seed),
            f"--threads={threads}",
            f"--time={seconds:g}",
            "--report-interval=1",
            "--histogram",
            f"--percentile={results.PERCENT}",
            "run",
        ]
        commands.append(command)
    return commands


def _run_options(workload: Workload, seed: int) -> list[str]:
    """The workload's own, with the seed of one process in the place of the workload's."""
    given = dict(workload.options)
    given.pop("seed", None)
    parameters = options.flags(workload.dataset.parameters)
    return [*parameters, *options.flags(given), f"--rand-seed={seed}"]


def complaint(output: str) -> str:
    """The line of sysbench's output that says best why it failed."""
    if _NO_CONNECTION in output:
        return program_output.complaint(output, _NO_CONNECTION)
    return program_output.complaint(output, *_COMPLAINTS)


def _rand_seed(workload: Workload, part: int, process: int) -> int:
    """A seed for one process of one of `_SEED_PARTS`. Never 0, which means the time of day."""
    number = options.seed_of(workload) * 3000 + part * 1000 + process
    return 1 + number % (2**31 - 1)


def _run_phase(phase: str, seconds: float, load: ClientLoad) -> float:
    """Runs the processes of one phase to their end; returns when the first had begun."""
    argvs = commands(phase, seconds, load.workload, load.cluster, load.world)
    lines = "".join(f"{shlex.join(argv)}\n" for argv in argvs)
    files.keep(load.out / "command.txt", lines, adds=True)
    console = _SysbenchConsole(phase, load)
    script = _script_of_all(argvs, own_files.prologue(load.workload, load.world))
    done = run_in_client(
        load.client,
        ["bash", "-c", script],
        load.cluster,
        load.world,
        timeout_s=seconds + options.STOP_GRACE_S,
        on_line=console.line,
        env=own_files.environment(load.workload, load.world),
    )
    outputs = _by_process(done.out, len(argvs))
    for number, texts in outputs.items():
        files.keep(load.out / f"{phase}-{number}.out", "\n".join(texts) + "\n")
    # A process that never started its threads would be missing from the load.
    if done.exit_code != 0 or len(console.starts_s) < len(argvs):
        why = f": {complaint(_without_numbers(done.out))}"
        raise program_output.ended_badly("sysbench", done.exit_code, why, done.tail())
    return console.starts_s[0]


def _without_numbers(output: str) -> str:
    """The output of all processes, without the number of each before its lines."""
    texts = [line.partition(" ")[2] for line in output.splitlines()]
    return "\n".join(texts)


def _script_of_all(argvs: Sequence[Sequence[str]], prologue: str) -> str:
    """A shell's script that runs all commands at once, and ends with the code of one that failed.
    Each line goes with its process's number, so that one pipe can hold all."""
    started: list[str] = []
    for number, argv in enumerate(argvs, start=1):
        started.append(f"{{ {shlex.join(argv)} 2>&1 | sed -u 's/^/{number} /'; }} &")
        started.append('processes="$processes $!"')
    # `wait` without a number would end with code 0 whatever happened. And the shell's list of jobs
    # lacks one that ended before the next was started.
    wait = 'for process in $processes; do wait "$process" || code=$?; done'
    return "\n".join(
        [prologue, "set -o pipefail; processes= code=0", *started, wait, "exit $code"]
    )


def _by_process(output: str, processes: int) -> dict[str, list[str]]:
    """Number of a process → its lines."""
    lines: dict[str, list[str]] = {}
    for number in range(1, processes + 1):
        lines[str(number)] = []
    for line in output.splitlines():
        process, _, text = line.partition(" ")
        if process in lines:
            lines[process].append(text)
    return lines


class _SysbenchConsole:
    """What the processes of a phase print. `starts_s`: when each had started all its threads."""

    def __init__(self, phase: str, load: ClientLoad) -> None:
        self.starts_s: list[float] = []
        self._measures = phase == _MEASURE
        self._workload = load.workload
        self._world = load.world

    def line(self, line: str) -> None:
        _, _, text = line.partition(" ")
        if text.startswith(program_output.STARTED):
            self.starts_s.append(self._world.clock.now())
            if self._measures:
                self._world.window_begins(self.starts_s[0])
            return
        report = program_output.reported(text)
        if report:
            second, per_s = report
            self._show(second, per_s)

    def _show(self, second: int, per_s: float) -> None:
        self._world.throughput_seen(per_s)
        elapsed_s: float = second
        warmup_s = self._workload.warmup_s
        if self._measures:
            elapsed_s += warmup_s
        step = program_output.progress(
            elapsed_s, warmup_s, self._workload.measure_s, per_s
        )
        self._world.progress.step(step)


def from_environment() -> SysbenchStock:
    """Stock sysbench in the image that the environment names, else in ours."""
    return SysbenchStock(os.environ.get(IMAGE_VARIABLE) or None)
