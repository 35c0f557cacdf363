"""What a load asks of its system, and what its sessions wait for. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from orchestrator.analysis import metric_values, results
from orchestrator.analysis.telemetry.use.node_values import LoadUse
from orchestrator.facts import (
    READ_S,
    WAL_NODES,
    WAL_SYNC_S,
    DatabaseFacts,
    WaitFacts,
)
from orchestrator.model import Record, Workload

# Ten terminals with the specification's think and keying times begin 12.86 New-Orders a minute in
# the usual mix. Of these 1 % are rolled back on purpose, and NOPM counts commits.
CEILING_NOPM_PER_WAREHOUSE = 12.73
BEGUN_NOPM_PER_WAREHOUSE = 12.86  # the ceiling of generators that count rollbacks too
_USUAL_MIX = "45,43,4,4,4"
# Options that set the load's own pace.
OPEN_LOOP = ("arrival_rate", "arrival-rate", "rate")
_OFF = (None, 0, 0.0, "0", "")  # values of such an option that set no pace
# Share of a window from which waits that were sampled in it stand for all of it. A load is steady
# by intent, but data, caches and merges change. From half on what was seen outweighs what was not.
# A share of 50 % or more then means at least a quarter of the window. With less most of the window
# is unknown, and unknown locks are not taken for absent.
WAITS_COVER = 0.5

# Node → what sessions wait for → their mean number.
Sessions = Mapping[str, Mapping[str, float]]


def of_load(record: Record, sessions: Sessions) -> LoadUse:
    """What the load and its sessions did in a whole run.

    `sessions`: as `run_telemetry` has them; empty where none were seen.
    """
    seen = _seen(record, sessions)
    waits = _database_waits(record)
    # What this program saw itself comes first; YugabyteDB's own samples stand for it elsewhere.
    locked_pct = seen.locked_pct
    if locked_pct is None:
        locked_pct = _sampled_locks_pct(record)
    return LoadUse(
        nopm_of_ceiling_pct=of_ceiling_pct(record),
        rate_served_pct=_served_pct(record),
        retried_pct=_retried_pct(record),
        sessions=seen.sessions,
        seen_idle_pct=seen.idle_pct,
        seen_running_pct=seen.running_pct,
        seen_reading_pct=seen.reading_pct,
        seen_syncing_pct=seen.syncing_pct,
        seen_locked_pct=locked_pct,
        seen_otherwise_pct=seen.otherwise_pct,
        sessions_reading_pct=waits.reading_pct,
        log_syncing_pct=waits.log_syncing_pct,
        wal_disk_syncing_pct=waits.wal_disk_syncing_pct,
        background_log_syncing_pct=waits.background_log_syncing_pct,
    )


def _served_pct(record: Record) -> float | None:
    offered_per_s = metric_values.value_of(record, "offered_per_s")
    served_per_s = metric_values.value_of(record, "served_per_s")
    if served_per_s is not None and offered_per_s:
        return 100 * (served_per_s / offered_per_s)
    # BenchBase keeps that of the whole run.
    share = results.generator(record).served_of_asked
    if share is None:
        return None
    return 100 * share


def _retried_pct(record: Record) -> float | None:
    tried = metric_values.value_of(record, "transactions")
    if not tried:
        return None
    again = metric_values.value_of(record, "retries") or 0.0
    failed = metric_values.value_of(record, "failures") or 0.0
    return 100 * (again + failed) / (tried + failed)


@dataclass(frozen=True)
class _SeenStates:
    """How many sessions were seen, and the shares of them in each state."""

    sessions: float | None = None
    idle_pct: float | None = None
    running_pct: float | None = None
    reading_pct: float | None = None
    syncing_pct: float | None = None
    locked_pct: float | None = None
    otherwise_pct: float | None = None


def _seen(record: Record, sessions: Sessions) -> _SeenStates:
    """In which states sessions were seen."""
    states: dict[str, float] = {}
    for node_states in sessions.values():
        states |= node_states
    # An idle session has nothing to do if there is a pace: it waits for nobody.
    if has_pace(record.workload):
        states.pop("idle", None)
    total = sum(states.values())
    if not total:
        return _SeenStates()
    shares_pct = {state: 100 * number / total for state, number in states.items()}
    return _SeenStates(
        sessions=total,
        idle_pct=shares_pct.get("idle"),
        running_pct=shares_pct.get("running"),
        reading_pct=shares_pct.get("reading"),
        syncing_pct=shares_pct.get("syncing"),
        locked_pct=shares_pct.get("locked"),
        otherwise_pct=shares_pct.get("otherwise"),
    )


def _sampled_locks_pct(record: Record) -> float | None:
    """For which share of their working time sessions waited for locks, as YugabyteDB sampled it
    itself."""
    waits = record.read_facts.waits
    if not covers_window(waits):
        return None
    return waits.locked_pct


def covers_window(waits: WaitFacts) -> bool:
    """Whether what servers sampled may stand for the whole window."""
    if waits.covered_s is None or waits.window_s is None:
        return True
    return waits.covered_s >= WAITS_COVER * waits.window_s


@dataclass(frozen=True)
class _DatabaseWaits:
    """What sessions waited for by the database's own counters, in % of the time; None: not counted.

    A run has one of three kinds of log syncs. Commits wait for the first kind. Commits wait for the
    second kind too, on a separate disk for the log. No commit waits for the third kind.
    """

    reading_pct: float | None = None
    log_syncing_pct: float | None = None
    wal_disk_syncing_pct: float | None = None
    background_log_syncing_pct: float | None = None


def _database_waits(record: Record) -> _DatabaseWaits:
    """The database's waits from the beginning of the warm-up on."""
    counted = _counted(record)
    if counted is None:
        return _DatabaseWaits()
    reading_pct = None
    reading_s = counted.grown(READ_S)
    if reading_s is not None and record.workload.threads:
        reading_pct = 100 * reading_s / counted.elapsed_s / record.workload.threads
    waits = _DatabaseWaits(reading_pct=reading_pct)
    syncing_pct = counted.syncing_pct()
    # Commits that are answered before the log is on the disk do not wait for its syncs.
    if counted.after.durable is False:
        return replace(waits, background_log_syncing_pct=syncing_pct)
    if any(node.wal_device for node in record.nodes):
        return replace(waits, wal_disk_syncing_pct=syncing_pct)
    return replace(waits, log_syncing_pct=syncing_pct)


