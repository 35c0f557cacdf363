"""How long the rest of a campaign takes: windows as planned, and what runs took. Pure."""

from collections.abc import Sequence
from statistics import median

from orchestrator.design import boxed_work, disk_matrix
from orchestrator.model import Plan, Run, Workload


def run_s(workload: Workload) -> float:
    """The windows of one run, at least."""
    # A matrix warms up and measures once for each of its cells.
    each_s = workload.warmup_s + workload.measure_s + workload.confirm_s
    return each_s * disk_matrix.stretches(workload.options)


class TimeLeft:
    """How long the rest will take: the windows planned, and what a run was seen to take beside."""

    def __init__(self) -> None:
        self._seen_s: list[float] = []
        # Workload that ends with its work → what its runs took, windows included.
        self._whole_s: dict[str, list[float]] = {}

    def before(self, runs: Sequence[Run], plan: Plan) -> float:
        """Seconds that the `runs` take which are not made yet."""
        if not self._seen_s and not self._whole_s:
            # Nothing was seen yet, so each run counts as its share of the estimate.
            return plan.estimate_s * len(runs) / len(plan.runs)
        left_s = 0.0
        for run in runs:
            left_s += self._run_s(plan.workload(run.workload))
        return left_s

    def _run_s(self, workload: Workload) -> float:
        """The median of what was seen, because first runs also load data and take the gates."""
        whole_s = self._whole_s.get(workload.name)
        if whole_s:
            return median(whole_s)
        around_s = 0.0
        if self._seen_s:
            around_s = median(self._seen_s)
        return run_s(workload) + around_s

    def took(self, workload: Workload, seconds: float) -> None:
        if boxed_work.ends_with_work(workload):
            # The window is only a deadline, so what is beside it cannot be told apart.
            self._whole_s.setdefault(workload.name, []).append(seconds)
            return
        self._seen_s.append(max(0.0, seconds - run_s(workload)))
