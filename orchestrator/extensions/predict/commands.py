"""`tierbench predict`: what a run on one tier says of the other tiers of the catalog.
`tierbench advise`: which of them are the cheapest to meet an SLO, and which to measure next."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from orchestrator.analysis.answers.phrases import EXAMPLE, NOT_VERIFIED
from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.conclusions import Prediction
from orchestrator.analysis.observed.disk_demands import demands
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.verdicts import judge
from orchestrator.cli import RESULTS
from orchestrator.cli.common import console, forms
from orchestrator.cli.common import options as asked
from orchestrator.cli.common.app import App
from orchestrator.cli.prepare.init import CLUSTERS
from orchestrator.design.slo import format_objective, parse
from orchestrator.errors import UsageError
from orchestrator.extensions.predict.answer import (
    MOST_CHANCE_IN_DOUBT,
    brief_without_slo,
    by_price,
    cheapest,
    doubts_of_cell,
    in_doubt,
    possible_tiers,
    prediction_answer,
    worth_measuring,
)
from orchestrator.extensions.predict.demands import Hour
from orchestrator.extensions.predict.prediction import FIGURES, Predictor, named
from orchestrator.extensions.predict.section import figure_in_words
from orchestrator.histories import files as histories
from orchestrator.keys import plain_files, strict_yaml
from orchestrator.metrics import METRICS
from orchestrator.model import Objective
from orchestrator.planning import profiles, project_files
from orchestrator.registry.installed import origin_of
from orchestrator.report.rendering import terminal
from orchestrator.report.sections import method
from orchestrator.run import observing
from orchestrator.system import files, store
from orchestrator.tier import Tier
from orchestrator.tier_catalog import candidates
from orchestrator.units import counted, format_quantity, listed, parse_size

RunArgument = Annotated[
    str, Argument(help="A run's folder, CAMPAIGN/RUN, or a run of latest.")
]
TiersOption = Annotated[list[str] | None, Option("--tier")]
SizeOption = Annotated[str | None, Option(callback=asked.read_by(parse_size))]
SHOWN = 12  # of the tiers that may meet an SLO, the cheapest of each currency
_FIGURE_NAMES = [named(metric, scope) for metric, scope in FIGURES]
# Options of the command that measured the run of which the next one has others.
OTHERS = {
    "--profile",
    "--profiles",
    "-p",
    "--workload",
    "--workloads",
    "-w",
    "--slo",
    "--sweep",
}


@asked.takes(shown_as=forms.OR_JSON)
def predict(
    app: App,
    run: RunArgument,
    tier: TiersOption = None,
    size: SizeOption = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Predicts from a run what other tiers would do. Without --tier: those measured beside it, with
    what they did, and all of the catalog."""
    campaign, predictor = _predictor(app, run, results)
    rows = tier or _catalog_rows(predictor, size, app.root)
    unbounded = list(_predictions(predictor, rows, app.root, may_skip=not tier))
    if not tier:
        unbounded += predictor.compared()
    doubts = _doubts(campaign, predictor)
    predictions = by_price(_bounded(unbounded, doubts))
    shown = predictions
    if not tier:
        shown = _cheapest_and_measured(predictions)
    app.out.show(
        predictions,
        *_notice(doubts),
        *terminal.brief(brief_without_slo(run, predictions)),
        *_doubts_in_words(doubts),
        _table(shown, _FIGURE_NAMES),
        *_not_shown(predictions, shown),
    )
    if tier:
        return
    name, _ = _campaign_and_run(run)
    with files.keeping("this prediction"):
        store.save_predictions(
            app.folder(results, name), predictions, origin_of("predict")
        )
    app.out.add(f"`tierbench analyze {name}` draws them into its report")