@dataclass(frozen=True)
class _Counted:
    """What the database counted just before the warm-up, and when the window ended."""

    before: DatabaseFacts
    after: DatabaseFacts
    elapsed_s: float

    def grown(self, name: str) -> float | None:
        """A counter's growth from just before the warm-up, if recorded there, to the end."""
        last = self.after.counter(name)
        if last is None:
            return None
        # Never below zero: a server that was started again counts from the start.
        return max(0.0, last - (self.before.counter(name) or 0.0))

    def syncing_pct(self) -> float | None:
        """Share of the time in which a node's log was being synced."""
        syncing_s = self.grown(WAL_SYNC_S)
        if syncing_s is None:
            return None
        nodes = self.after.counter(WAL_NODES) or 1.0
        # A YugabyteDB node has many logs, whose syncs overlap: their sum may be above all time.
        return min(100.0, 100 * syncing_s / self.elapsed_s / nodes)


def _counted(record: Record) -> _Counted | None:
    begin = record.phase("warm-up")
    measure = record.phase("measure")
    if begin is None or measure is None or measure.end_s <= begin.start_s:
        return None
    before = results.database_before(record)
    after = results.database(record)
    return _Counted(before, after, elapsed_s=measure.end_s - begin.start_s)


def has_pace(workload: Workload) -> bool:
    """Whether threads pause on purpose: then they are not all in flight."""
    paces = [workload.options.get(name) for name in OPEN_LOOP]
    return workload.thinks or any(pace not in _OFF for pace in paces)


def ceiling_nopm(record: Record) -> float | None:
    """New-Orders a minute that think time allows at most: committed, or rolled back too where the
    generator counts these (`rollbacks: counted`). None without think time, or with another mix."""
    workload = record.workload
    warehouses = workload.dataset.parameters.get("warehouses")
    # Another mix has another share of New-Orders among a terminal's transactions.
    mix = str(workload.options.get("weights", _USUAL_MIX)).replace(" ", "")
    if not workload.thinks or mix != _USUAL_MIX:
        return None
    if not isinstance(warehouses, (int, float)):
        return None
    if workload.options.get("rollbacks") == "counted":
        return BEGUN_NOPM_PER_WAREHOUSE * warehouses
    return CEILING_NOPM_PER_WAREHOUSE * warehouses


def of_ceiling_pct(record: Record) -> float | None:
    """A run's NOPM in % of that ceiling, if it has both."""
    ceiling = ceiling_nopm(record)
    nopm = metric_values.value_of(record, "nopm")
    if ceiling and nopm is not None:
        return 100 * nopm / ceiling
    return None
