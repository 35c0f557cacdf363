"""The conditions of the measurement: machine, software and settings."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator import units
from orchestrator.model import ClusterSpec, NodeSize, Profile, Workload
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Block,
    Cell,
    Paragraph,
    Part,
    Section,
    Table,
    absent,
    table_of,
)
from orchestrator.report.report_index import ReportIndex
from orchestrator.texts import prose


def environment(index: ReportIndex) -> Section:
    """The machine, the software, and every setting that was given or read back."""
    parts = tuple(_parts(index))
    return Section("environment", "Environment and settings", parts)


def _parts(index: ReportIndex) -> Iterator[Part]:
    yield Part("Machine", (_machine(index),))
    yield Part("Clusters", (_clusters(index),))
    yield Part("Workloads", (*_overrides(index), _workloads(index)))
    yield Part("Read back from the running database", (_read_back(index),))


def _machine(index: ReportIndex) -> Block:
    machine = list(_flattened(index.campaign.fingerprint))
    if not machine:
        return Paragraph("Not recorded.")
    return _facts_table(machine)


def _facts_table(facts: Iterable[tuple[str, str]]) -> Table:
    """A row for each name and value."""
    rows = [{"Fact": name, "Value": value} for name, value in facts]
    return table_of(rows, ("Fact", "Value"))


def _flattened(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts, each as its name, `outer.inner`, and its value in words."""
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{name}.")
        # What a machine did not tell is no row; 0 and False are told.
        elif value is not None and value != "" and value != []:
            # The value has its unit, so the name need not.
            yield name.removesuffix("_bytes"), _value(name, value)


def _value(name: str, value: Any) -> str:
    # First, because a bool is an int to Python.
    if isinstance(value, bool):
        return prose.yes_or_no(value)
    if isinstance(value, (int, float)):
        return _number(name, value)
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return str(value)


def _number(name: str, value: float) -> str:
    """The end of a fact's name is its unit."""
    if name.endswith("bytes_per_s"):
        return units.format_bytes_per_s(value)
    if name.endswith("bytes"):
        return units.format_bytes(value)
    # Else a float may show seventeen digits.
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


# ------------------------------------------------------------------ clusters and workloads


def _clusters(index: ReportIndex) -> Table:
    """A row for each tier."""
    rows = [_cluster_row(profile) for profile in index.profiles]
    left_out = tuple(_usual_columns(index))
    titles = [title for title in rows[0] if title not in left_out]
    columns_of_text = ("Tier", "Database", "Settings", "Client", "Network")
    return table_of(rows, columns_of_text, titles=titles)


def _usual_columns(index: ReportIndex) -> Iterator[str]:
    """The columns that say what a reader takes for granted of all clusters."""
    clusters = [profile.cluster for profile in index.profiles]
    if all(cluster.clients <= 1 for cluster in clusters):
        yield "Load clients"
    if all(cluster.client == "outside" for cluster in clusters):
        yield "Client"
    # One limited network is enough for the column: its tier is not measured as the others are.
    if not any(cluster.network_bytes_per_s for cluster in clusters):
        yield "Network"


def _cluster_row(profile: Profile) -> dict[str, Cell | str]:
    cluster = profile.cluster
    version = cluster.version or ""
    row: dict[str, Cell | str] = {}
    row["Tier"] = Cell(profile.name, tier=profile.name)
    row["Database"] = f"{cluster.database} {version}".strip()
    row["Nodes"] = str(cluster.nodes)
    row["Copies"] = str(cluster.replication_factor)
    row |= _size_of_node(cluster.node)
    row["Settings"] = _settings(cluster)
    row["Load clients"] = str(cluster.clients)
    row["Client"] = _place_of_client(cluster)
    row["Network"] = _network(cluster)
    return row


def _size_of_node(size: NodeSize | None) -> dict[str, Cell]:
    """The cells of a node's size. None: others run the node, and did not declare its size."""
    if size is None:
        undeclared = absent("not declared")
        return {
            "CPUs per node": undeclared,
            "Memory per node": undeclared,
            "Disk per node": undeclared,
        }
    memory = units.format_bytes(size.memory_bytes)
    disk = units.format_bytes(size.disk_bytes)
    sizes = {"CPUs per node": Cell(f"{size.cpus:g}")}
    sizes["Memory per node"] = Cell(memory)
    sizes["Disk per node"] = Cell(disk)
    return sizes