def _cheapest_and_measured(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Tiers that were measured, then the cheapest of each currency. `predictions`: by price."""
    measured: list[Prediction] = []
    others: list[Prediction] = []
    for prediction in predictions:
        if prediction.measured:
            measured.append(prediction)
        else:
            others.append(prediction)
    priced = [prediction for prediction in others if prediction.currency]
    return measured + cheapest(priced or others, SHOWN)


def _not_shown(
    predictions: Sequence[Prediction], shown: Sequence[Prediction]
) -> Iterator[str]:
    left = len(predictions) - len(shown)
    if left:
        yield f"{left} more, dearer or without a price: `-o json` has all."


@asked.takes(shown_as=forms.OR_JSON)
def advise(
    app: App,
    run: RunArgument,
    slo: Annotated[str, Option(help='To be reached, such as "p99 < 20 ms".')],
    observed: Annotated[
        Path | None, Option(help="Has the load, of its busiest hour.")
    ] = None,
    tier: TiersOption = None,
    size: SizeOption = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Names the cheapest tiers that a run predicts to meet an SLO, and which to measure next."""
    hour = None
    if observed:
        readings = histories.read(observed, app.progress.warn)
        hour = observing.busiest_hour(demands(readings))
    clauses = parse(slo, "--slo")
    campaign, predictor = _predictor(app, run, results, hour)
    rows = tier or _catalog_rows(predictor, size, app.root)
    unbounded = _predictions(predictor, rows, app.root, clauses, may_skip=not tier)
    doubts = _doubts(campaign, predictor)
    predictions = _bounded(unbounded, doubts)
    workload = predictor.measured.record.workload.name
    chosen = worth_measuring(predictions)
    commands = list(_commands(campaign, workload, chosen, slo))
    objectives = [format_objective(clause) for clause in clauses]
    answer = prediction_answer(workload, objectives, predictions, commands)
    possible = possible_tiers(predictions)
    names = [named(clause.metric, clause.scope) for clause in clauses]
    app.out.show(
        _advice_as_json(answer, possible, doubts),
        *_notice(doubts),
        *terminal.brief(answer.brief),
        *_doubts_in_words(doubts),
        _table(cheapest(possible, SHOWN), names),
        *commands,
    )


def _advice_as_json(
    answer: Answer, possible: Sequence[Prediction], doubts: Sequence[str]
) -> dict[str, object]:
    (part,) = answer.parts
    return {
        "doubts": doubts,
        "why": part.why,
        "measure": [outlook.tier for outlook in part.worth_measuring],
        "tiers": possible,
        "commands": [step.command for step in answer.next_steps],
    }


def _doubts(campaign: Results, predictor: Predictor) -> tuple[str, ...]:
    """What limits predictions from the run."""
    run = predictor.measured.record.run
    return doubts_of_cell(campaign, judge(campaign), run)


def _bounded(
    predictions: Iterable[Prediction], doubts: tuple[str, ...]
) -> list[Prediction]:
    """The same predictions, each with the doubts, which bound its chance."""
    bounded = []
    for prediction in predictions:
        bounded.append(in_doubt(prediction, doubts))
    return bounded


def _notice(doubts: Sequence[str]) -> Iterator[Text]:
    """Before all else: that nothing was measured of a run that a model made up."""
    if "rehearsal" in doubts:
        yield terminal.notice(EXAMPLE)


def _doubts_in_words(doubts: Sequence[str]) -> Iterator[str]:
    """The line above a table."""
    if doubts:
        yield (
            f"What limits these predictions: {', '.join(doubts)}. So no chance is given above "
            f"{100 * MOST_CHANCE_IN_DOUBT:.0f} %."
        )


# ------------------------------------------------------------------ what to measure next


def _commands(
    campaign: Results, workload: str, tiers: Sequence[Prediction], slo: str
) -> Iterator[str]:
    """Commands that measure these tiers, each on its machine, as the run was measured."""
    if not tiers:
        return
    profiles = []
    for number, prediction in enumerate(tiers, start=1):
        profiles.append(f"advised-{number}")
        yield _init_command(profiles[-1], prediction)
    words = ["tierbench", "compare", "--profiles", ",".join(profiles)]
    words += ["--workloads", workload, "--slo", slo, *_kept_words(campaign)]
    yield shlex.join(words)


def _init_command(profile: str, prediction: Prediction) -> str:
    """The command that writes a profile of that tier: its row, its machine and its keys."""
    row, _, keys = prediction.tier.partition(":")
    words = ["tierbench", "init", profile, "--tier", row]
    if prediction.machine:
        words += ["--vm", prediction.machine]
    words += [key for key in keys.split(",") if key]
    return shlex.join(words)


def _kept_words(campaign: Results) -> Iterator[str]:
    """Words of the command that measured the run, without those that the next one has anew."""
    given = shlex.split(method.command(campaign))[1:]
    for before, word in pairwise(given):
        if before not in OTHERS and word not in OTHERS:
            yield word


# ------------------------------------------------------------------ which run, which tiers


def _predictor(
    app: App,
    run: str,
    results: Path,
    hour: Hour | None = None,
) -> tuple[Results, Predictor]:
    """The campaign, and what predicts from that run of it. UsageError if there is none."""
    name, slug = _campaign_and_run(run)
    campaign = store.load(app.folder(results, name))
    measured = _finished_run(campaign, slug)
    return campaign, Predictor(campaign, measured, hour)


def _campaign_and_run(text: str) -> tuple[str, str]:
    """Both names in a run's folder, in `CAMPAIGN/RUN` or in `RUN`; of a folder of a campaign the
    second is empty."""
    path = text.rstrip("/")
    if plain_files.kind_of(Path(text) / "plan.json") != "nothing":
        campaign = path
        slug = ""
    else:
        campaign, _, slug = path.rpartition("/")
    return campaign.removesuffix("/runs") or "latest", slug


def _finished_run(campaign: Results, slug: str) -> RunData:
    for ended in campaign.done:
        if ended.record.run.slug == slug:
            return ended
    raise _no_such_run(campaign, slug)


def _no_such_run(campaign: Results, slug: str) -> UsageError:
    slugs = [ended.record.run.slug for ended in campaign.done]
    its_runs = "none that is finished"
    if slugs:
        its_runs = listed(slugs)
    lacks = "is a campaign: name one of its runs"
    if slug:
        lacks = f"has no finished run {slug!r}"
    return UsageError(
        f"{campaign.name} {lacks}",
        advice=f"it has {its_runs}",
    )


def _predictions(
    predictor: Predictor,
    rows: Sequence[str],
    root: Path,
    clauses: Sequence[Objective] = (),
    *,
    may_skip: bool,
) -> Iterator[Prediction]:
    """The predictions for these rows.

    UsageError if nothing can be said of a row, unless `may_skip` lets it be left out.
    """
    cluster = predictor.measured.record.profile.cluster
    catalog = project_files.catalog(root)
    vms = _machines(cluster.vm, root)
    for row in rows:
        provider, _, _ = row.partition("/")
        on_machine = replace(cluster, vm=vms.get(provider), vm_price=None)
        try:
            tier, _ = project_files.bought(root, row, on_machine.vm)
            priced = profiles.priced(on_machine, tier, catalog)
            prediction = predictor.predict(replace(tier, name=row), clauses, priced)
        except UsageError:
            # Not sold so, or of a latency that nobody says.
            if not may_skip:
                raise
        else:
            yield prediction


def _catalog_rows(predictor: Predictor, size: str | None, root: Path) -> list[str]:
    """All disks that hold what the profile's disk holds, or so much, as --tier takes them.

    Not what the run's data need, which are smaller where a scale is. UsageError if nobody said how
    large the disk is.
    """
    needed_bytes = _bytes_of_its_disk(predictor.measured.record.profile.tier)
    if size:
        needed_bytes = parse_size(size)
    if not needed_bytes:
        raise _size_unknown(predictor.measured.record.profile.name)
    catalog = project_files.catalog(root)
    return [candidates.text(keys) for keys in candidates.points(catalog, needed_bytes)]


def _bytes_of_its_disk(tier: Tier) -> int:
    """The bytes of all disks that are striped to one; 0 if not known."""
    return (tier.origin.size_bytes or 0) * tier.count


def _size_unknown(profile: str) -> UsageError:
    return UsageError(
        f"it is not known how much the disks of {profile} hold, and "
        "therefore which disks to look at",
        advice="say what each node's disk must hold: --size 250GiB",
    )


def _machines(vm: str | None, root: Path) -> dict[str, str]:
    """Provider → the machine on which its disks are: the run's own `vm`, and else that of the
    cluster which `init` takes. Empty where the run's is nobody's."""
    if vm is None:
        return {}
    texts = project_files.clusters(root)
    machines = {}
    for provider, file in CLUSTERS.items():
        machines[provider] = strict_yaml.parse(file, texts[file])["vm"]
    machines[vm.partition("/")[0]] = vm
    return machines


# ------------------------------------------------------------------ the table


def _table(predictions: Sequence[Prediction], names: Sequence[str]) -> Table:
    """A row a tier, with the figures of these names."""
    titles = []
    for name in names:
        metric = _metric(name)
        titles.append(name.replace(metric, METRICS[metric].title))
    has_chances = any(prediction.chance is not None for prediction in predictions)
    # The price first: on a narrow terminal the last columns are what is lost.
    price_title = f"a month{_for_nodes(predictions)}"
    head = [price_title, "tier", *titles, "limit"]
    if has_chances:
        head.append("chance")
    table = console.table(tuple(head))
    for prediction in predictions:
        tier = prediction.tier
        if prediction.upwards:
            tier += " (upwards)"
        cells = [_cost(prediction), tier]
        cells += [_figure(prediction, name) for name in names]
        cells.append(prediction.limit.replace("_", " "))
        if has_chances:
            cells.append(_chance(prediction))
        table.add_row(*cells)
    return table


def _chance(prediction: Prediction) -> str:
    if prediction.chance is None:
        return "–"
    words = f"{100 * prediction.chance:.0f} %"
    if prediction.doubts and prediction.chance >= MOST_CHANCE_IN_DOUBT:
        return f"at most {words}"
    return words


def _for_nodes(predictions: Sequence[Prediction]) -> str:
    """For how many nodes the price is: ` for 3 nodes, 1 measured`."""
    for prediction in predictions:
        price = prediction.price
        if price is None or price.nodes is None:
            continue
        words = f" for {counted(price.nodes, 'node')}"
        if price.measured_nodes is not None:
            words += f", {price.measured_nodes} measured"
        return words
    return ""


def _metric(name: str) -> str:
    """The metric in a figure's name, which may begin with a type of transactions."""
    return name.split()[-1]


def _figure(prediction: Prediction, name: str) -> str:
    """What is predicted, and what was measured if both are there."""
    predicted_words = figure_in_words(prediction, name) or "–"
    if name not in prediction.measured or name not in prediction.figures:
        return predicted_words
    unit = METRICS[_metric(name)].unit
    measured = format_quantity(prediction.measured[name], unit)
    return f"{predicted_words}, measured {measured}"


def _cost(prediction: Prediction) -> str:
    """A month of the disks, and of the machine if that is in the price."""
    cost = "–"
    if prediction.monthly_cost is not None:
        cost = f"{prediction.monthly_cost:,.2f} {prediction.currency}"
    price = prediction.price
    if price is not None and price.verified is False:
        cost += f", {NOT_VERIFIED}"
    if not prediction.machine:
        return cost
    _provider, _, machine = prediction.machine.partition("/")
    return f"{cost} with {machine}"
