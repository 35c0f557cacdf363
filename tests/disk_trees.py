"""Disks as the kernel shows them below /sys, made in a folder.

Models, serials and firmware are as `nvme list` shows EBS volumes in AWS' "Amazon EBS and NVMe",
padded as the kernel pads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orchestrator.platforms.common.local_machine import LocalMachine


def ebs(serial: str) -> dict[str, str]:
    return {
        "size": "209715200",
        "queue/scheduler": "[none] mq-deadline",
        "queue/read_ahead_kb": "128",
        "queue/rotational": "0",
        "queue/write_cache": "write through",
        "queue/max_sectors_kb": "256",
        "device/model": "Amazon Elastic Block Store              ",
        "device/serial": f"{serial}",
        "device/firmware_rev": "1.0     ",
    }


def tree(root: Path, disks: Mapping[str, Mapping[str, str]]) -> LocalMachine:
    """`disks`: `name` or `disk/partition` → files; a file `slaves/x` is a link to another."""
    names = root / "sys/class/block"
    names.mkdir(parents=True)
    for place, files in disks.items():
        folder = root / "sys/devices" / place
        for name, text in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if name.startswith("slaves/"):
                file.symlink_to(root / "sys/devices" / text)
            else:
                file.write_text(f"{text}\n")
        (names / folder.name).symlink_to(folder)
    return LocalMachine(root)
