"""The command that reads an hour of seconds: as it was read before, or with iostat on the node."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.extensions.observe.commands import seconds
from orchestrator.extensions.observe.judging import managed_servers
from orchestrator.extensions.observe.judging.answered_observation import DiskRead
from tests.simulated_demand import seconds_of, summed

MINUTES = DiskRead.of(summed(seconds_of("bursts of 10 s", 5, 600, mean=600.0), 60))


def test_what_was_read_live_is_read_live_again_and_held_against_the_same() -> None:
    exporter = {"exporter": ["http://a:9100", "http://b:9100"], "device": "sdc"}
    given = {**exporter, "calibrate": "2x5m", "last": "7d", "size": "250GiB"}
    assert seconds.command(given, [MINUTES]) == (
        "tierbench observe --exporter http://a:9100 --exporter http://b:9100 --device sdc "
        "--last 1h --size 250GiB"
    )
    profile = {"profile": "ours.yaml", "at_cap": 0.5, "striped": True}
    assert seconds.command(profile, [MINUTES]) == (
        "tierbench observe --profile ours.yaml --last 1h --at-cap 0.5 --striped"
    )


def test_a_disk_that_a_provider_calls_otherwise_is_not_asked_of_iostat() -> None:
    line = seconds.command({"size": "1TiB"}, [replace(MINUTES, device="lun0")])
    assert line == (
        "S_TIME_FORMAT=ISO iostat -o JSON -xt 1 3600 > seconds.json && "
        "tierbench observe --file seconds.json --size 1TiB"
    )


def test_a_stripe_is_read_and_judged_as_the_same_disks() -> None:
    stripe = replace(MINUTES, device="sdb+sdc")
    given = {"device": "sdb|sdc", "size": "1TiB", "striped": True}
    assert seconds.command(given, [stripe]) == (
        "S_TIME_FORMAT=ISO iostat -o JSON -xt sdb sdc 1 3600 > seconds.json && "
        "tierbench observe --file seconds.json --device 'sdb|sdc' --size 1TiB --striped"
    )


def test_a_pattern_of_a_providers_names_is_not_held_against_those_of_iostat() -> None:
    given = {"device": "lun.*", "size": "1TiB"}
    assert seconds.command(given, [replace(MINUTES, device="lun0")]) == (
        "S_TIME_FORMAT=ISO iostat -o JSON -xt 1 3600 > seconds.json && "
        "tierbench observe --file seconds.json --size 1TiB"
    )


RDS = replace(MINUTES, device=managed_servers.RDS_STORAGE)
FLEXIBLE_SERVER = replace(MINUTES, device=managed_servers.FLEXIBLE_SERVER_STORAGE)


def test_on_a_managed_server_no_command_runs() -> None:
    assert seconds.command({"size": "1TiB"}, [RDS, FLEXIBLE_SERVER]) == ""
    line = seconds.command({"size": "1TiB"}, [RDS, replace(MINUTES, device="sdc")])
    assert line.startswith("S_TIME_FORMAT=ISO iostat -o JSON -xt sdc 1 3600")
