"""The order of a campaign's runs, in which neither place nor drift favours any tier. Pure.

Repetition by repetition, so that an interrupted campaign has whole rounds; within a round the tiers
of one workload follow each other in an order that is balanced over the rounds, and so do the values
of a factor.
"""

import random
from collections.abc import Sequence

from orchestrator.model import Run, Workload
from orchestrator.units import gathered


def in_order(
    profiles: Sequence[str], workloads: Sequence[Workload], repetitions: int, seed: int
) -> list[Run]:
    """The runs in their order, without numbers."""
    dice = random.Random(seed)

    def balanced(names: Sequence[str]) -> list[list[str]]:
        return balanced_orders(dice.sample(names, len(names)), repetitions)

    # The dice are thrown for all tiers first, then for all values: a plan is made anew from its
    # seed when it grows.
    tiers = {workload.name: balanced(profiles) for workload in workloads}
    values_of_files = gathered((_file_of(load), load.name) for load in workloads)
    values = [balanced(names) for names in values_of_files.values()]
    runs: list[Run] = []
    for round_ in range(repetitions):
        for orders in values:
            for workload in orders[round_]:
                # Tiers follow each other closely, so that a drift between them is small.
                for profile in tiers[workload][round_]:
                    runs.append(Run(0, profile, workload, round_ + 1))
    return runs


def _file_of(workload: Workload) -> str:
    """The name of its file, which all values of a factor have together."""
    if workload.varied:
        return workload.varied.of
    return workload.name


def balanced_orders(names: Sequence[str], rounds: int) -> list[list[str]]:
    """The order of each round.

    The first run of a round may meet another machine than those behind it: caches, clock
    speed, what the round before left. So rounds go through a Williams design: each tier
    stands at each place, and follows each other tier, equally often (E. J. Williams, Aust.
    J. Sci. Res. A 2, 149-168, 1949); each order is turned round in the next round, so that
    a steady drift favours none after every two.

    All is balanced after as many rounds as there are names, or twice as many if that is
    odd; before that how often each is first differs by one.
    """
    if not names:
        return [[] for _ in range(rounds)]
    orders = _williams_design(names)
    return [orders[number % len(orders)] for number in range(rounds)]


def _williams_design(names: Sequence[str]) -> list[list[str]]:
    count = len(names)
    steps = [_step(place) for place in range(count)]
    shifts = count
    # The other half of an even number's shifts are the first half, turned round.
    if count % 2 == 0:
        shifts = count // 2
    orders: list[list[str]] = []
    for shift in range(shifts):
        order = [names[(shift + step) % count] for step in steps]
        orders += [order, order[::-1]]
    return orders


def _step(place: int) -> int:
    """0, 1, −1, 2, −2, …: neighbours differ by each amount once."""
    amount = (place + 1) // 2
    if place % 2:
        return amount
    return -amount
