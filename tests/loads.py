"""Synthetic campaigns of workloads at several loads: figures as given, run by run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis.results import Results, RunData
from orchestrator.design import factors, used_profiles, varied_workloads
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Objective, Plan, Run, Workload
from tests.campaigns import SHAPES, START_S, build_profile, build_run, build_workload
from tests.plans import planned

STEADY = (0.996, 1.0, 1.004)  # of the repetitions
Figures = Callable[[Run, Workload], Sequence[Measurement]]


def a_load(name: str = "point-select", slo: tuple[Objective, ...] = ()) -> Workload:
    return replace(build_workload(name), slo=slo)


def swept(values: str, slo: tuple[Objective, ...] = ()) -> tuple[Workload, ...]:
    return varied_workloads.at_loads(
        [a_load(slo=slo)], factors.parse(values, "load"), None
    )[0]


def at_rate(rate_per_s: float, slo: tuple[Objective, ...] = ()) -> Workload:
    return varied_workloads.at_load(
        a_load(slo=slo), varied_workloads.same_rate(rate_per_s)
    )


def build(
    workloads: Sequence[Workload],
    figures: Figures,
    *,
    profiles: Sequence[str] = ("premium", "ultra"),
    repetitions: int = 3,
    latency_at_pct: float | None = None,
    failed: Sequence[str] = (),
) -> Results:
    """`failed`: tiers whose runs all failed."""
    tiers = [build_profile(name) for name in profiles]
    made = planned(
        tiers, workloads, repetitions, scale="laptop", latency_at_pct=latency_at_pct
    )
    return Results(
        "test", made, {}, tuple(_run(one, made, figures, failed) for one in made.runs)
    )


def of_plan(made: Plan, rates: Mapping[str, float]) -> Results:
    """Its runs, which have throughputs alone: workload → MB/s."""

    def figures(run: Run, workload: Workload) -> list[Measurement]:
        return closed(run, rates[workload.name], 1.0)[:1]

    return Results(
        "test", made, {}, tuple(_run(one, made, figures, ()) for one in made.runs)
    )


def _run(run: Run, made: Plan, figures: Figures, failed: Sequence[str]) -> RunData:
    workload = made.workload(run.workload)
    shape = SHAPES[run.profile, "point-select"]
    outcome = "failed" if run.profile in failed else "done"
    start_s = START_S + 200.0 * run.number
    data = build_run(
        run,
        used_profiles.as_used(made.profile(run.profile), workload),
        workload,
        shape,
        start_s=start_s,
        outcome="failed" if outcome == "failed" else "done",
        frames=False,
    )
    if outcome == "failed":
        return data
    return replace(
        data, record=replace(data.record, measurements=tuple(figures(run, workload)))
    )


def closed(run: Run, rate_per_s: float, latency_s: float) -> list[Measurement]:
    """Figures of a run in closed loop; 60 s are measured."""
    noise = STEADY[(run.repetition - 1) % 3]
    return [
        measured("throughput_per_s", rate_per_s * noise),
        measured("transactions", rate_per_s * 60.0),
        measured("latency_avg_s", latency_s * noise),
        measured("latency_p99_s", 3 * latency_s * noise),
    ]


def flow(
    run: Run, offered: float, served: float, latency_s: float
) -> list[Measurement]:
    """Figures of a run in open loop."""
    return [
        *closed(run, served, latency_s),
        measured("offered_per_s", offered),
        measured("served_per_s", served),
    ]


def overloaded_unless_ultra(run: Run, _: Workload) -> list[Measurement]:
    if run.profile == "ultra":
        return flow(run, 1000.0, 1000.0, 0.01)
    return flow(run, 1000.0, 800.0, 0.05)


def slow_premium(run: Run, workload: Workload) -> list[Measurement]:
    """At a rate: premium serves 1,500 transactions a second at most, and others 9,000."""
    rate = float(workload.options["arrival_rate"])
    served = min(rate, 1500.0 if run.profile == "premium" else 9000.0)
    return flow(run, rate, served, 0.001)


def at_loads(table: Mapping[str, Sequence[tuple[float, float]]]) -> Figures:
    """Tier → throughput/s and average latency (s) at each load of a sweep, in rising order."""

    def figures(run: Run, workload: Workload) -> list[Measurement]:
        assert workload.varied is not None
        values = sorted({1.0, 4.0, 16.0, 64.0})
        rate, latency_s = table[run.profile][
            values.index(workload.varied.number or 0.0)
        ]
        return closed(run, rate, latency_s)

    return figures


def varied(text: str, slo: tuple[Objective, ...] = ()) -> tuple[Workload, ...]:
    """A workload at each value of a factor, with as many tables if these are the factor."""
    workloads = []
    for value in factors.parse(text):
        load = varied_workloads.at(a_load(slo=slo), value)
        if value.factor == "tables":
            parameters = {**load.dataset.parameters, "tables": int(value.value)}
            load = replace(load, dataset=replace(load.dataset, parameters=parameters))
        workloads.append(load)
    return tuple(workloads)


def at_values(table: Mapping[str, Sequence[tuple[float, float]]], text: str) -> Figures:
    """Tier → throughput/s and average latency (s) at each value of a factor, in its order."""
    values = [value.value for value in factors.parse(text)]

    def figures(run: Run, workload: Workload) -> list[Measurement]:
        assert workload.varied is not None
        return closed(run, *table[run.profile][values.index(workload.varied.value)])

    return figures
