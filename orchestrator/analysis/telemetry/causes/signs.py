"""What several rules ask of a node's values, as whether a CPU is free or a disk is idle. Pure."""

from orchestrator.analysis.telemetry.use.node_values import Evidence, largest

# Share of sessions' time: if they wait less for the disk, a faster one gives nothing.
IDLE_DISK_PCT = 2.0
FREE_PCT = 70.0  # use of a CPU; of a cap too, for more sessions to find room
# Share of what throughput follows, or of the seconds, for a limit to have a turn.
TURN_PCT = 15.0
CORE_PCT = 95.0
# Cores used by what one thread holds back: at least, and at most.
LEAST_OF_ONE_CORE = 0.9
MOST_OF_ONE_CORE = 1.15
LOCKED_PCT = 5.0  # share of sessions' time: more sessions would wait for the same locks
RETRIED_PCT = 5.0  # share of transactions


def nearest_cap(values: Evidence) -> float:
    return largest(
        values.caps.iops_of_cap_pct,
        values.caps.bandwidth_of_cap_pct,
        values.shared.shared_iops_of_cap_pct,
        values.shared.shared_bandwidth_of_cap_pct,
        values.caps.machine_iops_of_cap_pct,
        values.caps.machine_bandwidth_of_cap_pct,
    )


def at_a_cap_pct(values: Evidence) -> float:
    """Share of the seconds at the cap that binds most often."""
    return largest(
        values.caps.time_at_iops_cap_pct,
        values.caps.time_at_bandwidth_cap_pct,
        values.caps.time_at_machine_iops_cap_pct,
        values.caps.time_at_machine_bandwidth_cap_pct,
    )


def waiting_pct(values: Evidence) -> float | None:
    """Share of its time that a session waits for the disk, by the database's count: in reads, and
    of the rest while a log sync is under way. None if it counts neither."""
    if values.load.sessions_reading_pct is None and values.load.log_syncing_pct is None:
        return None
    reading = min(values.load.sessions_reading_pct or 0.0, 100.0)
    syncing = min(values.load.log_syncing_pct or 0.0, 100.0)
    # A session that reads does not wait for the log. Syncs count for what is left of its time.
    return reading + (100 - reading) * syncing / 100


def disk_is_idle(values: Evidence) -> bool:
    """Whether sessions are known to wait so little that a faster disk would give nothing."""
    waiting = waiting_pct(values)
    return waiting is not None and waiting < IDLE_DISK_PCT


def fills_one_core(cores: float | None, busiest_pct: float | None) -> bool:
    """Whether one thread at a time does the work: a core is full, and no more than one is used."""
    uses_one = LEAST_OF_ONE_CORE <= (cores or 0.0) <= MOST_OF_ONE_CORE
    return uses_one and (busiest_pct or 0.0) >= CORE_PCT


def client_fills_one_core(values: Evidence) -> bool:
    """`fills_one_core`, of the load generator."""
    return fills_one_core(values.client.client_cores, values.client.client_core_pct)


def cpus_are_free(values: Evidence) -> bool:
    """Whether no CPU is near its limit."""
    busiest = largest(
        values.cpu.cpu_pct, values.client.client_cpu_pct, values.host.host_cpu_pct
    )
    return busiest < FREE_PCT


def locks_are_waited_for(values: Evidence) -> bool:
    """Whether many sessions were seen to wait for locks, or many transactions met others."""
    locked = (values.load.seen_locked_pct or 0.0) >= LOCKED_PCT
    retried = (values.load.retried_pct or 0.0) >= RETRIED_PCT
    return locked or retried


def locks_are_counted(values: Evidence) -> bool:
    """Whether waits for locks were seen at all. Where they were not, one hot lock may hold all
    sessions, and nothing else that is sampled would show it."""
    return values.load.sessions is not None or values.load.seen_locked_pct is not None


def has_room_for_sessions(values: Evidence) -> bool:
    """Whether more sessions at a time would find room: no CPU is near its limit, and few of them
    are known to wait for locks."""
    if not cpus_are_free(values) or not locks_are_counted(values):
        return False
    return not locks_are_waited_for(values)


def idle_disk_share(values: Evidence) -> float:
    """The part of an I/O's time that the idle disk would take. The rest it waits in a queue."""
    # Reads are the sessions' own; writes are the database's too, many at a time.
    await_s = values.disk.disk_read_await_s or values.disk.disk_await_s
    idle_s = values.disk.idle_disk_latency_s
    if idle_s and await_s:
        return min(1.0, idle_s / await_s)
    return 1.0


def client_use(values: Evidence) -> float:
    """How much the load generator uses of the CPU that it can use, from 0 to 1.

    That is its machine's CPU, or a core that is full, while it uses one core or more."""
    core_pct = 0.0
    if (values.client.client_cores or 0.0) >= LEAST_OF_ONE_CORE:
        core_pct = values.client.client_core_pct or 0.0
    return largest(values.client.client_cpu_pct, core_pct) / 100
