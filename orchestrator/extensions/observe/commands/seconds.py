"""The command that reads an hour of seconds, where an observation has nothing but longer sums."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.extensions.observe.judging import managed_servers, node_sums
from orchestrator.extensions.observe.judging.answered_observation import DiskRead

_FILE = "seconds.json"
_HOUR = "1h"
# Options that an observation is held against, of all that was asked.
_KEPT = ("source", "vm", "size", "region", "at_cap")
# Names that /proc/diskstats gives to disks; providers and people call them otherwise.
_OF_KERNEL = re.compile(r"(sd|vd|xvd|nvme|dm-|md)[a-z0-9]+")


def command(given: Mapping[str, Any], disks: Sequence[DiskRead]) -> str:
    """The command that reads one-second values, as a shell takes it.

    It reads live where the disks were read live, else with iostat on the node. "" if all nodes are
    servers on whose machine no command runs. given: the options of the command that read these
    disks, without the empty ones.
    """
    reachable = [disk for disk in disks if not managed_servers.is_managed(disk)]
    if not reachable:
        return ""
    words = ["tierbench", "observe"]
    if "profile" not in given and "exporter" not in given:
        devices = _kernel_names(reachable)
        # -t for a time with each report; 3600 reports of one second.
        reading = ["iostat", "-o", "JSON", "-xt", *devices, "1", "3600"]
        words += ["--file", _FILE]
        # The pattern is of these names only if iostat calls the disks so too.
        if devices and "device" in given:
            words += ["--device", given["device"]]
        words += _judging(given)
        # sysstat writes times as the locale says; with ISO they have their offset from UTC.
        iostat = f"S_TIME_FORMAT=ISO {shlex.join(reading)}"
        return f"{iostat} > {_FILE} && {shlex.join(words)}"
    if "profile" in given:
        words += ["--profile", str(given["profile"])]
    for url in given.get("exporter", ()):
        words += ["--exporter", url]
    if "device" in given:
        words += ["--device", given["device"]]
    return shlex.join([*words, "--last", _HOUR, *_judging(given)])


def _kernel_names(disks: Sequence[DiskRead]) -> Sequence[str]:
    """The disks, if iostat knows all of them by these names; else none, so that it reads all."""
    devices: set[str] = set()
    for disk in disks:
        devices |= set(disk.device.split(node_sums.JOINED))
    names = sorted(devices)
    if all(_OF_KERNEL.fullmatch(name) for name in names):
        return names
    return ()


def _judging(given: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for name in _KEPT:
        if name in given:
            option = name.replace("_", "-")
            words += [f"--{option}", str(given[name])]
    if "striped" in given:
        words.append("--striped")
    return words
