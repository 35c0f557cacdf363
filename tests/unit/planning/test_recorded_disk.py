"""Latencies as quantiles, and the file of a recorded disk: what it says and what is refused."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from orchestrator.design import latency_quantiles
from orchestrator.design.latency_quantiles import mean_s, of_histogram, quantile_s
from orchestrator.errors import UsageError
from orchestrator.model import Profile
from orchestrator.planning import project_files, recorded_disk
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.tier import Burst, Quantiles, SlowEpochs
from tests import ROOT
from tests.plans import CLUSTER, profile_text
from tests.tiers import a_tier

TABLE = ((0.0, 0.0003), (0.5, 0.0005), (0.99, 0.004), (1.0, 0.02))
DISK: dict[str, Any] = {
    "schema_version": 1,
    "source": "fio on a P15 in westeurope",
    "as_of": "2026-11-01",
    "limits": {
        "iops_read": 1102.0,
        "iops_write": 1098.0,
        "iops_mixed": 1100.0,
        "bytes_per_s_read": 125_100_000,
        "bytes_per_s_write": 100_000_000,
    },
    "latency": {
        "read_quantiles_s": {"0": 0.0003, "0.5": 0.0005, "0.99": 0.004, "1": 0.02},
        "write_quantiles_s": {"0": 0.0009, "0.5": 0.002, "1": 0.03},
    },
}
CATALOG = project_files.catalog(ROOT)


# ------------------------------------------------------------------ quantiles


def test_a_table_is_read_straight_between_its_points() -> None:
    assert quantile_s(TABLE, 0.0) == 0.0003
    assert quantile_s(TABLE, 0.25) == pytest.approx(0.0004)
    assert quantile_s(TABLE, 0.99) == pytest.approx(0.004)
    assert quantile_s(TABLE, 1.0) == pytest.approx(0.02)
    by_hand_s = 0.5 * 0.0004 + 0.49 * 0.00225 + 0.01 * 0.012
    assert mean_s(TABLE) == pytest.approx(by_hand_s)


histograms = st.dictionaries(
    st.integers(100, 10**9).map(lambda ns: ns * 1e-9),
    st.integers(1, 5000),
    min_size=1,
    max_size=60,
)


@given(histograms)
def test_any_histogram_becomes_a_table_within_it(counts: dict[float, int]) -> None:
    table = of_histogram(counts)
    assert list(latency_quantiles.mistakes(table)) == []
    assert (table[0][1], table[-1][1]) == (min(counts), max(counts))
    assert min(counts) * (1 - 1e-9) <= mean_s(table) <= max(counts) * (1 + 1e-9)


def test_a_histogram_of_many_requests_keeps_its_quantiles_and_its_mean() -> None:
    values_s = [0.0005 * math.exp(0.5 * math.sin(k)) for k in range(100_000)]
    table = of_histogram(Counter(round(value, 6) for value in values_s))
    ranked = sorted(values_s)
    for probability in (0.05, 0.5, 0.95, 0.99, 0.999):
        expected_s = ranked[math.ceil(probability * len(ranked)) - 1]
        assert quantile_s(table, probability) == pytest.approx(expected_s, rel=0.01)
    assert mean_s(table) == pytest.approx(sum(values_s) / len(values_s), rel=0.01)


def test_a_tail_of_few_requests_is_not_made_up() -> None:
    """Of 500 requests, five lie beyond the 99th percentile: too few to know it."""
    table = of_histogram({0.001: 495, 0.002: 5})
    assert max(probability for probability, _ in table[:-1]) == 0.98
    with pytest.raises(ValueError, match="no request was timed"):
        of_histogram({})


@pytest.mark.parametrize(
    ("requests", "most"),
    [
        # Of a thousand ten lie beyond the 99th percentile, of 999 nine.
        (1000, 0.99),
        (999, 0.98),
        (20, 0.5),
        (19, 0.49),
        # Below the median all are told, however few there are.
        (1, 0.49),
    ],
)
def test_a_percentile_is_known_if_ten_requests_lie_beyond(
    requests: int, most: float
) -> None:
    table = of_histogram({0.001: requests})
    assert max(probability for probability, _ in table[:-1]) == most


@pytest.mark.parametrize(
    ("table", "mistakes"),
    [
        (((0.0, 0.001), (1.0, 0.001)), []),
        (((0.0, 0.001), (1.0, 60.0)), []),
        (((0.0, 0.001), (1.0, 60.1)), ["not above 0 and at most 60 s"]),
        (((0.0, 0.0), (1.0, 0.001)), ["not above 0 and at most 60 s"]),
        (((0.0, 0.001), (0.0, 0.001), (1.0, 0.002)), ["probabilit"]),
        (((0.0, 0.001),), ["has 1 points; 2 to 1024 work"]),
    ],
)
def test_a_table_rises_from_the_first_to_the_last_point(
    table: Quantiles, mistakes: list[str]
) -> None:
    found = list(latency_quantiles.mistakes(table))
    assert len(found) == len(mistakes)
    for text, words in zip(found, mistakes, strict=True):
        assert words in text


# ------------------------------------------------------------------ the file


def read(**changed: Any) -> recorded_disk.RecordedDisk:
    return recorded_disk.read("disk.json", json.dumps({**DISK, **changed}))


def test_what_is_written_is_read_again() -> None:
    disk = read(burst={"iops": 3500, "base_iops": 1100, "duration_s": 1800})
    again = recorded_disk.read("x", json.dumps(disk.model_dump()))
    assert again == disk
    assert disk.latency.read_quantiles_s == TABLE


def latency(**changed: Any) -> dict[str, Any]:
    return {"latency": {**DISK["latency"], **changed}}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"schema_version": 2}, "schema_version: expected 1"),
        ({"source": ""}, "source: "),
        ({"speed": 1}, "speed: unknown key"),
        ({"limits": {**DISK["limits"], "iops_read": 0}}, "limits.iops_read"),
        (latency(read_quantiles_s={}), "has 0 points"),
        (latency(read_quantiles_s=[0.1]), "expected probabilities"),
        (latency(read_quantiles_s={"0": 0.001, "p99": 0.002}), "is not a number"),
        (latency(read_quantiles_s={"0": 0.001, "0.9": 0.002}), "ends with 1"),
        (latency(read_quantiles_s={"0": 0.002, "1": 0.001}), "below that of a lower"),
        (latency(read_quantiles_s={"0": 0.0, "1": 0.001}), "not above 0"),
        (latency(read_quantiles_s={"0": 0.1, "0.5": 1, "0.50": 2, "1": 3}), "twice"),
        (
            latency(slow_epochs={"factor": 1, "slow_dwell_s": 1, "good_dwell_s": 1}),
            "factor",
        ),
        ({"burst": {"iops": 10}}, "burst.base_iops: this key is missing"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(
    changed: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError) as refused:
        read(**changed)
    said = [f"{mistake.where}: {mistake.what}" for mistake in refused.value.mistakes]
    assert all(line.startswith("disk.json: ") for line in said)
    assert any(words in line for line in said), said


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": NaN}', "[" * 100_000])
def test_a_file_that_is_no_mapping_in_json_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        recorded_disk.read("disk.json", text)


# ------------------------------------------------------------------ in a profile


def profile(tier: str, disk: dict[str, Any] = DISK) -> Profile:
    def beside(name: str) -> str:
        assert name == "disks/p15.json"
        return json.dumps(disk)

    text = profile_text(tier)
    return read_profile(
        "x", text, Nameable({"small": CLUSTER}, CATALOG, beside=beside), "smoke"
    )


def test_a_recorded_disk_gives_limits_and_latencies() -> None:
    tier = profile("{recorded: disks/p15.json}").tier
    assert (tier.disk.kind, tier.limits.iops, tier.limits.bytes_per_s) == (
        "emulated",
        1100,
        100_000_000,
    )
    assert (tier.latency.read_s, tier.latency.write_s) == (0.0005, 0.002)
    assert tier.latency.model is not None and tier.latency.model.read == TABLE
    assert latency_quantiles.described(tier) == (
        "modelled from fio on a P15 in westeurope, as of 2026-11-01"
    )
    assert (tier.origin.source, tier.origin.as_of) == (DISK["source"], DISK["as_of"])


@pytest.mark.parametrize(
    ("write", "one_total"),
    [
        (1050.0, 1025),  # by 5 %: the mean
        (1051.0, 1000),  # by more: what every load gets
    ],
)
def test_rates_that_differ_by_5_pct_at_most_are_of_one_cap(
    write: float, one_total: int
) -> None:
    rates = {"iops_read": 1000.0, "iops_mixed": 1025.0, "iops_write": write}
    disk = read(limits={**DISK["limits"], **rates})
    assert disk.limits is not None
    assert recorded_disk.own_limits(disk.limits)["iops"] == one_total


@pytest.mark.parametrize(("peak", "bursts"), [(1100, False), (1101, True)])
def test_a_recorded_burst_is_above_the_tiers_iops(peak: int, bursts: bool) -> None:
    burst = {"iops": peak, "base_iops": 1000, "duration_s": 60}
    tier = profile("{recorded: disks/p15.json}", {**DISK, "burst": burst}).tier
    assert (tier.limits.burst is not None) is bursts


def test_what_the_profile_gives_is_stronger_than_the_file() -> None:
    tier = profile("{recorded: disks/p15.json, iops: 500}").tier
    assert (tier.limits.iops, tier.limits.bytes_per_s) == (500, 100_000_000)


def test_a_row_keeps_its_limits_and_takes_the_latencies() -> None:
    burst = {"iops": 9000, "base_iops": 1100, "duration_s": 60}
    plain = profile("{type: azure/P20}").tier
    tier = profile(
        "{type: azure/P20, recorded: disks/p15.json}", {**DISK, "burst": burst}
    ).tier
    assert (tier.limits.iops, tier.limits.bytes_per_s, tier.limits.burst) == (
        plain.limits.iops,
        plain.limits.bytes_per_s,
        plain.limits.burst,
    )
    assert (tier.latency.read_s, tier.latency.assumed) == (0.0005, ())
    assert plain.latency.model is None
    assert latency_quantiles.described(plain) == "constant (p99 is not comparable)"


def test_a_recorded_burst_starts_without_credit() -> None:
    burst = {"iops": 3500, "base_iops": 1100, "duration_s": 1800}
    tier = profile("{recorded: disks/p15.json}", {**DISK, "burst": burst}).tier
    assert tier.limits.burst == Burst(3500, None, 1800, start_pct=0)


def test_slow_epochs_of_the_file_are_in_the_model() -> None:
    epochs = {"factor": 5, "slow_dwell_s": 20, "good_dwell_s": 600}
    tier = profile(
        "{recorded: disks/p15.json}", {**DISK, **latency(slow_epochs=epochs)}
    ).tier
    assert tier.latency.model is not None
    assert tier.latency.model.slow_epochs == SlowEpochs(5, 20, 600)


@pytest.mark.parametrize(
    ("tier", "words"),
    [
        (
            "{recorded: disks/p15.json, read_latency: 1ms}",
            "tier.read_latency: the file of",
        ),
        (
            "{recorded: disks/p15.json, enforcement: mounted, path: /mnt/a}",
            "tier.recorded: belongs to `enforcement: emulated`",
        ),
        (
            "{recorded: disks/p15.json, enforcement: none}",
            "tier.recorded: belongs to `enforcement: emulated`",
        ),
        ("{recorded: 5}", "tier.recorded"),
    ],
)
def test_a_tier_that_contradicts_its_file_is_refused(tier: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        profile(tier)
    said = [f"{mistake.where}: {mistake.what}" for mistake in refused.value.mistakes]
    assert any(words in line for line in said), said


def test_a_file_without_limits_needs_them_in_the_profile() -> None:
    without = {key: value for key, value in DISK.items() if key != "limits"}
    with pytest.raises(UsageError) as refused:
        profile("{recorded: disks/p15.json}", without)
    assert "needs `iops` and `throughput`" in refused.value.mistakes[0].what
    assert (
        profile(
            "{recorded: disks/p15.json, iops: 9, throughput: 9MB/s}", without
        ).tier.limits.iops
        == 9
    )


@pytest.mark.parametrize("content", [json.dumps(DISK), None])
def test_the_file_lies_beside_the_profile(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "mine.yaml").write_text(
        profile_text("{recorded: disks/p15.json}").replace("small", "azure-d8s-v5")
    )
    (tmp_path / "disks").mkdir()
    named = [str(tmp_path / "mine.yaml")]
    if content is None:
        with pytest.raises(UsageError) as refused:
            project_files.read(ROOT, named, [], "laptop")
        assert "cannot be read" in refused.value.mistakes[0].what
        return
    (tmp_path / "disks/p15.json").write_text(content)
    (found,), _ = project_files.read(ROOT, named, [], "laptop")
    assert found.tier.latency.model is not None


def test_other_disks_are_described_by_nothing() -> None:
    real = a_tier("real", "Real", "mounted", None, None, path="/mnt/a")
    assert latency_quantiles.described(real) == ""
