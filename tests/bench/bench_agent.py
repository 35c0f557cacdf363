"""What the agent that reads a machine costs it: `make bench NAME=agent`.

    python -m tests.bench.bench_agent [--seconds 30]

Goal: below 1 % of a core and 30 MB at one reading a second. Method: so many containers that do
nothing are sampled as nodes are, by all collectors that read machines; CPU and memory are those of
the agent's own container, as its control group counts them, so the kernel's work for it counts.
Exit 1 where the goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli.common.app import App
from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.machine import MachineCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.model import Node
from orchestrator.parts import Collector
from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.powers import Container, ContainerSpec, Conversation, World
from orchestrator.run.record.telemetry import sampling
from tests import ROOT

GOAL_CPU_PCT, GOAL_BYTES = 1.0, 30_000_000
CONTAINERS = (1, 3, 20)


@dataclass
class Bench:
    world: World
    image: str
    seconds: int

    def row(self, count: int) -> tuple[float, float, float]:
        """CPU in % of a core, bytes of memory, and seconds that a tick took here."""
        with ExitStack() as up:
            idle = [up.enter_context(self._idle(number)) for number in range(count)]
            nodes = [
                Node(c.name, "database", c.name, c.process_id, container_id=c.id)
                for c in idle
            ]
            talks: list[Container] = []

            @contextmanager
            def converse() -> Iterator[Conversation]:
                spec = agent.container(f"{self.world.scope}-agent", self.image)
                with self.world.platform.running(spec) as started:
                    talks.append(started)
                    with self.world.platform.container(started.name).conversation(
                        agent.COMMAND
                    ) as talk:
                        yield talk

            machine = AgentMachine("far", converse, self.world.clock)
            up.callback(machine.close)
            machine.facts()
            where = lambda _node: machine  # noqa: E731
            kinds = (CgroupCollector, DiskCollector, MachineCollector, NetworkCollector)
            collectors: list[Collector] = [kind(where) for kind in kinds]
            nodes.append(Node("host", "host"))
            with sampling(nodes, collectors, self.world.clock, [machine]) as readings:
                time.sleep(3)  # the first ticks find out what is asked for
                first, began_s = self._used(talks[0]), time.monotonic()
                time.sleep(self.seconds)
                last, took_s = self._used(talks[0]), time.monotonic() - began_s
            if readings.misses:
                raise SystemExit(f"not all was read: {dict(readings.misses)}")
            cpu_s = last["cpu_seconds_total"] - first["cpu_seconds_total"]
            memory = last["memory_used_bytes"] - last["memory_cache_bytes"]
            return 100 * cpu_s / took_s, memory, readings.cost_s / readings.ticks

    @contextmanager
    def _idle(self, number: int) -> Iterator[Container]:
        spec = ContainerSpec(
            name=f"{self.world.scope}-idle-{number}",
            image=self.image,
            entrypoint=("sleep",),
            command=("infinity",),
            role="client",
            init=True,
            stop_timeout_s=1,
        )
        with self.world.platform.running(spec) as container:
            yield container

    def _used(self, container: Container) -> dict[str, float]:
        node = Node(
            "agent",
            "client",
            process_id=container.process_id,
            container_id=container.id,
        )
        samples = CgroupCollector(lambda _: self.world.machine).read([node], 0.0)
        return {sample.metric: sample.value for sample in samples}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=int, default=30, help="for each number of containers"
    )
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache")
    arguments = parser.parse_args()
    met = True
    with App(cache=arguments.cache).at_work() as world:
        bench = Bench(
            world, own_images.need(ROOT, agent.IMAGE, world.platform), arguments.seconds
        )
        print("| containers | CPU, % of a core | memory, MB | a tick here, ms |")
        print("|---:|---:|---:|---:|")
        for count in CONTAINERS:
            cpu_pct, memory, tick_s = bench.row(count)
            met = met and cpu_pct < GOAL_CPU_PCT and memory < GOAL_BYTES
            print(
                f"| {count} | {cpu_pct:.2f} | {memory / 1e6:.1f} | {1e3 * tick_s:.1f} |"
            )
    print(
        f"goal (< {GOAL_CPU_PCT:g} %, < {GOAL_BYTES / 1e6:g} MB): {'met' if met else 'missed'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
