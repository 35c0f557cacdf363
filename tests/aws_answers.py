"""Rows of AWS's price list of EC2, in the columns of the file of a region.

Column names: the sixth row of the file of 2025-09-12 ("Reading the service price list file", AWS
Billing, says that five rows of metadata come before). Rows of ap-northeast-1: SKU, usage type, unit
and price as read from the list; of us-east-1 those beside them that are not a region's own disks:
a local zone's, and one that is reserved. Machines: columns and words as programs that read the
file name them (`BoxUsage:`, Linux, Shared, NA, Used, Hrs), prices as in the catalog, SKUs made up.
What is not known of a row is empty here.
"""

from __future__ import annotations

import csv
import io

COLUMNS = (
    *(
        "SKU",
        "OfferTermCode",
        "RateCode",
        "TermType",
        "PriceDescription",
        "EffectiveDate",
    ),
    *("StartingRange", "EndingRange", "Unit", "PricePerUnit", "Currency", "RelatedTo"),
    *(
        "LeaseContractLength",
        "PurchaseOption",
        "OfferingClass",
        "Product Family",
        "serviceCode",
    ),
    *(
        "Location",
        "Location Type",
        "Instance Type",
        "Storage Media",
        "Volume Type",
        "usageType",
    ),
    *(
        "operation",
        "CapacityStatus",
        "Pre Installed S/W",
        "Tenancy",
        "Operating System",
    ),
    *("Region Code", "serviceName", "Volume API Name", "VPCNetworkingSupport"),
)
METADATA = (
    ("FormatVersion", "v1.0"),
    ("Disclaimer", "This pricing list is for informational purposes only."),
    ("Publication Date", "2026-09-30T19:15:12Z"),
    ("Version", "20260930191512"),
    ("OfferCode", "AmazonEC2"),
)


def row(
    sku: str, usage: str, unit: str, price: str, family: str, volume: str, **other: str
) -> dict[str, str]:
    return {
        "SKU": sku,
        "TermType": "OnDemand",
        "StartingRange": "0",
        "EndingRange": "Inf",
        "Unit": unit,
        "PricePerUnit": price,
        "Currency": "USD",
        "Product Family": family,
        "Location Type": "AWS Region",
        "usageType": usage,
        "Volume API Name": volume,
        **other,
    }


def _of_tokyo(
    sku: str, usage: str, unit: str, price: str, volume: str
) -> dict[str, str]:
    family = {"VolumeUsage": "Storage", "VolumeP-IOPS": "System Operation"}
    what = usage.partition(".")[0]
    named = family.get(what, "Provisioned Throughput")
    return row(sku, f"APN1-EBS:{usage}", unit, price, named, volume)


TOKYO = (
    _of_tokyo("C8Y3GJZBQTH8T5JV", "VolumeUsage.gp3", "GB-Mo", "0.096", "gp3"),
    _of_tokyo("7TFGMV47Q2PEQ9W7", "VolumeP-IOPS.gp3", "IOPS-Mo", "0.006", "gp3"),
    _of_tokyo(
        "PCKHHBTPD7TEQ3K4", "VolumeP-Throughput.gp3", "GiBps-mo", "49.152", "gp3"
    ),
    _of_tokyo("X64MAFXTT3P6QD64", "VolumeUsage.io2", "GB-month", "0.142", "io2"),
    _of_tokyo("93STHNX46RXXQJAT", "VolumeP-IOPS.io2", "IOPS-Mo", "0.074", "io2"),
    _of_tokyo("R6R2MQNR2BKDVM3W", "VolumeP-IOPS.io2.tier2", "IOPS-Mo", "0.0518", "io2"),
    _of_tokyo(
        "T45SQDJUGF4D77XT", "VolumeP-IOPS.io2.tier3", "IOPS-Mo", "0.03626", "io2"
    ),
    _of_tokyo("2KRSTFABXH77P2FQ", "VolumeUsage.gp2", "GB-Mo", "0.120", "gp2"),
    _of_tokyo("9NAC6FAA5YD4J8DE", "VolumeUsage.piops", "GB-Mo", "0.142", "io1"),
    _of_tokyo("J5Z28Z87PP737A45", "VolumeP-IOPS.piops", "IOPS-Mo", "0.074", "io1"),
    _of_tokyo("XFKFYKTCXSEG2DMU", "VolumeUsage.st1", "GB-Mo", "0.054", "st1"),
    _of_tokyo("MPKBGKZFDXTW69NM", "VolumeUsage.sc1", "GB-Mo", "0.018", "sc1"),
)
NOT_OF_A_REGION = (
    row("B", "USE1-BOS1-EBS:VolumeUsage.gp3", "GB-Mo", "0.0960000000", "Storage", "gp3")
    | {"Location Type": "AWS Local Zone"},
    row("I", "EBS:VolumeUsage.gp2", "GB-Mo", "0.01", "Storage", "gp2")
    | {"TermType": "Reserved"},
    row("H", "EBS:SnapshotUsage", "GB-Mo", "0.05", "Storage Snapshot", ""),
)


def _machine(sku: str, usage: str, price: str, **other: str) -> dict[str, str]:
    linux = {
        "Operating System": "Linux",
        "Tenancy": "Shared",
        "Pre Installed S/W": "NA",
    }
    of_any = row(sku, usage, "Hrs", price, "Compute Instance", "")
    kind = usage.rpartition(":")[2]
    return {**of_any, **linux, "CapacityStatus": "Used", "Instance Type": kind, **other}


MACHINES = (
    _machine("M1", "BoxUsage:m5.2xlarge", "0.3840000000"),
    _machine("M2", "APN1-BoxUsage:t3.large", "0.0832000000"),
    _machine(
        "M3", "BoxUsage:m5.2xlarge", "0.7520000000", **{"Operating System": "Windows"}
    ),
    _machine("M4", "BoxUsage:x9.huge", "9.0000000000"),  # not of the catalog
)


def price_list(*rows: dict[str, str]) -> str:
    """The file, each value in quotes as AWS writes it."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows(METADATA)
    writer.writerow(COLUMNS)
    writer.writerows([one.get(column, "") for column in COLUMNS] for one in rows)
    return text.getvalue()
