"""What can be asked of a cluster that others run, and what only of one started here. Pure."""

from collections.abc import Sequence

from orchestrator.design import machines
from orchestrator.design.disk_matrix import names_without_database
from orchestrator.design.factors import EXISTING, is_of_others
from orchestrator.errors import UsageError
from orchestrator.model import Profile, Workload
from orchestrator.planning.files_or_rows import FileMembers


def check_owners(
    profiles: Sequence[Profile],
    workloads: Sequence[Workload],
    database: str,
    on_files: FileMembers,
) -> None:
    """Refuses with UsageError what a cluster cannot give.

    Some things only a cluster started here can give. Others only a cluster that others run can
    give. `database`: of the nodes that are started here, as asked for, or auto. `on_files`: the
    members that take no rows.
    """
    alone = names_without_database(workloads)
    # One profile with nodes of ours is enough for `--db` to change something.
    if database not in ("auto", EXISTING) and not _started(profiles):
        raise UsageError(
            f"{profiles[0].name} is an existing cluster: it cannot be started as {database}",
            advice="leave out --db: tierbench finds out which database answers there",
        )
    for profile in profiles:
        is_others = is_of_others(profile.cluster)
        if database == EXISTING and not is_others:
            raise UsageError(
                f"{profile.name} does not name a running cluster to attach to",
                advice="docs/YUGABYTEDB.md shows a profile that has one (`existing:`)",
            )
        # A workload that measures a disk alone needs the disk on a machine of ours.
        if is_others and alone:
            raise UsageError(
                f"{', '.join(alone)} measures a disk by itself, and those of {profile.name} are "
                "not here",
                advice="name workloads on a database, or run fio on the cluster's nodes",
            )
        # A cluster of others stays what it is, whatever `--db` says.
        runs_on = database
        if is_others or database == "auto":
            runs_on = profile.cluster.member
        unfit = _unfit(workloads, runs_on in on_files.databases, on_files)
        if unfit:
            raise _not_for_this_database(unfit, runs_on, on_files)
        if runs_on in on_files.on_one_engine and machines.named(profile):
            raise UsageError(
                f"{runs_on} runs on one Docker engine or on Kubernetes, and "
                f"{profile.name} names `machines`",
                advice="take `machines` out of the profile, or name a Kubernetes cluster in it",
            )


def _started(profiles: Sequence[Profile]) -> int:
    """How many of them have nodes that are started here."""
    count = 0
    for profile in profiles:
        if not is_of_others(profile.cluster):
            count += 1
    return count


def _unfit(
    workloads: Sequence[Workload], takes_files: bool, on_files: FileMembers
) -> list[str]:
    """Workloads on files where a database takes rows, or on rows where it takes files."""
    names: list[str] = []
    for load in workloads:
        loads_files = load.generator in on_files.load_generators
        if load.database is None and loads_files != takes_files:
            names.append(load.name)
    return names


def _not_for_this_database(
    workloads: Sequence[str], database: str, on_files: FileMembers
) -> UsageError:
    databases = " and ".join(sorted(on_files.databases))
    what = f"{', '.join(workloads)} cannot run on {database}"
    if not on_files.databases:
        return UsageError(what, advice="name workloads that load rows")
    return UsageError(
        what,
        advice=(
            f"loads of files (hdfs-…) run on {databases} alone, and these take no other "
            "loads. Give --db hdfs (DB=hdfs) with such loads, and leave it out with "
            "others. It can also be given with stores, which it does not change"
        ),
    )
