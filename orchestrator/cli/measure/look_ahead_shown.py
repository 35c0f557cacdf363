"""What lies ahead of a campaign, as `--dry-run` shows it: runs, time, space, cost and checks."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter

from rich.console import RenderableType
from rich.markup import escape
from rich.text import Text

from orchestrator import units
from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.to_buy import measured_nodes
from orchestrator.cli.common import console
from orchestrator.design import boxed_work, cost_limit, costs
from orchestrator.model import ClusterSpec, Note, Plan, Profile, Run, Workload
from orchestrator.planning import planned_loads
from orchestrator.run.beforehand.forecast import Cost, Forecast
from orchestrator.texts import prose

# What a look ahead leaves to others.
NEVER_CHECKED = (
    "images: `tierbench doctor` looks at them",
    (
        "only a run tells whether disks are as fast as declared, and whether this machine "
        "limits the load. A disk check measures the disks first"
    ),
)

# Most rounds that have a line each; of more than that ten are shown. The order of 300 repetitions
# filled 300 lines.
_MOST_ROUNDS = 12
_ROUNDS_SHOWN = 10
_TRIALS = "Trials"  # trials of limits, behind the window
_NUMERIC = (
    "Threads",
    "Warm-up",
    "Measured",
    _TRIALS,
    "A run",
    "Runs",
    "All",
    "Disks",
    "At least",
    "At most",
)
_table = partial(console.table, right=_NUMERIC)


def parts(
    plan: Plan, ahead: Forecast, answered: Sequence[str]
) -> Iterator[RenderableType]:
    runs = prose.counted(len(plan.runs), "run")
    yield f"[bold]{escape(plan.name)}[/bold]: {runs}, {spoken(plan)}"
    # These lines show when: the order of the runs, what takes time, and what is loaded.
    yield from _rounds(plan)
    yield _time_table(plan, ahead)
    yield _steps_table(ahead)
    for what, seconds in ahead.later:
        yield escape(f"  {what}: {units.format_seconds(seconds)}")
    yield from _loading(ahead)
    # These lines show what is needed: room, the disks to buy, and what the campaign rents.
    if ahead.needs:
        columns = ("Tier", "What", "Where", "Needed", "There")
        yield _table(columns, rows=_space(ahead), title="Space, at most")
    yield _tiers_table(plan, ahead)
    yield from _price_lists(ahead)
    if ahead.rented:
        yield _rented_table(ahead)
    if answered:
        yield escape(f"answered: {prose.listed(answered)}")
    # These lines show what differs from what was asked, what is wrong, and what nobody checked.
    yield from notes(plan)
    yield from _checks(ahead)
    yield "Nothing was started."


def notes(plan: Plan) -> Iterator[str]:
    """A line for each difference from what was declared or asked for, in short."""
    for text in _with_profiles(plan, attrgetter("in_short")):
        yield f"[yellow]note[/yellow] {escape(text)}"


def warnings(plan: Plan) -> Iterator[str]:
    """The same differences in whole, as a run says them when it begins."""
    yield from _with_profiles(plan, attrgetter("text"))


def _with_profiles(plan: Plan, text_of: Callable[[Note], str]) -> Iterator[str]:
    """Each text of the plan's notes once, behind the profiles that have it."""
    profiles_by_text: dict[str, list[str]] = {}
    for note in plan.notes:
        profiles = profiles_by_text.setdefault(text_of(note), [])
        if note.profile:
            profiles.append(note.profile)
    for text, profiles in profiles_by_text.items():
        if profiles:
            yield f"{prose.listed(profiles)}: {text}"
        else:
            yield text


def spoken(plan: Plan) -> str:
    """How long the plan takes."""
    least = units.format_seconds(plan.estimate_s)
    most = units.format_seconds(costs.most_s(plan))
    return f"at least {least}, at most {most}"


