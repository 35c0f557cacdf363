"""The search for a layout: which log's disks are tried, and which layouts are worth naming."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from orchestrator.analysis.predictions import Prediction
from orchestrator.extensions.predict.layouts import with_log_disks
from orchestrator.extensions.predict.rows import DiskOnMachine, Row, on_useful_machines
from orchestrator.facts import BottleneckCause
from orchestrator.tier import Latencies, Limits, Price, Tier
from tests.campaigns import build_tier


def row(
    name: str,
    monthly: float,
    iops: int = 500,
    latency_s: float = 0.002,
    currency: str = "USD",
) -> Row:
    price = Price(monthly, currency, "westus2", "2026-01-01", "a list")
    tier = replace(
        build_tier("premium"),
        name=name,
        limits=Limits(iops, 10**8),
        latency=Latencies(latency_s, latency_s),
        price=price,
    )
    return Row(name, tier, price)


class Chances:
    """Predicts the chance that is given for a layout, and notes what was asked.

    held_back: the machines that hold two disks back.
    """

    def __init__(
        self,
        chances: Mapping[str, float],
        ideal: float = 1.0,
        held_back: tuple[str, ...] = (),
    ) -> None:
        self.asked: list[str] = []
        self.machines: list[str | None] = []
        self._chances = chances
        self._ideal = ideal
        self._held_back = held_back

    def __call__(self, tier: Tier, machine: str | None) -> Prediction:
        assert tier.wal is not None
        chance = self._chances.get(tier.name, 0.0)
        if tier.wal.limits == Limits():
            chance = self._ideal
        else:
            self.asked.append(tier.name)
            self.machines.append(machine)
        limit: BottleneckCause = "latency_bound"
        if machine in self._held_back:
            limit = "vm_cap"
            chance = 0.3
        return _prediction(tier.name, chance, limit)

    @property
    def alone(self) -> dict[DiskOnMachine, Prediction]:
        """What is predicted of disks without one for the log."""
        alone: dict[DiskOnMachine, Prediction] = {}
        for name, chance in self._chances.items():
            alone[DiskOnMachine(name, None)] = _prediction(name, chance)
        return alone


def _prediction(
    name: str, chance: float, limit: BottleneckCause = "latency_bound"
) -> Prediction:
    return Prediction(
        name,
        False,
        limit=limit,
        figures={},
        monthly_cost=None,
        currency="USD",
        chance=chance,
        run="01-premium-tpcc-r1",
    )


SMALL = row("azure/P15", 40)
LARGE = row("azure/P30", 135, iops=5_000)
QUICK_LOG = row("azure/ultra", 12, iops=1_000, latency_s=0.0005)
SLOW_LOG = row("azure/P4", 5)


def found(
    chances: Chances, *logs: Row, data: tuple[Row, ...] = (SMALL, LARGE)
) -> list[str]:
    predictions = with_log_disks(data, chances.alone, logs, chances)
    return [prediction.tier for prediction in predictions]


def test_the_cheapest_log_that_is_likely_enough_ends_the_search_for_a_disk() -> None:
    dearer_log = row("azure/P20", 70, iops=2_300, latency_s=0.0004)
    chances = Chances(
        {
            "azure/P30": 0.95,
            "azure/P15+wal=azure/P4": 0.3,
            "azure/P15+wal=azure/ultra": 0.9,
        }
    )
    layouts = found(chances, dearer_log, QUICK_LOG, SLOW_LOG)
    assert layouts == ["azure/P15+wal=azure/P4", "azure/P15+wal=azure/ultra"]
    assert chances.asked == layouts, "nothing dearer is simulated"


def test_what_costs_no_less_than_a_likely_disk_alone_is_not_simulated() -> None:
    chances = Chances({"azure/P30": 0.9})
    log_as_dear = row("azure/P20", 95)  # with P15: 135, as P30 alone
    assert found(chances, log_as_dear) == []
    assert chances.asked == []
    just_cheaper = row("azure/P20", 94.99)
    assert found(chances, just_cheaper) == []
    assert chances.asked == ["azure/P15+wal=azure/P20"]


@pytest.mark.parametrize(("alone", "is_asked"), [(0.9, False), (0.89, True)])
def test_no_log_is_tried_beside_a_disk_that_is_likely_enough_alone(
    alone: float, is_asked: bool
) -> None:
    chances = Chances({"azure/P15": alone, "azure/P15+wal=azure/ultra": 1.0})
    found(chances, QUICK_LOG, data=(SMALL,))
    assert bool(chances.asked) is is_asked


def test_without_a_likely_disk_alone_no_price_is_too_high() -> None:
    chances = Chances({"azure/P30+wal=azure/ultra": 0.5})
    assert found(chances, QUICK_LOG) == ["azure/P30+wal=azure/ultra"]


@pytest.mark.parametrize(("ideal", "is_asked"), [(0.09, False), (0.1, True)])
def test_no_log_is_tried_where_one_that_never_waits_is_not_enough(
    ideal: float, is_asked: bool
) -> None:
    chances = Chances({}, ideal)
    found(chances, QUICK_LOG, data=(SMALL,))
    assert bool(chances.asked) is is_asked


@pytest.mark.parametrize(("ideal", "is_asked"), [(0.34, False), (0.36, True)])
def test_no_log_is_tried_where_one_that_never_waits_raises_the_chance_too_little(
    ideal: float, is_asked: bool
) -> None:
    """A log that held commits back was named for a chance that was the noise of simulations."""
    chances = Chances({"azure/P15": 0.3, "azure/P15+wal=azure/ultra": 0.9}, ideal)
    layouts = found(chances, QUICK_LOG, data=(SMALL,))
    assert bool(chances.asked) is is_asked
    assert bool(layouts) is is_asked


def test_a_full_machine_does_not_tell_what_a_slower_log_would_do() -> None:
    """One that never waits syncs more often, which uses more of what the machine lets through."""
    data = on_machine(SMALL, "azure/cheap", 100)
    log = on_machine(QUICK_LOG, "azure/cheap", 100)
    chances = Chances({}, held_back=("azure/cheap",))
    alone = {data.place: _prediction("azure/P15", 0.28)}
    list(with_log_disks([data], alone, [log], chances))
    assert chances.asked == ["azure/P15+wal=azure/ultra"]


@pytest.mark.parametrize(
    "log",
    [
        row("aws/gp3", 8, iops=3_000),
        row("azure/ultra", 8, iops=3_000, currency="EUR"),
    ],
)
def test_both_disks_are_of_one_provider_and_one_currency(log: Row) -> None:
    chances = Chances({})
    found(chances, log)
    assert chances.asked == []


@pytest.mark.parametrize(
    ("log", "is_asked"),
    [
        (row("azure/S4", 6), False),
        (row("azure/S4", 6, iops=501), True),
        (row("azure/S4", 6, latency_s=0.0019), True),
    ],
)
def test_a_log_that_a_cheaper_one_equals_in_everything_is_left_out(
    log: Row, is_asked: bool
) -> None:
    chances = Chances({})
    found(chances, SLOW_LOG, log, data=(SMALL,))
    assert ("azure/P15+wal=azure/S4" in chances.asked) is is_asked


def test_a_dearer_log_is_named_only_where_it_raises_the_chance() -> None:
    quicker = row("azure/P20", 70, iops=2_300, latency_s=0.0004)
    chances = Chances(
        {
            "azure/P15": 0.2,
            "azure/P15+wal=azure/P4": 0.24,
            "azure/P15+wal=azure/ultra": 0.25,
            "azure/P15+wal=azure/P20": 0.29,
        }
    )
    layouts = found(chances, quicker, QUICK_LOG, SLOW_LOG, data=(SMALL,))
    assert layouts == ["azure/P15+wal=azure/ultra"]


def test_disks_of_which_nobody_says_a_latency_are_left_out() -> None:
    """One of them ended the whole search with an error."""
    silent_tier = replace(SLOW_LOG.tier, latency=Latencies())
    silent_log = replace(SLOW_LOG, name="azure/S4", tier=silent_tier)
    silent_data = replace(LARGE, tier=silent_tier)
    chances = Chances({})
    found(chances, silent_log, QUICK_LOG, data=(SMALL, silent_data))
    assert chances.asked == ["azure/P15+wal=azure/ultra"]


# ------------------------------------------------------------------ machines


def on_machine(disk: Row, machine: str, monthly: float, iops: int | None = None) -> Row:
    """The disk on that machine, which lets so many I/Os a second of it through."""
    limits = disk.tier.limits
    if iops is not None:
        limits = replace(limits, iops=iops)
    tier = replace(disk.tier, limits=limits)
    return replace(disk, tier=tier, machine=machine, machine_monthly=monthly)


def machines_of(rows: list[Row]) -> list[str | None]:
    return [row.machine for row in on_useful_machines(rows)]


def test_a_dearer_machine_is_useful_only_where_it_lets_more_through() -> None:
    held_back = on_machine(LARGE, "azure/small", 70, iops=3_750)
    free = on_machine(LARGE, "azure/middle", 140, iops=5_000)
    no_better = on_machine(LARGE, "azure/large", 280, iops=5_000)
    rows = [no_better, free, held_back]
    assert machines_of(rows) == ["azure/small", "azure/middle"]


def test_a_machine_that_costs_less_for_the_same_takes_the_place_of_the_usual_one() -> (
    None
):
    usual = on_machine(SMALL, "aws/r5b.2xlarge", 435)
    cheaper = on_machine(SMALL, "aws/m5.2xlarge", 280)
    assert machines_of([usual, cheaper]) == ["aws/m5.2xlarge"]


def test_a_layout_costs_its_machine_too() -> None:
    """P15 with a log's disk on the cheap machine is dearer than P30 on it, and P15 on the dear one
    dearer still."""
    cheap = [on_machine(disk, "azure/cheap", 100) for disk in (SMALL, LARGE, QUICK_LOG)]
    dear = [on_machine(disk, "azure/dear", 190) for disk in (SMALL, QUICK_LOG)]
    chances = Chances({"azure/P15+wal=azure/ultra": 0.5})
    alone = {cheap[1].place: _prediction("azure/P30", 0.95)}
    data = [cheap[0], cheap[1], dear[0]]
    logs = [cheap[2], dear[1]]
    list(with_log_disks(data, alone, logs, chances))
    # 40 + 12 + 100 is less than 135 + 100; 40 + 12 + 190 is not.
    assert chances.machines == ["azure/cheap"]


def test_a_log_stands_on_the_machine_of_the_data() -> None:
    data = [on_machine(SMALL, "azure/cheap", 100)]
    logs = [on_machine(QUICK_LOG, "azure/dear", 190)]
    chances = Chances({})
    list(with_log_disks(data, {}, logs, chances))
    assert chances.machines == []


@pytest.mark.parametrize(
    ("held_back", "tried"),
    [
        ((), ["azure/cheap"]),
        (("azure/cheap",), ["azure/cheap", "azure/dear"]),
    ],
)
def test_a_larger_machine_is_tried_where_the_smaller_holds_both_disks_back(
    held_back: tuple[str, ...], tried: list[str]
) -> None:
    data = [
        on_machine(SMALL, "azure/cheap", 100),
        on_machine(SMALL, "azure/dear", 190),
    ]
    logs = [
        on_machine(QUICK_LOG, "azure/cheap", 100),
        on_machine(QUICK_LOG, "azure/dear", 190),
    ]
    chances = Chances({"azure/P15+wal=azure/ultra": 0.5}, held_back=held_back)
    list(with_log_disks(data, {}, logs, chances))
    assert chances.machines == tried


def test_a_layout_on_a_larger_machine_must_do_better_than_the_disk_alone_anywhere() -> (
    None
):
    cheap = on_machine(SMALL, "azure/cheap", 100)
    dear = on_machine(SMALL, "azure/dear", 190)
    log = on_machine(QUICK_LOG, "azure/dear", 190)
    chances = Chances({"azure/P15+wal=azure/ultra": 0.62})
    alone = {cheap.place: _prediction("azure/P15", 0.6)}
    assert list(with_log_disks([dear], alone, [log], chances)) == []
