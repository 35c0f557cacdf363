"""What a load asks of its system, and what its sessions wait for. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis import results
from orchestrator.analysis.telemetry.use import evidence
from orchestrator.analysis.telemetry.use.evidence import Evidence
from orchestrator.facts import READ_S, WAL_NODES, WAL_SYNC_S, DatabaseFacts, group
from orchestrator.model import Record, Workload

# With the specification's think and keying times ten terminals begin 12.86 New-Orders a minute in
# the usual mix; 1 % of them are rolled back on purpose, and NOPM counts commits.
CEILING_NOPM_PER_WAREHOUSE = 12.73
BEGUN_NOPM_PER_WAREHOUSE = 12.86  # the ceiling of generators that count rollbacks too
_USUAL_MIX = "45,43,4,4,4"
# Options that set the load's own pace.
OPEN_LOOP = ("arrival_rate", "arrival-rate", "rate")
_OFF = (None, 0, 0.0, "0", "")  # of such an option
# Of a window, from which part on waits that were sampled in it stand for all of it. A load is
# steady by intent, but data, caches and merges change. From half on what was seen outweighs what
# was not: a share of 50 % or more then means at least a quarter of the window, whatever the rest
# was. With less most of the window is unknown, and unknown locks are not taken for absent.
WAITS_COVER = 0.5

Sessions = Mapping[
    str, Mapping[str, float]
]  # node → what they wait for → their mean number


def of_load(record: Record, sessions: Sessions) -> Evidence:
    """Of a whole run. `sessions`: as `run_telemetry` has them; empty where none were seen."""
    served = Evidence(
        nopm_of_ceiling_pct=of_ceiling_pct(record),
        rate_served_pct=_served_pct(record),
        retried_pct=_retried_pct(record),
    )
    parts = [_locked(record), served, _waited(record), _seen(record, sessions)]
    return evidence.merged(parts)


def _served_pct(record: Record) -> float | None:
    offered_per_s = results.value_of(record, "offered_per_s")
    served_per_s = results.value_of(record, "served_per_s")
    if served_per_s is not None and offered_per_s:
        return 100 * (served_per_s / offered_per_s)
    # BenchBase keeps that of the whole run.
    share = results.generator(record).served_of_asked
    if share is None:
        return None
    return 100 * share


def _retried_pct(record: Record) -> float | None:
    tried = results.value_of(record, "transactions")
    if not tried:
        return None
    again = results.value_of(record, "retries") or 0.0
    failed = results.value_of(record, "failures") or 0.0
    return 100 * (again + failed) / (tried + failed)


def _seen(record: Record, sessions: Sessions) -> Evidence:
    """What sessions were seen to do. Where the load has a pace of its own an idle one has nothing
    to do, and shares are of the others."""
    states: dict[str, float] = {}
    for of_node in sessions.values():
        states |= of_node
    if has_pace(record.workload):
        states.pop("idle", None)
    total = sum(states.values())
    if not total:
        return Evidence()
    shares_pct = {state: 100 * number / total for state, number in states.items()}
    return Evidence(
        sessions=total,
        seen_idle_pct=shares_pct.get("idle"),
        seen_running_pct=shares_pct.get("running"),
        seen_reading_pct=shares_pct.get("reading"),
        seen_syncing_pct=shares_pct.get("syncing"),
        seen_locked_pct=shares_pct.get("locked"),
        seen_otherwise_pct=shares_pct.get("otherwise"),
    )


def _locked(record: Record) -> Evidence:
    """Of the time of sessions at work, as a YugabyteDB sampled it itself."""
    waits = group(record.facts, "waits")
    if not covers_window(waits):
        return Evidence()
    return Evidence(seen_locked_pct=waits.get("locked_pct"))


def covers_window(waits: Mapping[str, Any]) -> bool:
    """Whether what servers sampled may stand for the whole window, by a record's `waits`."""
    covered_s = waits.get("covered_s")
    if covered_s is None:
        return True
    enough_s: float = WAITS_COVER * waits["window_s"]
    return bool(covered_s >= enough_s)


def _waited(record: Record) -> Evidence:
    """By the database's own counters, from the beginning of the warm-up on."""
    counted = _counted(record)
    if counted is None:
        return Evidence()
    reading_pct = None
    reading_s = counted.grown(READ_S)
    if reading_s is not None and record.workload.threads:
        reading_pct = 100 * reading_s / counted.elapsed_s / record.workload.threads
    syncing_pct = counted.syncing_pct()
    # Commits that are answered before the log is on the disk do not wait for its syncs.
    if counted.after.durable is False:
        return Evidence(
            sessions_reading_pct=reading_pct, background_log_syncing_pct=syncing_pct
        )
    if any(node.wal_device for node in record.nodes):
        return Evidence(
            sessions_reading_pct=reading_pct, wal_disk_syncing_pct=syncing_pct
        )
    return Evidence(sessions_reading_pct=reading_pct, log_syncing_pct=syncing_pct)


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
        return max(0.0, last - (self.before.counter(name) or 0.0))

    def syncing_pct(self) -> float | None:
        """Share of the time in which a node's log was being synced; many logs of a node, each
        counted, never make more than all of it."""
        syncing_s = self.grown(WAL_SYNC_S)
        if syncing_s is None:
            return None
        nodes = self.after.counter(WAL_NODES) or 1.0
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
    nopm = results.value_of(record, "nopm")
    if ceiling and nopm is not None:
        return 100 * nopm / ceiling
    return None
