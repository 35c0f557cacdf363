"""What limited a run, in words that stand behind "limited by"."""

from collections.abc import Mapping

from orchestrator.facts import BottleneckCause

# All but `unattributed`, of which nothing can be said to be the limit.
_LIMITS: Mapping[BottleneckCause, str] = {
    "iops_cap": "the disk's IOPS",
    "bandwidth_cap": "the disk's bandwidth",
    "latency_bound": "the disk's latency",
    "wal_disk_bound": "the disk of the WAL",
    "burst_exhausted": "the disk once its burst credit was used up",
    "cpu_bound": "the CPU of the nodes",
    "single_core": "a single core",
    "memory_bound": "memory",
    "slow_node": "a node slower than the others",
    "load_bound": "the load, which asks for no more",
    "few_sessions": "the number of sessions",
    "network_bound": "the network",
    "contention": "transactions that wait for each other",
    "vm_cap": "the virtual machine's cap on its disks",
    "shared_cap": "a cap that several disks share",
    "in_cache": "no disk, because data were read from the cache",
    "service_cap": "a cap of the database service",
    "client_bound": "the load generator, not the disk",
    "machine_bound": "this machine, not the disk",
}


def limit_in_words(cause: BottleneckCause) -> str:
    """`the disk's IOPS`; empty for a cause that was not found out."""
    return _LIMITS.get(cause, "")
