"""Doubts about the database of a run: by what it said of itself, and what its data are. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.analysis import results
from orchestrator.analysis.doubts.effects import (
    forbids_a_conclusion,
    is_only_told,
    limits_the_answer,
)
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.facts import OTHERS, DatabaseFacts
from orchestrator.model import Doubt, Workload
from orchestrator.texts.prose import counted, listed
from orchestrator.units import format_bytes, format_number

OTHERS_WORK_PCT = 5.0  # two tiers may differ by so much and be the same
# The generator whose loaders say how many tablets a table gets. Stock sysbench and BenchBase leave
# that to the servers.
_ASKS_FOR_TABLETS = "sysbench"


def cached(run: RunData, _: Totals) -> Doubts:
    facts = results.database(run.record)
    if facts.data_bytes is None or facts.cache_bytes is None:
        return
    # There is nothing that could fit if there is no data.
    if 0 < facts.data_bytes <= facts.cache_bytes:
        yield _data_fits_in_the_cache(facts.data_bytes, facts.cache_bytes)


def database(run: RunData, _: Totals) -> Doubts:
    """Doubts by what the database said of itself and its adapter noted."""
    facts = results.database(run.record)
    # A commit of what only read has nothing to bring to the disk.
    if facts.durable is False and run.record.workload.writes:
        yield _commits_before_the_disk(run, facts)
    wanted = facts.version_asked
    # `2025.1.0.0-b168` names a build, `2025.1` does not.
    if wanted and "-b" in wanted and facts.version != wanted:
        yield _another_build(wanted, facts.version)
    if facts.not_read:
        yield _facts_not_read(facts.not_read)
    if facts.leaders_moved:
        yield _leaders_moved(facts.leaders_moved)
    if facts.few_tablets:
        nodes = run.record.profile.cluster.nodes
        asks = run.record.workload.generator == _ASKS_FOR_TABLETS
        yield _few_tablets(facts.few_tablets, nodes, asks)
    if facts.pooler:
        yield _connection_pooler(facts.pooler)
    hosts = len(facts.more.get("hosts", ()))
    if facts.nodes_known and 0 < hosts < facts.nodes_known:
        yield _one_address_for_several_nodes(hosts, facts.nodes_known)


def _commits_before_the_disk(run: RunData, facts: DatabaseFacts) -> Doubt:
    """A doubt about commits that are answered before they are on the disk."""
    # A database that comes so is run so: its tiers are compared as its users meet them. One that
    # was set so compares no tiers. Nor does one whose commits were taken away to see their cost.
    is_existing = results.is_existing(run.record)
    if facts.durability_as_released and run.record.profile.cluster.without != "commit":
        return _commits_not_synced(is_existing)
    return _commits_not_durable(is_existing)


def not_checked(run: RunData, _: Totals) -> Doubts:
    """A doubt for each consistency condition that could not be evaluated after the run."""
    checked = run.record.facts.get("checked") or {}
    conditions = checked.get("consistency", ())
    # Several conditions may have one problem, which is told once.
    names: list[str] = []
    problems: dict[str, None] = {}
    for condition in conditions:
        if condition.get("problem"):
            names.append(condition["name"])
            problems[condition["problem"]] = None
    if names:
        yield _consistency_not_checked(names, "; ".join(problems))


# ------------------------------------------------------------------ ranges of hashed keys

# A setting of YugabyteDB, from 2024.2 on.
_BY_HASH = "yb_use_hash_splitting_by_default"


def whole_tables(run: RunData, _: Totals) -> Doubts:
    """A doubt if ranges of keys are read that are sharded by their hash."""
    load = run.record.workload
    facts = results.database(run.record)
    execution = facts.execution or {}
    name = facts.more.get("flavour", run.record.profile.cluster.database)
    # Each range reads a whole table if rows are sharded by hash: yugabyte/yugabyte-db issue 23585.
    is_hashed = name == "yugabytedb" and execution.get(_BY_HASH) != "off"
    if is_hashed and _reads_ranges(load):
        yield _whole_tables_read(_BY_HASH)


def _reads_ranges(load: Workload) -> bool:
    """Whether its script reads ranges of keys, of tables that are not ordered by them."""
    # This script does nothing but read ranges.
    if load.script == "select_random_ranges":
        return True
    if load.script not in ("oltp_read_only", "oltp_read_write"):
        return False
    # A file's `off` is read as 0.
    without_ranges = load.options.get("range_selects") in (0, "off")
    # Tables of YugabyteDB's fork of sysbench may be ordered.
    ordered = load.dataset.parameters.get("range_key_partitioning") in (1, "on")
    return not without_ranges and not ordered


# ------------------------------------------------------------------ other databases beside it


def others_at_work(run: RunData, _: Totals) -> Doubts:
    shares = list(_others_shares(results.database(run.record)))
    if shares:
        yield _others_at_work(shares)


def _others_shares(facts: DatabaseFacts) -> Iterator[str]:
    """`1,200 of 10,000 blks read (12 %)`, of what others did much of."""
    for name in facts.since_reset:
        if not name.startswith(OTHERS):
            continue
        what = name.removeprefix(OTHERS)
        others_count = facts.counter(name)
        total_count = facts.counter(what)
        # A counter that was not read, or did not grow, has no share.
        if not others_count or not total_count:
            continue
        share_pct = 100 * others_count / total_count
        if share_pct >= OTHERS_WORK_PCT:
            counts = f"{format_number(others_count)} of {format_number(total_count)}"
            yield f"{counts} {what.replace('_', ' ')} ({share_pct:.0f} %)"


# ------------------------------------------------------------------ in words


def _data_fits_in_the_cache(data_bytes: float, cache_bytes: float) -> Doubt:
    return limits_the_answer(
        "data fits in the cache",
        f"a node has {format_bytes(data_bytes)} of data and {format_bytes(cache_bytes)} of "
        "cache. Reads do not reach the disk, so they cannot tell tiers apart",
        advice="load more data, or give the nodes less memory",
    )


def _commits_not_durable(is_existing: bool) -> Doubt:
    if is_existing:
        advice = (
            "ask its owner whether that is meant; docs/YUGABYTEDB.md says what the settings "
            "mean"
        )
    else:
        advice = "leave the durability settings out of the profile"
    return forbids_a_conclusion(
        "commits not durable",
        "the database answers commits before they are on the disk, so writes look alike on "
        "all tiers",
        advice,
    )


def _commits_not_synced(is_existing: bool) -> Doubt:
    advice = "set `durability: durable` in the profile to compare commits that wait for disks"
    if is_existing:
        advice = "docs/YUGABYTEDB.md says what `durable_wal_write` changes"
    return limits_the_answer(
        "commits not synced",
        "by the database's default, a commit waits for the copies' memory, not for their "
        "disks. The answer holds for clusters that run so",
        advice,
    )


def _another_build(wanted: str, running: str | None) -> Doubt:
    return is_only_told(
        "another build",
        f"the profile asks for {wanted}, the servers say {running}",
        advice="correct `version` in the profile. If the servers name no build, their pages "
        "could not be read",
    )


def _facts_not_read(reasons: str) -> Doubt:
    return is_only_told(
        "facts not read",
        f"not all facts could be read from the database's servers: {reasons}",
        advice="`tierbench doctor --db yugabytedb` shows which pages of this release are "
        "different",
    )


def _leaders_moved(reasons: str) -> Doubt:
    return limits_the_answer(
        "leaders moved",
        f"nodes did not have the same share of the work all the time: {reasons}",
        advice="repeat the run; if it stays so, look at `zones` and at the masters' logs",
    )


def _connection_pooler(evidence: str) -> Doubt:
    return limits_the_answer(
        "connection pooler",
        f"a connection pooler answers for the database: {evidence}. Latency includes the wait "
        "for a free server session. Fewer sessions than threads may be open. Settings of a "
        "session may be lost",
        advice="name the database's own hosts and ports in `existing.hosts`, unless you want "
        "to measure the pooler too",
    )


def _one_address_for_several_nodes(hosts: int, nodes: int) -> Doubt:
    """A doubt about a cluster with one address for several nodes: a managed one, or one behind a
    balancer."""
    # Its figures hold, because a client sees the same. Less is known of where they come from.
    return is_only_told(
        "one address for several nodes",
        f"`existing.hosts` names {counted(hosts, 'host')} for {nodes} nodes. The server "
        "there spreads the sessions, not tierbench. One node may have served more of them "
        "than another. CPU, disks and storage engine of nodes without a host there are "
        "not seen",
        advice="name each node in `existing.hosts` if it can be reached; docs/YUGABYTEDB.md (One "
        "address for several nodes) says what stays unseen otherwise",
    )


def _consistency_not_checked(conditions: Sequence[str], problems: str) -> Doubt:
    return is_only_told(
        "consistency not checked",
        f"{', '.join(conditions)} could not be evaluated after the run: {problems}",
        advice="the figures stay, but whether the data were still consistent is not known",
    )


def _few_tablets(tables: Mapping[str, int], nodes: int, asks: bool) -> Doubt:
    """A doubt about tables with fewer tablets than nodes. `asks`: whether the loader can ask for a
    number of tablets."""
    # So few nodes do all the work on such a table, whatever disks the others have.
    fewest = min(tables.values())
    names = sorted(tables)
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more tables and indexes"]
    tablets = counted(fewest, "tablet")
    advice = (
        "start the servers with `ysql_num_tablets=-1`, and load again: this loader leaves the "
        "number of tablets to them"
    )
    if asks:
        advice = (
            f"ask for `dataset: {{tablets: {nodes}}}`, or start the servers with "
            "`ysql_num_tablets=-1`"
        )
    return limits_the_answer(
        "few tablets",
        f"{listed(names)}: as few as {tablets} of a table on {nodes} nodes. Not every node works "
        "on each table, so some disks stand idle",
        advice,
    )


def _whole_tables_read(setting: str) -> Doubt:
    return limits_the_answer(
        "whole tables read",
        "keys are sharded by their hash, so each range of keys reads a whole table",
        advice=f"set `tserver.ysql_pg_conf_csv: {setting}=false` (from 2024.2 on)",
    )


def _others_at_work(shares: Sequence[str]) -> Doubt:
    return limits_the_answer(
        "others at work",
        f"other databases of the cluster worked during the run: {', '.join(shares)}",
        advice="measure while nobody else uses the cluster, or add repetitions",
    )
