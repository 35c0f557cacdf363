"""What each of several clients carries of a workload."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.model import Workload

RATE = "arrival_rate"


def shares(workload: Workload, count: int) -> Iterator[Workload]:
    """The workload as each client carries it: threads as equal as they can be, the first clients
    with one more; of the arrival rate what its threads have of it."""
    for number in range(count):
        threads = workload.threads // count
        if number < workload.threads % count:
            threads += 1
        options = dict(workload.options)
        # The rate follows the threads: an equal share would ask more of a client with fewer.
        rate = float(options.get(RATE, 0))
        if rate:
            options[RATE] = rate * threads / workload.threads
        yield replace(workload, threads=threads, options=options)
