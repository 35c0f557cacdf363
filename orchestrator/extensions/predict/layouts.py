"""The search for the cheapest layout that meets an SLO: disks of the data on several machines, with
and without a second disk for the log. Pure.

A layout whose price is known not to be the lowest is not simulated, and no log's disk is tried
where even one that never waits would not be enough, or would hardly raise the chance. A larger
machine is looked at only where the smaller one holds the disks back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis.predictions import Prediction
from orchestrator.extensions.predict.answer import CHANCES
from orchestrator.extensions.predict.rows import (
    DiskOnMachine,
    Row,
    by_price,
    lets_as_much_through,
    may_stand_beside,
    undominated,
)
from orchestrator.tier import Latencies, Limits, Tier, disk_names

LIKELY = CHANCES[0]
POSSIBLE = CHANCES[-1]
# A dearer log's disk must raise the chance by so much: less is the noise of a simulation.
WORTH_A_LINE = 0.05
# Latency of a disk that never waits: no disk of the catalog is as fast.
_IDEAL_LATENCY_S = 1e-5

# A tier on that machine (None: it is not known which) → what is predicted of it.
Predict = Callable[[Tier, str | None], Prediction]


def with_log_disks(
    data_rows: Sequence[Row],
    alone: Mapping[DiskOnMachine, Prediction],
    log_rows: Sequence[Row],
    predict: Predict,
) -> Iterator[Prediction]:
    """Predictions of layouts with a disk for the log that may meet the SLO, and that cost less than
    the cheapest that likely does.

    `alone`: what is predicted without such a disk, with its chance. It has each of `data_rows`, or
    the same disk on a cheaper machine that lets as much through. `predict`: predicts a tier with
    `wal`.
    """
    search = _LogSearch(data_rows, alone, log_rows, predict)
    for row in sorted(data_rows, key=by_price):
        yield from search.layouts_of(row)


class _LogSearch:
    """What is known while rows are walked from cheap to dear."""

    def __init__(
        self,
        data_rows: Sequence[Row],
        alone: Mapping[DiskOnMachine, Prediction],
        log_rows: Sequence[Row],
        predict: Predict,
    ) -> None:
        self._alone = alone
        self._useful_log_rows = undominated(log_rows)
        self._predict = predict
        # Currency → what the cheapest row that likely meets the SLO costs.
        self._ceilings: dict[str, float] = {}
        for row in data_rows:
            if self._chance_alone(row) >= LIKELY:
                self._lower_ceiling(row.price.currency, row.monthly)
        # Disks that no machine held back, with their cheapest machine.
        self._unhindered: list[Row] = []

    def layouts_of(self, row: Row) -> Iterator[Prediction]:
        """The layouts of one disk on its machine that are worth naming."""
        if not row.has_latencies or self._is_alike_for_less(row):
            return
        log_rows: list[Row] = []
        for log_row in self._useful_log_rows:
            if may_stand_beside(row, log_row):
                log_rows.append(log_row)
        # A log's disk only adds to the price of what is likely enough alone.
        chance_alone = self._chance_alone(row)
        if not log_rows or chance_alone >= LIKELY:
            return
        cheapest_log_row = log_rows[0]
        if not self._is_cheaper(row, cheapest_log_row):
            return
        ideal = self._predict(_with_ideal_log(row, cheapest_log_row), row.machine)
        least_chance = POSSIBLE
        # Where a machine is full, fewer and longer syncs may do better than ideal ones.
        if ideal.limit != "vm_cap":
            self._unhindered.append(row)
            least_chance = _worth_naming(chance_alone)
        if _chance(ideal) < least_chance:
            return
        yield from self._with_each_log(row, log_rows, chance_alone)

    def _with_each_log(
        self, row: Row, log_rows: Sequence[Row], chance_alone: float
    ) -> Iterator[Prediction]:
        """From the cheapest log's disk on: those that raise the chance, until one is likely."""
        best_chance = chance_alone
        for log_row in log_rows:
            if not self._is_cheaper(row, log_row):
                return
            prediction = self._predict(_with_log(row, log_row), row.machine)
            chance = _chance(prediction)
            if chance >= _worth_naming(best_chance):
                best_chance = chance
                yield prediction
            if chance >= LIKELY:
                self._lower_ceiling(row.price.currency, _price_of_both(row, log_row))
                return

    def _is_alike_for_less(self, row: Row) -> bool:
        """Whether the same disk was tried on a cheaper machine, which did not hold it back."""
        for cheaper in self._unhindered:
            if cheaper.name == row.name and lets_as_much_through(cheaper, row):
                return True
        return False

    def _chance_alone(self, row: Row) -> float:
        """The chance of the disk without another one for the log."""
        if row.place in self._alone:
            return _chance(self._alone[row.place])
        # It is not asked for alone where a cheaper machine lets as much through.
        chances = [0.0]
        for place, prediction in self._alone.items():
            if place.disk == row.name:
                chances.append(_chance(prediction))
        return max(chances)

    def _is_cheaper(self, row: Row, log_row: Row) -> bool:
        """Whether both disks cost less than the cheapest that likely meets the SLO."""
        ceiling = self._ceilings.get(row.price.currency)
        return ceiling is None or _price_of_both(row, log_row) < ceiling

    def _lower_ceiling(self, currency: str, monthly: float) -> None:
        self._ceilings[currency] = min(monthly, self._ceilings.get(currency, monthly))


def _price_of_both(row: Row, log_row: Row) -> float:
    """The price of two disks on one machine."""
    return row.monthly + log_row.price.monthly


def _with_log(row: Row, log_row: Row) -> Tier:
    name = disk_names.with_log(row.name, log_row.name)
    return replace(row.tier, name=name, wal=log_row.tier)


def _with_ideal_log(row: Row, log_row: Row) -> Tier:
    """The layout with a log's disk that never waits: no real one could do more."""
    latency = Latencies(read_s=_IDEAL_LATENCY_S, write_s=_IDEAL_LATENCY_S)
    ideal = replace(log_row.tier, limits=Limits(), latency=latency)
    return replace(row.tier, name=row.name, wal=ideal)


def _worth_naming(best_chance: float) -> float:
    """The least chance of a layout beside a cheaper one that has the best chance until now."""
    return max(POSSIBLE, best_chance + WORTH_A_LINE)


def _chance(prediction: Prediction) -> float:
    return prediction.chance or 0.0
