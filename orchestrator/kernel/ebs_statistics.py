"""What an EBS volume counts of its limits: the log page that its NVMe device gives.

The page has ID 0xD0 and 4096 bytes, little-endian: a magic number and 4 reserved bytes, 11 counters
of 8 bytes, 416 reserved bytes, then histograms that are not read here. Times are microseconds.

Meaning of the counters:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Container-Insights-metrics-EBS-Collect.html
Layout: AWS' CloudWatch agent (its receiver of NVMe metrics) and nvme-cli (its plugin amzn), which
agree. The command is `struct nvme_passthru_cmd` of Linux' include/uapi/linux/nvme_ioctl.h.
"""

import ctypes
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass

MODEL = "Amazon Elastic Block Store"
MAGIC = 0x3C23B510
PAGE_BYTES = 4096
_PAGE = struct.Struct("<I4x11Q")
_MICROSECOND = 1e-6
_YEAR_S = 365 * 24 * 3600.0
# No count is so high: what is not kept may be full of ones, and would never grow.
_BEYOND_YEARS = 100

_ADMIN_COMMAND = 0xC0484E41  # NVME_IOCTL_ADMIN_CMD
_COMMAND_BYTES = 72
_HEAD = struct.Struct("<B3xI")  # opcode, namespace
_DATA = struct.Struct("<Q4xII")  # address, length, first word of the command's own
_DATA_AT = 24
_GET_LOG_PAGE = 0x02
_LOG_PAGE_ID = 0xD0
_NAMESPACE = 1
# Lengths are counted in words of 4 bytes, less one.
_PAGE_WORDS_LESS_ONE = PAGE_BYTES // 4 - 1


@dataclass(frozen=True)
class EbsStatistics:
    """For how long in all demand was above a limit, in seconds.

    `volume_…`: a limit of the volume. `instance_…`: one that its machine has for EBS.
    """

    volume_iops_exceeded_s: float
    volume_bandwidth_exceeded_s: float
    instance_iops_exceeded_s: float
    instance_bandwidth_exceeded_s: float


def parsed(page: bytes) -> EbsStatistics:
    """The statistics in a log page. ValueError if it has another length, is no such page, or counts
    more than can be."""
    if len(page) != PAGE_BYTES:
        raise ValueError(
            f"EBS' log page has {len(page)} bytes: {PAGE_BYTES} are documented"
        )
    magic, *counters = _PAGE.unpack_from(page)
    if magic != MAGIC:
        raise ValueError(f"a log page begins with {magic:#x}: EBS' has {MAGIC:#x}")
    # I/Os, bytes and times of reads and writes stand before them. The queue stands behind them.
    exceeded_s = [microseconds * _MICROSECOND for microseconds in counters[6:10]]
    if max(exceeded_s) > _BEYOND_YEARS * _YEAR_S:
        raise ValueError(f"a log page counts more than {_BEYOND_YEARS} years")
    return EbsStatistics(*exceeded_s)


Ask = Callable[[int, bytearray], int]  # descriptor and command → NVMe status, 0: done


def ask_driver(descriptor: int, command: bytearray) -> int:
    """Hands the kernel's NVMe driver a command. OSError if it may not be given."""
    # The module is not there on every system that analyzes results.
    import fcntl

    status: int = fcntl.ioctl(descriptor, _ADMIN_COMMAND, command)
    return status


def log_page(device_file: str, ask: Ask = ask_driver) -> bytes:
    """Asks an NVMe device for the page. OSError if it may not be asked, or has no such page."""
    page = ctypes.create_string_buffer(PAGE_BYTES)
    command = _command(ctypes.addressof(page))
    descriptor = os.open(device_file, os.O_RDONLY)
    try:
        status = ask(descriptor, command)
    finally:
        os.close(descriptor)
    if status:
        raise OSError(f"{device_file} refused its log page: NVMe status {status:#x}")
    return page.raw


def _command(page_address: int) -> bytearray:
    """Get Log Page into this memory."""
    # All else is 0. So is its timeout, which is then the driver's: after a shorter one Linux resets
    # the controller.
    command = bytearray(_COMMAND_BYTES)
    _HEAD.pack_into(command, 0, _GET_LOG_PAGE, _NAMESPACE)
    page_id_and_length = _LOG_PAGE_ID | _PAGE_WORDS_LESS_ONE << 16
    _DATA.pack_into(command, _DATA_AT, page_address, PAGE_BYTES, page_id_and_length)
    return command
