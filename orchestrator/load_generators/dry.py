"""The do-nothing load generator: transactions made up by a seeded model (for rehearsals)."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.figures import transactions
from orchestrator.design.rehearsal import WARNING, Model
from orchestrator.design.tpcc_data import is_tpcc_derived
from orchestrator.facts import GeneratorFacts
from orchestrator.keys.schema import DRY
from orchestrator.model import Cluster, Phase, Workload
from orchestrator.parts import ClientLoad, LoadGenerator, Result
from orchestrator.powers import World
from orchestrator.system import files

_FILE = "made-up.csv"
_STATEMENTS = 10  # the number per transaction, if the workload does not set it
_MISSES = 0.5  # I/Os per statement; other reads are served from the cache
_SPREAD = 0.3  # standard deviation of the logarithm of a latency
_BETWEEN_RUNS = 0.01  # standard deviation of the mean latency between runs


class DryGenerator(LoadGenerator):
    """Accepts any workload and loads nothing; waits on the rehearsal's clock only, and leaves one
    file of made-up transactions."""

    name: str = DRY

    def loader_version(self, workload: Workload, world: World) -> str:
        return DRY

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        workload = load.workload
        world = load.world
        start_s = world.clock.now()
        middle_s = start_s + workload.warmup_s
        end_s = middle_s + workload.measure_s
        world.window_begins(middle_s)
        # Each run has other transactions, and the same ones in each rehearsal.
        drawn_for = f"{workload.options.get('seed')} {load.out.parent.name}"
        seed = zlib.crc32(drawn_for.encode())
        model = Model.of_node(load.cluster.nodes[0])
        table = _made_up(workload, model, start_s, end_s, seed)
        files.write_text(load.out / _FILE, table.to_csv(index=False))
        world.clock.sleep(end_s - start_s)
        return Phase("warm-up", start_s, middle_s), Phase("measure", middle_s, end_s)

    def verify(
        self, workload: Workload, cluster: Cluster, world: World
    ) -> Mapping[str, Any]:
        return {"rehearsal": WARNING}

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        table = pd.read_csv(out / _FILE, keep_default_na=False).astype(
            {"type": "category"}
        )
        statements = workload.statements_per_transaction
        spans = {
            "warm-up": (start_s - workload.warmup_s, start_s),
            "measure": (start_s, end_s),
        }
        return Result(
            transactions.measurements(table, start_s, end_s, statements),
            transactions.intervals(table, spans),
            (table,),
            GeneratorFacts(more={"rehearsal": WARNING}),
        )


def _made_up(
    load: Workload, model: Model, start_s: float, end_s: float, seed: int
) -> pd.DataFrame:
    """Draws each thread's transactions in sequence, as the table of `transactions.py`."""
    dice = np.random.default_rng(seed)
    ios = _MISSES * (load.statements_per_transaction or _STATEMENTS)
    mean_s = model.transaction_s(load.threads, ios) * dice.normal(1.0, _BETWEEN_RUNS)
    # Half as many again as fit on the average: a thread may draw short ones.
    count = int((end_s - start_s) / mean_s * 1.5) + 10
    shape = (load.threads, count)
    # The mean of this lognormal distribution is 1.
    latency_s = mean_s * dice.lognormal(-(_SPREAD**2) / 2, _SPREAD, shape)
    begun_s = start_s + np.cumsum(latency_s, axis=1) - latency_s
    kept = begun_s + latency_s < end_s
    names = [load.name]
    if is_tpcc_derived(load.dataset):
        names = ["new_order", "payment"]
    columns = {"start_s": begun_s[kept], "latency_s": latency_s[kept], "queue_s": 0.0}
    table = pd.DataFrame({**columns, "type": dice.choice(names, int(kept.sum()))})
    return table.assign(outcome=transactions.COMMITTED, retries=0, sqlstate="")