def _rounds(plan: Plan) -> Iterator[str]:
    """The order of the runs: a line a round, of many rounds the first ones."""
    total = max((run.repetition for run in plan.runs), default=0)
    shown = total
    if total > _MOST_ROUNDS:
        shown = _ROUNDS_SHOWN
    first = [run for run in plan.runs if run.repetition <= shown]
    yield from _round_lines(first)
    if total > shown:
        yield f"  … {units.format_number(total - shown)} more"


def _round_lines(runs: Sequence[Run]) -> Iterator[str]:
    """A line a round: the profiles of each workload, in the order in which they are measured."""
    # groupby joins neighbours alone. A plan has the runs of a round, and of a workload, in a row.
    for repetition, round_runs in groupby(runs, key=attrgetter("repetition")):
        loads = []
        for load, load_runs in groupby(round_runs, key=attrgetter("workload")):
            profiles = ", ".join(run.profile for run in load_runs)
            loads.append(f"{load}: {profiles}")
        yield escape(f"  round {repetition}: {'; '.join(loads)}")


def _time_table(plan: Plan, ahead: Forecast) -> RenderableType:
    columns = ["Workload", "Data set", "Threads", "Warm-up", "Measured"]
    # No limit is tried without --confirm, and the column would hold nothing but zeros.
    if _confirms(plan):
        columns.append(_TRIALS)
    columns += ["A run", "Runs", "All"]
    return _table(columns, rows=_times(plan, ahead), title="Time")


def _times(plan: Plan, ahead: Forecast) -> Iterator[Sequence[str]]:
    for cell in ahead.cells:
        load = plan.workload(cell.workload)
        row = [cell.workload, prose.named(load.dataset.parameters), str(load.threads)]
        row += [
            units.format_seconds(load.warmup_s),
            _at_most(load, load.measure_s),
        ]
        if _confirms(plan):
            row.append(units.format_seconds(load.confirm_s))
        row += [
            _at_most(load, cell.run_s),
            str(cell.runs),
            _at_most(load, cell.total_s),
        ]
        yield row


def _at_most(load: Workload, seconds: float) -> str:
    """Time of a window, which is the most where a workload ends with its work."""
    length = units.format_seconds(seconds)
    if boxed_work.ends_with_work(load):
        return f"≤ {length}"
    return length


def _confirms(plan: Plan) -> bool:
    return any(load.confirm_s for load in plan.workloads)


def _steps_table(ahead: Forecast) -> RenderableType:
    rows = []
    for step in ahead.steps:
        # Steps that this plan does not have take no time.
        if step.total.most_s:
            least = units.format_seconds(step.total.least_s)
            most = units.format_seconds(step.total.most_s)
            rows.append((step.what, least, most, step.source))
    columns = ("What", "At least", "At most", "By")
    return _table(columns, rows=rows, title="How long each step takes")


def _loading(ahead: Forecast) -> Iterator[str]:
    """A line for each data set. If several are alike, it names the profile and the workload of
    each."""
    # Data sets are compared as texts: each holds a dictionary and so cannot be in a set.
    datasets = {repr(load.dataset) for load in ahead.loads}
    places = {(load.profile, repr(load.dataset)) for load in ahead.loads}
    for load in ahead.loads:
        whose = ""
        if len(ahead.loads) > len(datasets):
            whose = f" for {load.profile}"
        if len(ahead.loads) > len(places):
            whose += f", {load.workload}"
        kept = ""
        if load.kept:
            kept = " (it is kept from before)"
        size = prose.named(load.dataset.parameters)
        times = planned_loads.spoken(load)
        yield escape(f"  {load.dataset.family} ({size}) is loaded {times}{whose}{kept}")


def _space(ahead: Forecast) -> Iterator[Sequence[RenderableType]]:
    for need in ahead.needs:
        needed = units.format_bytes(need.needed_bytes)
        free = Text(units.format_bytes(need.free_bytes))
        if not need.is_met:
            free.style = "red"
        yield need.profile, need.what, need.place or "memory", needed, free


