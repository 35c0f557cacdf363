"""Servers whose machine a provider keeps for itself: nobody can read seconds with a command there.

Their storage is called so that an observation that is read again still tells what it was of."""

from collections.abc import Sequence

from orchestrator.extensions.observe.judging.answered_observation import DiskRead

RDS_STORAGE = "rds-storage"
FLEXIBLE_SERVER_STORAGE = "flexible-server-storage"
# Storage → what can be asked instead of a command. RDS has Enhanced Monitoring of 1 to 60 s, whose
# readings go to CloudWatch Logs (Amazon RDS User Guide, "Monitoring OS metrics with Enhanced
# Monitoring"). A flexible server's metrics are of minutes (Azure Database for PostgreSQL,
# "Monitoring and metrics").
_INSTEAD = {
    RDS_STORAGE: "turn on RDS's Enhanced Monitoring at 1 s. Give an hour of its disk metrics as a "
    "CSV",
    FLEXIBLE_SERVER_STORAGE: "a flexible server has no metrics of seconds: measure the "
    "candidates in a campaign",
}


def is_managed(disk: DiskRead) -> bool:
    return disk.device in _INSTEAD


def instead_of_seconds(disks: Sequence[DiskRead]) -> list[str]:
    """What to ask of the managed servers among these, a line for each kind of them."""
    devices = {disk.device for disk in disks}
    lines: list[str] = []
    for storage, advice in _INSTEAD.items():
        if storage in devices:
            lines.append(advice)
    return lines
