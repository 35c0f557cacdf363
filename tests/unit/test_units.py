"""Quantities as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from orchestrator import units
from orchestrator.metrics import span_in_words, value_in_words
from orchestrator.texts import prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10GiB", 10 * 2**30),
        ("250 GB", 250 * 10**9),
        (4096, 4096),
        ("1,024 KiB", 2**20),
    ],
)
def test_bytes(text: object, expected: int) -> None:
    assert units.parse_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("125MB/s", 125_000_000), ("240 MiB/s", 240 * 2**20)]
)
def test_rates(text: object, expected: int) -> None:
    assert units.parse_bytes_per_s(text) == expected


@pytest.mark.parametrize(
    ("text", "bytes"),
    [
        ("250Mb/s", "31.25MB/s"),
        ("250mb/s", "31.25MB/s"),
        ("2 Gbit/s", "250MB/s"),
        ("800Mbps", "100MB/s"),
    ],
)
def test_a_rate_of_a_disk_in_bits_is_refused_with_its_bytes(
    text: str, bytes: str
) -> None:
    with pytest.raises(ValueError, match=f"is in bits.*Write {bytes}, or"):
        units.parse_bytes_per_s(text)


@pytest.mark.parametrize(
    ("text", "bytes_per_s", "shown"),
    [
        ("100Mbit", 12_500_000, "100 Mbit/s"),
        ("1 Gbit/s", 125_000_000, "1,000 Mbit/s"),
        ("512kbit", 64_000, "0.512 Mbit/s"),
    ],
)
def test_rates_of_networks(text: str, bytes_per_s: int, shown: str) -> None:
    assert units.parse_link_rate(text) == bytes_per_s
    assert units.format_link_rate(bytes_per_s) == shown


@pytest.mark.parametrize(
    "text", ["100", 100, "100MB/s", "100Mb", "1Gbit/h", "fast", None]
)
def test_a_rate_of_a_network_in_anything_but_bits_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"such as 100Mbit"):
        units.parse_link_rate(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2ms", 0.002),
        ("30min", 1800.0),
        ("30m", 1800.0),
        ("1w", 604_800.0),
        ("0.8 ms", 0.0008),
        ("80us", 8e-5),
    ],
)
def test_times(text: object, expected: float) -> None:
    assert units.parse_seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["", "ten", "-5s", "5", 5, "5 parsecs", True, None, "1.2.3s"]
)
def test_a_time_without_a_known_unit_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"time|quantity"):
        units.parse_seconds(text)


@pytest.mark.parametrize("text", ["125", 125, "125MB", "125/s", "MB/s"])
def test_a_rate_without_its_unit_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"rate|quantity"):
        units.parse_bytes_per_s(text)


def test_a_quantity_is_below_what_64_bits_count() -> None:
    """The next lower number that a float has is 1,024 below 2^63."""
    assert units.parse_bytes(str(2**63 - 1024)) == 2**63 - 1024
    with pytest.raises(ValueError, match="too large"):
        units.parse_bytes(str(2**63))


@given(st.integers(min_value=0, max_value=10**15))
def test_plain_numbers_of_bytes_are_kept(number: int) -> None:
    assert units.parse_bytes(str(number)) == number


@pytest.mark.parametrize(
    ("metric", "value", "alone", "span"),
    [
        (
            "throughput_per_s",
            983.4,
            "983 transactions/s",
            "983 to 1,967 transactions/s",
        ),
        ("served_per_s", 120.0, "120 transactions/s", "120 to 240 transactions/s"),
        ("nopm", 1647.2, "1,647 NOPM", "1,647 to 3,294 NOPM"),
        ("iops", 3000.0, "3,000 IOPS", "3,000 to 6,000 IOPS"),
        ("latency_p99_s", 0.0009, "900 µs", "900 µs to 1.80 ms"),
        ("payload_bytes_per_s", 2e6, "2 MB/s", "2 MB/s to 4 MB/s"),
    ],
)
def test_a_rate_says_what_is_counted(
    metric: str, value: float, alone: str, span: str
) -> None:
    assert value_in_words(metric, value) == alone
    assert span_in_words(metric, value, 2 * value) == span


@pytest.mark.parametrize(
    ("number", "text"), [(2, "both runs"), (3, "all 3 runs"), (1, "all 1 run")]
)
def test_two_are_both(number: int, text: str) -> None:
    assert prose.all_of(number, "run") == text


@pytest.mark.parametrize(
    ("change_pct", "text"),
    [
        (1_000_000.1, "> +1,000,000 %"),
        (1_000_000.0, "+1,000,000 %"),
        (100.0, "+100 %"),
        (-99.9, "−99.9 %"),
        (0.095, "+0.1 %"),
        (-0.094, "−0.09 %"),
        (0.005, "+0.01 %"),
        (-0.0049, "0 %"),
        (0.0, "0 %"),
    ],
)
def test_a_change_has_as_many_decimals_as_its_size_deserves(
    change_pct: float, text: str
) -> None:
    assert units.format_change(change_pct) == text


@pytest.mark.parametrize(
    ("amount_bytes", "text"), [(1024, "1 KiB"), (1023, "1023 B"), (2**40, "1 TiB")]
)
def test_bytes_have_the_larger_unit_from_its_border_on(
    amount_bytes: int, text: str
) -> None:
    assert units.format_bytes(amount_bytes) == text


@pytest.mark.parametrize(
    ("number", "text"), [(999.5, "1,000"), (999.4, "999"), (-999.5, "-1,000")]
)
def test_what_rounds_to_a_thousand_is_written_as_one(number: float, text: str) -> None:
    assert units.format_number(number) == text


def test_what_a_person_reads() -> None:
    assert units.format_seconds(0.01352) == "13.5 ms"
    assert units.format_seconds(0.00042) == "420 µs"
    assert units.format_bytes(1.5 * 2**30) == "1.50 GiB"
    assert units.format_bytes_per_s(125e6) == "125 MB/s"
    assert units.format_change(-46.94) == "−46.9 %"
    assert units.format_change(0.0469) == "+0.05 %"
    assert units.format_change(0.001) == "0 %"
    assert units.format_change(6.5e20) == "> +1,000,000 %"
    assert units.format_number(12345.6) == "12,346"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (7200.0, "2 h"),
        (7199.0, "120 min"),
        (120.0, "2 min"),
        (119.0, "119 s"),
        (1.0, "1 s"),
        (0.999, "999 ms"),
        (0.001, "1 ms"),
        (0.0009, "900 µs"),
        (0.0, "0 ms"),
        (-7200.0, "-2 h"),
    ],
)
def test_a_time_has_the_larger_unit_from_its_border_on(
    seconds: float, text: str
) -> None:
    assert units.format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("parse", "text", "meant"),
    [
        (units.parse_size, "1,5TiB", "1.5TiB"),
        (units.parse_bytes, "0,25 GiB", "0.25 GiB"),
        (units.parse_bytes_per_s, "0,2GB/s", "0.2GB/s"),
        (units.parse_seconds, "1,5s", "1.5s"),
        (units.parse_link_rate, "2,5Gbit", "2.5Gbit"),
    ],
)
def test_a_decimal_comma_is_refused_with_a_point(
    parse: Callable[[object], float], text: str, meant: str
) -> None:
    with pytest.raises(ValueError, match=f"write '{re.escape(meant)}' with a point"):
        parse(text)


@pytest.mark.parametrize("text", ["1,0000MB", "1000,000MB", "1,,000MB", "1,00,000MB"])
def test_a_comma_is_read_only_before_three_digits(text: str) -> None:
    with pytest.raises(ValueError):
        units.parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [("1,250,000.5kB/s", 1_250_000_500), ("125MBps", 125_000_000), ("2MiBps", 2**21)],
)
def test_a_rate_may_have_thousands_and_may_be_spelled_as_providers_do(
    text: str, bytes_per_s: int
) -> None:
    assert units.parse_bytes_per_s(text) == bytes_per_s


@pytest.mark.parametrize("text", ["Bps2", "ps", "125MB", "125MBPS", "125MBps/s"])
def test_what_only_resembles_a_providers_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        units.parse_bytes_per_s(text)
