"""The same for many things at once: of a hundred nodes, each of which takes a moment to answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeVar

MOST = 32  # threads: beyond that an engine is only kept waiting

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


def each(do: Callable[[Thing], Answer], things: Iterable[Thing]) -> list[Answer]:
    """The answers in the order of `things`. If some raise, all are done all the same; then the
    error of the first of them is raised."""
    every = list(things)
    if len(every) < 2:
        return [do(thing) for thing in every]
    with ThreadPoolExecutor(min(MOST, len(every))) as pool:
        futures = [pool.submit(do, thing) for thing in every]
        wait(futures)
    return [future.result() for future in futures]


@contextmanager
def entered(
    brackets: Sequence[AbstractContextManager[Answer]], in_turn: bool = False
) -> Iterator[list[Answer]]:
    """Enters all brackets at once, or `in_turn` each after the one before it, and leaves them at
    once, also those that were entered when another could not be. Then the first error of these is
    raised."""
    stacks = [ExitStack() for _ in brackets]
    pairs = list(zip(stacks, brackets, strict=True))
    with ExitStack() as up:
        up.push(lambda *error: any(each(lambda stack: stack.__exit__(*error), stacks)))
        if in_turn:
            yield [stack.enter_context(bracket) for stack, bracket in pairs]
        else:
            yield each(lambda pair: pair[0].enter_context(pair[1]), pairs)
