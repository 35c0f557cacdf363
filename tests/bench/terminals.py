"""What terminals with think time would report as latency: bound to connections, or sharing them.

    python -m tests.bench.terminals

Goal: the error of a latency that holds a terminal's wait for its connection, and whether sharing
takes it away. Method: a simulation of the specification's keying and think times and mix, 20,000
terminals on 600 connections (33 each), 15 minutes after a warm-up of one. A transaction's time in
the database is drawn from a gamma distribution of shape 4, whose mean is, relative to New-Order,
0.6 for Payment, 0.4 for Order-Status, 3 for Delivery and 1.5 for Stock-Level. `bound`: each
connection serves 33 terminals of its own, and latency counts from the instant a transaction was
due. `shared`: any free connection serves the next terminal, and the wait is counted apart.
"""

from __future__ import annotations

import heapq
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from rich.console import Console
from rich.table import Table

TERMINALS, CONNECTIONS = 20_000, 600
WARMUP_S, END_S = 60.0, 960.0
GAMMA_SHAPE = 4.0
NEW_ORDER_S = (0.177, 0.110, 0.094)  # three disks of the published study
# weight, keying time, mean think time, time in the database relative to New-Order
TYPES = (
    (45, 18.0, 12.0, 1.0),
    (43, 3.0, 12.0, 0.6),
    (4, 2.0, 10.0, 0.4),
    (4, 2.0, 5.0, 3.0),
    (4, 2.0, 5.0, 1.5),
)
WEIGHTS = [weight for weight, *_ in TYPES]


@dataclass(frozen=True)
class Served:
    """One New-Order: how long its terminal waited for a connection, then the database."""

    wait_s: float
    service_s: float


def served(
    terminals: int, connections: int, new_order_s: float, seed: int
) -> Iterator[Served]:
    """New-Orders of terminals that share connections, first due first served."""
    dice = random.Random(seed)
    cycle_s = sum(w * (keying + think) for w, keying, think, _ in TYPES) / sum(WEIGHTS)
    due = [(dice.uniform(0, cycle_s), _card(dice)) for _ in range(terminals)]
    free = [0.0] * connections
    heapq.heapify(due)
    while due[0][0] < END_S:
        due_s, card = due[0]
        _, _, think_s, relative = TYPES[card]
        start_s = max(due_s, free[0])
        service_s = dice.gammavariate(GAMMA_SHAPE, new_order_s * relative / GAMMA_SHAPE)
        heapq.heapreplace(free, start_s + service_s)
        following = _card(dice)
        pause_s = min(dice.expovariate(1.0), 10.0) * think_s + TYPES[following][1]
        heapq.heapreplace(due, (start_s + service_s + pause_s, following))
        if card == 0 and start_s >= WARMUP_S:
            yield Served(start_s - due_s, service_s)


def _card(dice: random.Random) -> int:
    return dice.choices(range(len(TYPES)), WEIGHTS)[0]


def bound(new_order_s: float) -> list[Served]:
    each = TERMINALS // CONNECTIONS
    return [
        one for seed in range(CONNECTIONS) for one in served(each, 1, new_order_s, seed)
    ]


def shared(new_order_s: float) -> list[Served]:
    return list(served(TERMINALS, CONNECTIONS, new_order_s, 0))


def main() -> int:
    console = Console()
    table = Table(
        title=f"New-Order, {TERMINALS} terminals on {CONNECTIONS} connections, mean ms"
    )
    for column in ("terminals", "true", "reported", "error", "wait for a connection"):
        table.add_column(column)
    for name, orders, wait_in_latency in (
        ("bound", bound, True),
        ("shared", shared, False),
    ):
        for new_order_s in NEW_ORDER_S:
            found = orders(new_order_s)
            true_s, wait_s = (
                fmean(o.service_s for o in found),
                fmean(o.wait_s for o in found),
            )
            reported_s = true_s + (wait_s if wait_in_latency else 0.0)
            table.add_row(
                name,
                f"{true_s * 1e3:.1f}",
                f"{reported_s * 1e3:.1f}",
                f"{(reported_s / true_s - 1) * 100:+.1f} %",
                f"{wait_s * 1e3:.3f}",
            )
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
