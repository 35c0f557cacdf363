"""`tierbench predict`: what a run on one tier says of the other tiers of the catalog.
`tierbench advise`: which of them are the cheapest to meet an SLO, and which to measure next."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from rich.table import Table
from typer import Argument, Option

from orchestrator.analysis.answers.prediction import (
    NO_TIER,
    possible_tiers,
    prediction_answer,
    worth_measuring,
)
from orchestrator.analysis.conclusions import Prediction
from orchestrator.analysis.observed.demand import demands
from orchestrator.analysis.prediction.demands import Hour
from orchestrator.analysis.prediction.prediction import FIGURES, Predictor, named
from orchestrator.analysis.results import Results
from orchestrator.cli import RESULTS, console
from orchestrator.cli import options as asked
from orchestrator.cli.app import App
from orchestrator.cli.init import CLUSTERS
from orchestrator.errors import UsageError
from orchestrator.histories import files
from orchestrator.keys import strict_yaml
from orchestrator.keys.messages import failure
from orchestrator.metrics import METRICS
from orchestrator.model import Objective
from orchestrator.planning import factors, profiles, project_files
from orchestrator.planning.slo import format_objective, parse
from orchestrator.report.sections import method, predicted
from orchestrator.run import observing
from orchestrator.system import store
from orchestrator.tier_catalog import candidates
from orchestrator.units import format_bytes, format_quantity, listed, parse_size

RunArgument = Annotated[
    str, Argument(help="A run's folder, CAMPAIGN/RUN, or a run of latest.")
]
TiersOption = Annotated[list[str] | None, Option("--tier")]
MemoryOption = Annotated[str | None, Option(callback=asked.read_by(parse_size))]
DataOption = Annotated[str | None, Option(callback=asked.read_by(factors.data_value))]
SHOWN = 12  # of the tiers that may meet an SLO, the cheapest
LEAST_BYTES = (
    12 * 2**30
)  # nodes' disks at the scale laptop, at which `init` reads what it writes
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


@asked.takes(in_json=True)
def predict(
    app: App,
    run: RunArgument,
    tier: TiersOption = None,
    memory: MemoryOption = None,
    data: DataOption = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Predicts from a run what other tiers would do; without --tier those that were measured beside
    it, with what they did, and all of the catalog; with --memory or --data its own tier."""
    campaign, predictor = _predictor(app, run, results, memory=memory, data=data)
    own = predictor.measured.record.profile
    if (memory or data) and not tier:
        _check_room(
            predictor,
            own.name,
            own.cluster.node.disk_bytes if own.cluster.node else None,
        )
        predictions = [predictor.predict(replace(own.tier, name=own.name))]
    else:
        if tier:
            measured = []
        else:
            measured = list(predictor.compared())
        predictions = [*measured, *_predictions(predictor, tier or (), app.root)]
    hint = []
    if not (tier or memory or data):
        store.save_predictions(app.folder(results, campaign.name), predictions)
        hint = [f"`tierbench analyze {campaign.name}` draws them into its report"]
    app.out.show(
        predictions, _table(predictions, [named(*key) for key in FIGURES]), *hint
    )


