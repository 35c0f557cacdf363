"""Names of the counters and gauges that collectors write.

Names of counters end in `_total`; gauges do not. Collectors write

- per container: CPU seconds, those throttled, and, where it has a CPU quota, the periods and those
  in which it was used up; bytes and packets of its network, segments of TCP and those sent again;
  gauges memory_used_bytes, memory_cache_bytes
- per device, under its database node's name: the counters `disk_…` below, disk_flushes_total, and
  the gauge disk_in_flight; the same with `wal_` before them of the disk of its WAL, if it has one
  of its own
- per database node with an emulated disk: for how long its limits held I/Os back, and how long
  these took in all, both as its server counts; the same with `wal_` before them
- per database node whose device is an EBS volume: for how long demand was above a limit of the
  volume, or of its machine (`instance`)
- per disk of which a provider's metrics were given afterwards (`reported_disks`): the seconds of
  whole minutes in which a limit of it or of its machine was reached
- per node of role "host": its CPU and its pressure (pressure_{cpu,io,memory}_some_seconds_total);
  gauge busiest_core_pct
- per node of YugabyteDB, summed over its tablets: what `yugabyte/counters.py` reads."""

READS = "disk_reads_total"
WRITES = "disk_writes_total"
READ_BYTES = "disk_read_bytes_total"
WRITTEN_BYTES = "disk_written_bytes_total"
READ_SECONDS = "disk_read_seconds_total"
WRITE_SECONDS = "disk_write_seconds_total"
BUSY_SECONDS = "disk_busy_seconds_total"
# Each I/O in flight counts, so the growth per second is how many were in flight on average.
QUEUE_SECONDS = "disk_queue_seconds_total"
WAL_READS = "wal_disk_reads_total"
WAL_WRITES = "wal_disk_writes_total"
WAL_READ_BYTES = "wal_disk_read_bytes_total"
WAL_WRITTEN_BYTES = "wal_disk_written_bytes_total"
WAL_READ_SECONDS = "wal_disk_read_seconds_total"
WAL_WRITE_SECONDS = "wal_disk_write_seconds_total"
HELD_BACK_SECONDS = "disk_held_back_seconds_total"
SERVED_SECONDS = "disk_served_seconds_total"
VOLUME_IOPS_EXCEEDED = "ebs_volume_iops_exceeded_seconds_total"
VOLUME_BANDWIDTH_EXCEEDED = "ebs_volume_bandwidth_exceeded_seconds_total"
INSTANCE_IOPS_EXCEEDED = "ebs_instance_iops_exceeded_seconds_total"
INSTANCE_BANDWIDTH_EXCEEDED = "ebs_instance_bandwidth_exceeded_seconds_total"
EXCEEDED = (
    VOLUME_IOPS_EXCEEDED,
    VOLUME_BANDWIDTH_EXCEEDED,
    INSTANCE_IOPS_EXCEEDED,
    INSTANCE_BANDWIDTH_EXCEEDED,
)
# The same limits in the same order, of a provider that reports of whole minutes.
LIMIT_REACHED = (
    "provider_disk_iops_limit_seconds_total",
    "provider_disk_bandwidth_limit_seconds_total",
    "provider_machine_iops_limit_seconds_total",
    "provider_machine_bandwidth_limit_seconds_total",
)
CPU_SECONDS = "cpu_seconds_total"
PERIODS = "cpu_periods_total"
THROTTLED_PERIODS = "cpu_throttled_periods_total"
HOST_CPU_SECONDS = "cpu_busy_seconds_total"
RECEIVED_BYTES = "network_received_bytes_total"
SENT_BYTES = "network_sent_bytes_total"
RECEIVED_PACKETS = "network_received_packets_total"
SENT_PACKETS = "network_sent_packets_total"
FLUSHED_BYTES = "flush_written_bytes_total"  # bytes of YugabyteDB's memory tables
