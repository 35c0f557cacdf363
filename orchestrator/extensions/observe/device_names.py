"""What the name of a device says of its disk: whether it is a partition, or a volume. Pure."""

import re

# Linux calls partitions so: sda1, vda1, xvda1; nvme0n1p1, mmcblk0p1, md127p1.
_PARTITION = re.compile(r"((?:s|v|xv)d[a-z]+|(?:nvme\d+n|mmcblk|md)\d+(?=p))p?\d+")
_VOLUME = re.compile(r"(?:dm-|md)\d+")


def whole(name: str) -> str:
    """The disk that a partition is part of; any other device itself."""
    match = _PARTITION.fullmatch(name)
    if match is None:
        return name
    return match[1]


def is_volume(name: str) -> bool:
    """Whether it is made of other devices, which its name does not tell."""
    return _VOLUME.fullmatch(name) is not None


def may_be_one_disk(first: str, second: str) -> bool:
    """Whether two devices of a machine may lie on one disk, as two partitions of it do."""
    disks = (whole(first), whole(second))
    if is_volume(disks[0]) or is_volume(disks[1]):
        return True
    return disks[0] == disks[1]
