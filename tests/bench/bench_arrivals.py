"""Latency in an open loop beside that of one queue for all connections: `make bench NAME=arrivals`.

Goal: what is measured at a rate is what a pool of connections would show. Method: a PostgreSQL on
this machine's own disk whose answers take an exponential time (`pg_sleep`), eight connections, at
30, 50 and 70 % of what these can do; each run's own arrivals and service times, served by a
simulated queue that the connections share. Medians over the repeats of measured ÷ simulated.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import pandas as pd

from orchestrator.cli.common.app import App
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.load_generators.sysbench.records import Records
from orchestrator.parts import ClientLoad
from tests import open_loop
from tests.integration.postgresql_nodes import NETWORK, plain_volumes, running

SHARES, SECONDS = (0.3, 0.5, 0.7), 30.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=3)
    repeats = options.parse_args().repeats
    generator = Sysbench()
    app = App()
    world = app.world()
    with (
        app.alone(world.platform),
        plain_volumes(1, world) as volumes,
        running(volumes, world) as cluster,
        tempfile.TemporaryDirectory() as folder,
        generator.client(NETWORK, world) as client,
    ):
        generator.load(open_loop.READS, cluster, client, world)
        open_loop.slow_down(cluster)
        print(
            "| of capacity | average, measured ÷ one queue | p99, measured ÷ one queue |"
        )
        print("|---:|---:|---:|")
        for share in SHARES:
            ratios = []
            for _ in range(repeats):
                generator.run(
                    ClientLoad(
                        open_loop.at(share, SECONDS),
                        cluster,
                        client,
                        Path(folder),
                        world,
                    )
                )
                table = pd.concat(Records.of_folder(Path(folder)))
                found, expected = (
                    open_loop.measured(table),
                    open_loop.of_one_queue(table),
                )
                ratios.append(
                    (found.average_s / expected.average_s, found.p99_s / expected.p99_s)
                )
            average, p99 = (
                statistics.median(each) for each in zip(*ratios, strict=True)
            )
            print(f"| {100 * share:.0f} % | {average:.3f} | {p99:.3f} |")


if __name__ == "__main__":
    main()