def _settings(cluster: ClusterSpec) -> str:
    """The settings given to the database, or declared of one that others run."""
    settings: list[str] = []
    for given in (cluster.settings, cluster.existing):
        for key, value in given.items():
            settings.append(f"{key} = {value}")
    if not settings:
        return "the defaults of this tool"
    return ", ".join(settings)


def _place_of_client(cluster: ClusterSpec) -> str:
    if cluster.client == "beside":
        return "beside the first node"
    return "outside"


def _network(cluster: ClusterSpec) -> str:
    if not cluster.network_bytes_per_s:
        return "not limited"
    return units.format_link_rate(cluster.network_bytes_per_s)


def _overrides(index: ReportIndex) -> Iterator[Paragraph]:
    given = ", ".join(index.campaign.plan.overrides)
    # Who repeats it by the workloads' files alone would get another load.
    if given:
        yield Paragraph(
            f"Set on the command line, instead of the workloads' files: {given}."
        )


def _workloads(index: ReportIndex) -> Table:
    rows = [_workload_row(workload) for workload in index.workloads]
    return table_of(rows, ("Workload", "Generator", "Data set", "Options"))


def _workload_row(workload: Workload) -> dict[str, Cell | str]:
    row: dict[str, Cell | str] = {"Workload": workload.name}
    row["Generator"] = Cell(workload.generator, detail=workload.script)
    row["Data set"] = prose.named(workload.dataset.parameters)
    row["Threads"] = str(workload.threads)
    row["Loaders"] = str(workload.loader_threads)
    row["Warm-up"] = _warm_up(workload)
    row["Measured"] = wording.measured_for(workload)
    row["Options"] = prose.named(workload.options) or "none"
    return row


def _warm_up(workload: Workload) -> str:
    least = units.format_seconds(workload.warmup_s)
    if workload.warmup_most_s is None:
        return least
    most = units.format_seconds(workload.warmup_most_s)
    return f"{least} to {most}, until steady"


# ------------------------------------------------------------------ read back

# Data, cache and disks have their own sections; the others are what a run did, not how it was set.
_NOT_SETTINGS = frozenset(
    {
        "data",
        "cache",
        "disks",
        "telemetry",
        "database_before",
        "since_reset",
    }
)


def _read_back(index: ReportIndex) -> Block:
    """Facts in which all finished runs of a tier agree; given once if all tiers do."""
    by_tier: dict[str, dict[str, str]] = {}
    for tier in index.tiers:
        facts = _constant_facts(index, tier)
        if facts:
            by_tier[tier] = facts
    if not by_tier:
        return Paragraph("Nothing: no finished run recorded any.")
    # A dict keeps the order in which facts were recorded; a set would not.
    names: dict[str, None] = {}
    for facts in by_tier.values():
        names |= dict.fromkeys(facts)
    return _facts_table((name, _value_of_all_tiers(by_tier, name)) for name in names)


def _value_of_all_tiers(by_tier: Mapping[str, Mapping[str, str]], name: str) -> str:
    """Its value, or that of each tier if they differ."""
    values: dict[str, str] = {}
    for tier, facts in by_tier.items():
        # A tier that did not tell it must not pass for one that agrees.
        values[tier] = facts.get(name, "not recorded")
    different = set(values.values())
    if len(different) == 1:
        return different.pop()
    texts = [f"{tier}: {value}" for tier, value in values.items()]
    return "; ".join(texts)


def _constant_facts(index: ReportIndex, tier: str) -> dict[str, str]:
    """The facts in which all runs of a tier agree."""
    # Those that changed from run to run stand in the runs' records.
    runs: list[dict[str, str]] = []
    for run in index.campaign.done:
        if run.record.run.profile == tier:
            runs.append(dict(_flattened(run.record.facts)))
    constant: dict[str, str] = {}
    if not runs:
        return constant
    for name, value in runs[0].items():
        # A run that could not read it does not contradict the others.
        is_constant = all(run.get(name, value) == value for run in runs)
        # A group's name may stand at any depth of `outer.inner`.
        if is_constant and _NOT_SETTINGS.isdisjoint(name.split(".")):
            constant[name] = value
    return constant
