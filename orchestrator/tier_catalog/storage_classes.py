"""A disk as bought → the StorageClass whose volumes are such disks. Pure.

Parameters are those of the providers' own drivers, all of them texts: kubernetes-sigs,
azuredisk-csi-driver (docs/driver-parameters.md), aws-ebs-csi-driver (docs/parameters.md),
gcp-compute-persistent-disk-csi-driver (README.md, examples/kubernetes), all of August 2026.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.tier import ClassWanted, Limits
from orchestrator.tier_catalog import limits as limits_of
from orchestrator.tier_catalog.catalog import provider_of
from orchestrator.tier_catalog.price_rows import UNIT_BYTES
from orchestrator.tier_catalog.rows import DiskType
from orchestrator.tier_catalog.rules import GIB

FILE_SYSTEM = "xfs"  # the same as on all disks of ours
ON_DEMAND_BURST = "enableBursting"
PERFORMANCE_PLUS = "enablePerformancePlus"


def of(
    name: str,
    full_name: str,
    kind: DiskType,
    size_bytes: int,
    limits: Limits,
    options: Sequence[str],
) -> ClassWanted:
    """The class `name` of the catalog's type, with `options` of Azure's driver. ValueError if no
    driver makes such disks."""
    if not is_made(full_name, kind):
        raise ValueError(f"no Kubernetes driver makes volumes of {full_name}")
    driver = _drivers()[provider_of(full_name)]
    parameters = {
        driver["type"]: kind.volume_type,
        # Azure's driver caches reads on the host by default, and a cache is not the disk.
        **driver["fixed"],
        **dict(_provisioned(driver, kind, limits)),
        # Kubernetes takes parameters as texts alone, so this is no truth value of YAML.
        **dict.fromkeys(options, "true"),
        driver["file_system"]: FILE_SYSTEM,
    }
    return ClassWanted(
        name=class_name(name),
        provisioner=driver["name"],
        parameters=parameters,
        # Limits of fixed sizes, such as Azure Premium's, follow from what the claim asks for alone.
        size_bytes=whole_gib_bytes(size_bytes),
    )


def is_made(full_name: str, kind: DiskType) -> bool:
    """Whether a driver makes disks of the catalog's type."""
    return provider_of(full_name) in _drivers() and kind.volume_type is not None


def _drivers() -> Mapping[str, Any]:
    return shipped(__package__, "drivers.yaml")


def _provisioned(
    driver: Mapping[str, str], kind: DiskType, limits: Limits
) -> Iterator[tuple[str, str]]:
    """IOPS and throughput, where they are bought and do not follow from something else."""
    rule = kind.provisioned
    if rule is None:
        return
    iops = limits.iops or 0
    yield driver["iops"], str(iops)
    if rule.throughput.follows is None:
        # Providers take whole numbers: the next one above, unless that is beyond the rule.
        rate = (limits.bytes_per_s or 0) / UNIT_BYTES[rule.throughput.unit]
        most = math.floor(limits_of.max_throughput(rule.throughput, iops))
        whole = min(math.ceil(rate), most)
        yield driver["throughput"], f"{whole}{driver['suffix']}"


def class_name(tier_name: str) -> str:
    """What the class of a tier is called in the cluster: unlike for tiers of unlike names."""
    # The tier of the log of `x` is called `x's WAL`.
    name = object_name(tier_name.replace("'s ", " "))
    if name == tier_name:
        return name
    # Another tier may have this name as it is, such as the profile `x-wal`.
    digest = hashlib.sha256(tier_name.encode()).hexdigest()[:6]
    return f"{name}-{digest}"


def object_name(name: str) -> str:
    """The name as Kubernetes allows it: small letters, digits, dashes and dots."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")


def whole_gib_bytes(size_bytes: int) -> int:
    """A size as a claim asks for it, and as providers bill it: the next whole GiB."""
    return limits_of.whole_gib(size_bytes) * GIB