def _tiers_table(plan: Plan, ahead: Forecast) -> RenderableType:
    bought = "disks"
    if any(cost.with_vms for cost in ahead.costs):
        bought = "disks and machines"
    caption = f"what buying the {bought} would cost, for all nodes of a profile"
    # Else the month's price of the disks would be read as the price of the campaign.
    if not ahead.rented:
        caption += "; nothing is rented"
    columns = ("Tier", "Disk", "Database", "Disks", "A month at list price")
    return _table(columns, rows=_costs(plan, ahead), title="Tiers", caption=caption)


def _costs(plan: Plan, ahead: Forecast) -> Iterator[Sequence[str]]:
    for cost in ahead.costs:
        profile = plan.profile(cost.profile)
        disk = profile.tier.title
        if cost.with_vms:
            disk += f" on {profile.cluster.vm}"
        database = ", ".join(_cluster_words(profile.cluster))
        yield cost.profile, disk, database, str(cost.disks), _price(cost, profile)


def _price(cost: Cost, profile: Profile) -> str:
    """`182.58 USD for 3 nodes (1 is measured)`."""
    price = cost.price
    if price is None or cost.monthly is None:
        return "not known"
    # A profile of three nodes may be measured on one, and is bought as three.
    cluster = profile.cluster
    nodes = prose.counted(cluster.nodes_to_buy, "node")
    words = f"{phrases.money(cost.monthly, price.currency)} for {nodes}"
    few = measured_nodes(cluster)
    if few is None:
        return words
    are = "are"
    if few == 1:
        are = "is"
    return f"{words} ({few} {are} measured)"


def _price_lists(ahead: Forecast) -> Iterator[str]:
    """A line for each list that prices are from, with whose."""
    tiers_by_list: dict[str, list[str]] = {}
    for cost in ahead.costs:
        price = cost.price
        if price is not None:
            place = phrases.where_read(price)
            tiers_by_list.setdefault(place, []).append(cost.profile)
    for place, tiers in tiers_by_list.items():
        yield escape(f"  list prices of {prose.listed(tiers)} {place}")
    # None is no reproach: nobody said how that price was read.
    if any(cost.price and cost.price.is_unverified for cost in ahead.costs):
        yield "  not verified: `tierbench prices update` asks the provider"


def _cluster_words(cluster: ClusterSpec) -> Iterator[str]:
    yield cluster.database
    if cluster.client == "beside":
        yield "client beside"
    rate = cluster.network_bytes_per_s
    if rate:
        yield f"network {units.format_link_rate(rate)}"


def _rented_table(ahead: Forecast) -> RenderableType:
    sums = costs.total_in_words(ahead.rented) or "not known"
    caption = f"in all {sums}; {cost_limit.MAX_COST} refuses what is more"
    # Disks of a cluster that others run, or that are mounted already, are rented without us.
    columns = ("In use", "For at most", "At list price")
    rows = _rented(ahead)
    return _table(columns, rows=rows, title="The campaign itself", caption=caption)


def _rented(ahead: Forecast) -> Iterator[Sequence[str]]:
    for item in ahead.rented:
        amount = "not known"
        if item.price:
            amount = f"{item.amount:,.2f} {item.price.currency}"
        yield item.title, units.format_seconds(3600 * item.hours), amount


def _checks(ahead: Forecast) -> Iterator[str]:
    yield f"{len(ahead.passed)} checks passed."
    # What nobody looked at is said too, so that no plan passes for proven.
    for line in (*ahead.unchecked, *NEVER_CHECKED):
        yield f"[yellow]not checked[/yellow] {escape(line)}"
    for problem in ahead.problems:
        yield f"[red]problem[/red] {escape(problem.what)}"
        # Only a UsageError lists mistakes; what does not answer has one reason.
        for mistake in problem.mistakes:
            yield escape(f"    {mistake.where}: {mistake.what}")
        if problem.advice:
            yield escape(f"    → {problem.advice}")
