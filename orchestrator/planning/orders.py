"""The order in which tiers follow each other, round by round. Pure.

The first run of a round may meet another machine than those behind it: caches, clock speed, what
the round before left. So a tier's place must not decide. Rounds go through a Williams design:
each tier stands at each place, and follows each other tier, equally often (E. J. Williams, Aust. J.
Sci. Res. A 2, 149-168, 1949). Each order is turned round in the next round, so that a steady drift
favours none after every two.
"""

from __future__ import annotations

from collections.abc import Sequence


def balanced_orders(names: Sequence[str], rounds: int) -> list[list[str]]:
    """The order of each round. All is balanced after as many rounds as there are names, or twice
    as many for an odd number; before that no name is first more than once more than another."""
    count = len(names)
    if not count:
        return [[] for _ in range(rounds)]
    # 0, 1, −1, 2, −2, …: neighbours differ by each amount once.
    steps = [(place + 1) // 2 * (1 if place % 2 else -1) for place in range(count)]
    shifts = range(count) if count % 2 else range(count // 2)  # even: turned, they are the others
    orders: list[list[str]] = []
    for shift in shifts:
        order = [names[(shift + step) % count] for step in steps]
        orders += [order, order[::-1]]
    return [orders[number % len(orders)] for number in range(rounds)]
