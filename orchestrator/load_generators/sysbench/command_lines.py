"""The command lines of our scripts: to load with LuaJIT, to run with sysbench."""

from __future__ import annotations

from pathlib import Path

from orchestrator.keys.addresses import Server
from orchestrator.load_generators.common.sysbench_console import flags
from orchestrator.load_generators.sysbench import run_options
from orchestrator.load_generators.sysbench.warm_up import ENDS_FILE, longest_s
from orchestrator.model import Cluster, Workload
from orchestrator.parts import Share

BEGINS_FILE = "/tmp/tierbench-begins"  # in the client
TOGETHER_S = 120.0  # how long its threads wait for those of other clients at most


def seed_of(workload: Workload) -> int:
    return int(workload.options.get("seed", 1))


def connection(cluster: Cluster) -> list[str]:
    first, several = cluster.endpoints[0], {endpoint.port for endpoint in cluster.endpoints}
    hosts = [
        str(Server(endpoint.host, endpoint.port)) if len(several) > 1 else endpoint.host
        for endpoint in cluster.endpoints
    ]
    return [
        f"--pgsql-host={','.join(hosts)}",
        f"--pgsql-port={first.port}",
        f"--pgsql-user={first.user}",
        f"--pgsql-db={first.database}",
    ]


def load_command(workload: Workload, cluster: Cluster) -> list[str]:
    parameters = workload.dataset.parameters
    if not cluster.analyze:
        parameters = {"analyze": "off", **parameters}
    dialect = [] if cluster.database == "postgresql" else [f"--dialect={cluster.database}"]
    return [
        "luajit",
        f"/workloads/{Path(workload.script).parent}/load.lua",
        *connection(cluster),
        *flags(parameters),
        f"--workers={workload.loader_threads}",
        f"--seed={seed_of(workload)}",
        *dialect,
    ]


def run_command(workload: Workload, cluster: Cluster, share: Share | None = None) -> list[str]:
    statements = workload.statements_per_transaction
    most_s = longest_s(workload) + (TOGETHER_S if share else 0.0)
    return [
        "sysbench",
        f"/workloads/{workload.script}",
        "--db-driver=pgsql",
        *connection(cluster),
        *flags(run_options.run_parameters(workload)),
        *flags(run_options.run_options(workload)),
        *([f"--statements={statements}"] if statements else []),
        f"--threads={workload.threads}",
        f"--time={most_s:g}",
        "--report-interval=1",
        "--out=/out",
        *([f"--ends-file={ENDS_FILE}"] if workload.warmup_most_s else []),
        *(_share_options(share) if share else []),
        "run",
    ]


def _share_options(share: Share) -> list[str]:
    return [
        f"--first-thread={share.first_thread}",
        f"--part={share.number}/{share.of}",
        f"--begins-file={BEGINS_FILE}",
    ]
