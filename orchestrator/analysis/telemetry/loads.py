"""What a load asks of its system, and what its sessions wait for. Pure."""

from collections.abc import Iterator

from orchestrator.analysis import results
from orchestrator.analysis.telemetry.kept import SESSIONS, OfNodes
from orchestrator.facts import READ_S, WAL_NODES, WAL_SYNC_S, DatabaseFacts
from orchestrator.model import Record, Workload

# With the specification's think and keying times ten terminals begin 12.86 New-Orders a minute in
# the usual mix; 1 % of them are rolled back on purpose, and NOPM counts commits.
CEILING_NOPM_PER_WAREHOUSE = 12.73
BEGUN_NOPM_PER_WAREHOUSE = 12.86  # the ceiling of generators that count rollbacks too
_USUAL_MIX = "45,43,4,4,4"
OPEN_LOOP = (
    "arrival_rate",
    "arrival-rate",
    "rate",
)  # options that set the load's own pace


def of_load(record: Record, of_seconds: OfNodes) -> dict[str, float]:
    """Values of a whole run, as `resources.VALUES` names them. `of_seconds`: by node, of `kept`."""
    return {
        **dict(_asked(record)),
        **dict(_waited(record)),
        **dict(_sampled(record, of_seconds)),
    }


def _asked(record: Record) -> Iterator[tuple[str, float]]:
    share_pct = of_ceiling_pct(record)
    if share_pct is not None:
        yield "nopm_of_ceiling_pct", share_pct
    offered, served = (
        results.value_of(record, of) for of in ("offered_per_s", "served_per_s")
    )
    share = None
    if served is not None and offered:
        share = served / offered
    if share is None:  # BenchBase keeps that of the whole run
        share = results.generator(record).served_of_asked
    if share is not None:
        yield "rate_served_pct", 100 * share
    tried, again = (results.value_of(record, of) for of in ("transactions", "retries"))
    if tried:
        failed = results.value_of(record, "failures") or 0.0
        yield "retried_pct", 100 * ((again or 0.0) + failed) / (tried + failed)


def _sampled(record: Record, of_seconds: OfNodes) -> Iterator[tuple[str, float]]:
    """What sessions were seen to do. Where the load has a pace of its own an idle one has nothing
    to do, and shares are of the others."""
    every = (item for values in of_seconds.values() for item in values.items())
    seen = {name: number for name, number in every if name.startswith(SESSIONS)}
    if has_pace(record.workload):
        seen.pop(f"{SESSIONS}idle", None)
    total = sum(seen.values())
    if total:
        yield "sessions", total
        for name, number in seen.items():
            yield f"seen_{name.removeprefix(SESSIONS)}_pct", 100 * number / total


def _waited(record: Record) -> Iterator[tuple[str, float]]:
    """By the database's own counters, from the beginning of the warm-up on."""
    begin = record.phase("warm-up")
    measure = record.phase("measure")
    if begin is None or measure is None or measure.end_s <= begin.start_s:
        return
    elapsed_s = measure.end_s - begin.start_s
    before = results.database_before(record)
    after = results.database(record)
    reading_s, syncing_s = (
        _grown(before, after, name) for name in (READ_S, WAL_SYNC_S)
    )
    if reading_s is not None and record.workload.threads:
        yield (
            "sessions_reading_pct",
            100 * reading_s / elapsed_s / record.workload.threads,
        )
    if syncing_s is not None:
        # Commits that are answered before the log is on the disk do not wait for its syncs.
        behind = after.durable is False
        nodes = after.counter(WAL_NODES) or 1.0
        share = min(100.0, 100 * syncing_s / elapsed_s / nodes)
        own_disk = any(node.wal_device for node in record.nodes)
        waited = "log_syncing_pct"
        if own_disk:
            waited = "wal_disk_syncing_pct"
        yield "background_log_syncing_pct" if behind else waited, share


def _grown(before: DatabaseFacts, after: DatabaseFacts, name: str) -> float | None:
    """A counter's growth from just before the warm-up, if recorded there, to the end."""
    last = after.counter(name)
    if last is None:
        return None
    return max(0.0, last - (before.counter(name) or 0.0))


def has_pace(workload: Workload) -> bool:
    """Whether threads pause on purpose: then they are not all in flight."""
    options = workload.options
    open_loop = any(
        options.get(name) not in (None, 0, 0.0, "0", "") for name in OPEN_LOOP
    )
    return open_loop or workload.thinks


def ceiling_nopm(record: Record) -> float | None:
    """New-Orders a minute that think time allows at most: committed, or rolled back too where the
    generator counts these (`rollbacks: counted`). None without think time, or with another mix."""
    workload = record.workload
    warehouses = workload.dataset.parameters.get("warehouses")
    usual = (
        str(workload.options.get("weights", _USUAL_MIX)).replace(" ", "") == _USUAL_MIX
    )
    if not workload.thinks or not usual or not isinstance(warehouses, (int, float)):
        return None
    counted = workload.options.get("rollbacks") == "counted"
    return (
        BEGUN_NOPM_PER_WAREHOUSE if counted else CEILING_NOPM_PER_WAREHOUSE
    ) * warehouses


def of_ceiling_pct(record: Record) -> float | None:
    """A run's NOPM in % of that ceiling, if it has both."""
    ceiling = ceiling_nopm(record)
    nopm = results.value_of(record, "nopm")
    if ceiling and nopm is not None:
        return 100 * nopm / ceiling
    return None