@asked.takes(in_json=True)
def advise(
    app: App,
    run: RunArgument,
    slo: Annotated[str, Option(help='To be reached, such as "p99 < 20 ms".')],
    observed: Annotated[
        Path | None, Option(help="Has the load, of its busiest hour.")
    ] = None,
    tier: TiersOption = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Names the cheapest tiers that a run predicts to meet an SLO, and which to measure next."""
    hour = None
    if observed:
        hour = observing.busiest_hour(demands(files.read(observed)))
    clauses = parse(slo, "--slo")
    campaign, predictor = _predictor(app, run, results, hour)
    predictions = list(_predictions(predictor, tier or (), app.root, clauses))
    workload = predictor.measured.record.workload.name
    chosen = [(p.tier, p.machine) for p in worth_measuring(predictions)]
    commands = list(_commands(campaign, workload, chosen, slo))
    objectives = [format_objective(clause) for clause in clauses]
    answer = prediction_answer(workload, objectives, predictions, commands)
    (part,) = answer.parts
    possible = possible_tiers(predictions)
    shown = _table(possible[:SHOWN], [named(c.metric, c.scope) for c in clauses])
    facts = {
        "measure": [outlook.tier for outlook in part.worth_measuring],
        "tiers": possible,
        "commands": [step.command for step in answer.next_steps],
    }
    app.out.show(facts, shown, *(commands or [NO_TIER]))


def _commands(
    campaign: Results, workload: str, tiers: Sequence[tuple[str, str]], slo: str
) -> Iterator[str]:
    """Those that measure these tiers, each on its machine, as the run was."""
    for number, (tier, vm) in enumerate(tiers, start=1):
        row, _, keys = tier.partition(":")
        if vm:
            on = ["--vm", vm]
        else:
            on = []
        words = [
            "init",
            f"advised-{number}",
            "--tier",
            row,
            *on,
            *filter(None, keys.split(",")),
        ]
        yield shlex.join(["tierbench", *words])
    names = ",".join(f"advised-{number}" for number in range(1, len(tiers) + 1))
    given = shlex.split(method.command(campaign))[1:]
    kept = [word for before, word in pairwise(given) if not {before, word} & OTHERS]
    asked_for = ["--profiles", names, "--workloads", workload, "--slo", slo]
    if tiers:
        yield shlex.join(["tierbench", "compare", *asked_for, *kept])


def _predictor(
    app: App,
    run: str,
    results: Path,
    hour: Hour | None = None,
    memory: str | None = None,
    data: str | None = None,
) -> tuple[Results, Predictor]:
    names_no_run = (Path(run) / "plan.json").is_file()
    campaign, _, slug = (run.rstrip("/") + "/" * names_no_run).rpartition("/")
    loaded = store.load(app.folder(results, campaign.removesuffix("/runs") or "latest"))
    of_name = [data for data in loaded.done if data.record.run.slug == slug]
    if not of_name:
        runs = (
            listed([data.record.run.slug for data in loaded.done])
            or "none that is finished"
        )
        lacks = "is a campaign: name one of its runs"
        if slug:
            lacks = f"has no finished run {slug!r}"
        raise UsageError(f"{loaded.name} {lacks}", advice=f"it has {runs}")
    asked_bytes = 0
    if memory:
        asked_bytes = parse_size(memory)
    value = None
    if data:
        value = factors.data_value(data)
    return loaded, Predictor(loaded, of_name[0], hour, asked_bytes, value)


def _predictions(
    predictor: Predictor,
    tiers: Sequence[str],
    root: Path,
    clauses: Sequence[Objective] = (),
) -> Iterator[Prediction]:
    cluster = predictor.measured.record.profile.cluster
    catalog = project_files.catalog(root)
    needed = max(LEAST_BYTES, cluster.node.disk_bytes if cluster.node else 0)
    vms = _machines(cluster.vm, root)
    for text in tiers or map(candidates.text, candidates.points(catalog, needed)):
        vm = vms.get(text.partition("/")[0])
        with suppress(
            *[] if tiers else [UsageError]
        ):  # not sold so, or of unknown latency
            tier, holds = project_files.bought(root, text, vm)
            _check_room(predictor, text, holds)
            on = profiles.priced(replace(cluster, vm=vm, vm_price=None), tier, catalog)
            yield predictor.predict(replace(tier, name=text), clauses, on)


def _check_room(predictor: Predictor, tier: str, holds: int | None) -> None:
    """UsageError if disks of so many bytes (None: unknown) are too small for the data asked for."""
    if holds is not None and holds < predictor.disk_bytes:
        held, needed = map(format_bytes, (holds, predictor.disk_bytes))
        raise failure(
            UsageError, "disk too small", tier=tier, holds=held, needed=needed
        )


def _machines(own: str | None, root: Path) -> dict[str, str]:
    """Provider → the machine on which its disks are: the run's own, and else that of the cluster
    which `init` takes. Empty where the run's is nobody's."""
    if own is None:
        return {}
    texts = project_files.clusters(root)
    vms = {
        name: strict_yaml.parse(file, texts[file])["vm"]
        for name, file in CLUSTERS.items()
    }
    return {**vms, own.partition("/")[0]: own}


def _table(predictions: Sequence[Prediction], names: Sequence[str]) -> Table:
    titles = [
        name.replace((metric := name.split()[-1]), METRICS[metric].title)
        for name in names
    ]
    table = console.table(("tier", *titles, "limit", "a month", "chance"), ("tier",))
    for p in predictions:
        cells = [predicted.figure_in_words(p, name) or "–" for name in names]
        for place, name in enumerate(names):
            if name in p.measured.keys() & p.figures.keys():
                did = format_quantity(p.measured[name], METRICS[name.split()[-1]].unit)
                cells[place] += f", measured {did}"
        if p.monthly_cost is None:
            cost = "–"
        else:
            cost = f"{p.monthly_cost:,.2f} {p.currency}"
        cost += f" with {p.machine.partition('/')[2]}" * bool(p.machine)
        if p.chance is None:
            chance = "–"
        else:
            chance = f"{100 * p.chance:.0f} %"
        table.add_row(p.tier + " (upwards)" * p.upwards, *cells, p.limit, cost, chance)
    return table
