"""pgbench, which comes with PostgreSQL, in the client's container.

It keeps a line of each transaction (`--log`), from which all figures are made:
`client number duration_us script epoch_s epoch_us`, the last two of its end."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from orchestrator.analysis.figures import transactions
from orchestrator.errors import LoadError
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.common.client import OUT, InClient, run_in_client
from orchestrator.load_generators.common.program_output import ended_badly
from orchestrator.model import Cluster, Endpoint, Node, Phase, Workload
from orchestrator.parts import ClientLoad, Result
from orchestrator.powers import World
from orchestrator.system import files

_LOG = "transactions"  # the first part of the names of pgbench's logs
_CONSOLE = "pgbench.out"
_VERSION = re.compile(r"^pgbench \((\d\S*)", re.MULTILINE)
_TPS = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)
_GRACE_S = 60.0


class PgBench(InClient):
    """`own_image`: tierbench's image of PostgreSQL has pgbench too."""

    name = "pgbench"
    own_image = "postgres"

    def loader_version(self, workload: Workload, world: World) -> str:
        return "pgbench --initialize"

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        scale = workload.dataset.parameters["scale"]
        command = (
            "pgbench",
            "--initialize",
            f"--scale={scale}",
            *_session(cluster.endpoints[0]),
        )
        done = run_in_client(client, command, cluster, world)
        if done.exit_code != 0:
            raise ended_badly("pgbench", done.exit_code, "", done.tail())

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        workload = load.workload
        clock = load.world.clock
        seconds = math.ceil(workload.warmup_s + workload.measure_s) + 1
        begin_s = clock.now()
        middle_s = begin_s + workload.warmup_s
        load.world.window_begins(middle_s)
        done = run_in_client(
            load.client,
            _command(workload, seconds, load.cluster.endpoints[0]),
            load.cluster,
            load.world,
            timeout_s=seconds + _GRACE_S,
            out=load.out,
        )
        files.keep(load.out / _CONSOLE, done.out + done.err)
        if done.exit_code != 0:
            raise ended_badly("pgbench", done.exit_code, "", done.tail())
        end_s = middle_s + workload.measure_s
        return Phase("warm-up", begin_s, middle_s), Phase("measure", middle_s, end_s)

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        table = transactions_of(out, workload.script)
        console = (out / _CONSOLE).read_text(encoding="utf-8")
        return Result(
            transactions.measurements(table, start_s, end_s, statements=None),
            transactions.intervals(table, {"measure": (start_s, end_s)}),
            (table,),
            _facts(table, console),
        )


def _session(endpoint: Endpoint) -> Sequence[str]:
    return (
        f"--host={endpoint.host}",
        f"--port={endpoint.port}",
        f"--username={endpoint.user}",
        endpoint.database,
    )


def _command(workload: Workload, seconds: int, endpoint: Endpoint) -> Sequence[str]:
    return (
        "pgbench",
        f"--builtin={workload.script}",
        f"--client={workload.threads}",
        f"--time={seconds}",
        f"--random-seed={workload.options.get('seed', 1)}",
        "--no-vacuum",
        "--log",
        f"--log-prefix={OUT}/{_LOG}",
        *_session(endpoint),
    )


def transactions_of(out: Path, script: str) -> pd.DataFrame:
    """All transactions in the logs of a folder, as `analysis.figures.transactions` has them.

    LoadError if there is none. pgbench stops at a transaction that fails, so none did."""
    parts = []
    for log in sorted(out.glob(f"{_LOG}.*")):
        text = pd.read_csv(log, sep=" ", header=None, usecols=[2, 4, 5])
        ended_s = text[4] + text[5] / 1e6
        latency_s = text[2] / 1e6
        part = {"start_s": ended_s - latency_s, "latency_s": latency_s}
        parts.append(pd.DataFrame(part))
    if not parts:
        raise LoadError(f"{out} has no log of pgbench", advice="measure again")
    table = pd.concat(parts).sort_values("start_s", ignore_index=True)
    table["queue_s"] = 0.0
    table["type"] = pd.Categorical([script] * len(table))
    return table.assign(outcome=transactions.COMMITTED, retries=0, sqlstate="")


def _facts(table: pd.DataFrame, console: str) -> GeneratorFacts:
    more = {}
    tps = _TPS.search(console)
    if tps:
        more["tps_printed"] = float(tps[1])
    version = _VERSION.search(console)
    return GeneratorFacts(
        version=version and version[1],
        recorded_transactions=float(len(table)),
        more=more,
    )
