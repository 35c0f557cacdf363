"""BenchBase as a load generator: its own TPC-C-derived workload, on its own schema.

Creating, loading and executing are separate starts of BenchBase. Its configuration is rendered
from the workload's YAML (config.py); its files are read into the table from which all figures
come (results.py). Differences from the built-in workload: docs/research/WORKLOADS.md."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from orchestrator import errors
from orchestrator.analysis.figures import transactions
from orchestrator.extensions.benchbase import config, merging, results
from orchestrator.extensions.benchbase.distribution import (
    NOWHERE,
    BenchBaseSource,
    find,
    named,
    provide,
)
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.common import consistency
from orchestrator.load_generators.common.client import (
    LOAD_TIMEOUT_S,
    InClient,
    run_in_client,
)
from orchestrator.load_generators.common.options import seed_of
from orchestrator.load_generators.common.program_output import (
    complaint,
    ended_badly,
    progress,
)
from orchestrator.model import Cluster, ClusterSpec, Measurement, Node, Phase, Workload
from orchestrator.parts import ClientLoad, LoadAbilities, Recorded, Result, SplitLoad
from orchestrator.planning import client_shares
from orchestrator.platforms import own_images
from orchestrator.powers import Completed, World
from orchestrator.system import files, shell, sql

_CONFIG = "benchbase.xml"
_SCRIPTS = "benchbase"  # folder below workloads/
_XML = "BENCHBASE_XML"
_ROOT = "0"  # the official image has a user of its own, who may not write to /out
_java = partial(shell.script, __package__, "java", results.ATTEMPTS)
_EXECUTE = ("--execute=true", "-d", "/out", "-jh", f"/out/{results.HISTOGRAMS}")
_PRINT_PROGRESS = ("-im", "1000", "-mt", "throughput")  # once a second, in milliseconds
_BEGUN = "PHASE START"
_MEASURING = "Warmup complete"
_ENDED = "TERMINATE"
_ENDING = "waiting until BenchBase's terminals have ended"
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z ")
_THROUGHPUT = re.compile(r"Throughput: ([\d.]+) txn/sec")
_STAMP_S = 0.001  # stamps are cut to whole milliseconds
_STOP_GRACE_S = 120.0
_LONGEST_PAUSE_S = 140.0  # a terminal ends only after its keying and thinking
# These metrics are left out if the outcome of each row is not known.
_NEEDS_OUTCOMES = {"nopm", "rollbacks", "failures", "retries"}


class BenchBase(InClient):
    name = config.NAME

    def __init__(
        self, source: BenchBaseSource = NOWHERE, connect: sql.Connect = sql.session
    ) -> None:
        self._source = source
        self._connect = connect

    @property
    def abilities(self) -> LoadAbilities:
        split_load = SplitLoad(
            self.records, merging.one_table, self.result, results.FACT_RULES
        )
        return LoadAbilities(split_load=split_load)

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        largest = next(client_shares.shares(workload, spec.clients))
        settings = config.settings(largest, 1, spec.clients)
        if "tls_key" in spec.existing:
            raise errors.UsageError(
                "BenchBase cannot identify itself with `tls_key`: its driver reads "
                "no PEM file",
                advice="let the server accept a password, or leave out --generator "
                "(GENERATOR)",
            )
        provide(self._source, world)
        if settings.warehouses_reached < settings.warehouses:
            where = ""
            if spec.clients > 1:
                where = " in a client"
            world.progress.warn(
                f"each of BenchBase's {settings.terminals} terminals{where} stays at "
                f"one warehouse: only {settings.warehouses_reached} of "
                f"{settings.warehouses} warehouses are used"
            )

    def loader_version(self, workload: Workload, world: World) -> str:
        """Returns a hash of our scripts, with the identity of BenchBase."""
        ours = own_images.content_hash(world.root / "workloads" / _SCRIPTS)
        return f"{ours}-{find(self._source, '', world).identity}"

    scripts = loader_version  # BenchBase itself is not in our image

    def client_image(self, world: World) -> tuple[str, Mapping[str, Path]]:
        distribution = find(self._source, "", world)
        return distribution.image, distribution.files

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        settings, env = self._rendered(workload, cluster, world)
        family = workload.dataset.family
        for step in ("create", "load"):
            world.progress.step(f"loading {family}: BenchBase, {step}")
            argv = _java(f"--{step}=true")
            done = run_in_client(client, argv, cluster, world, env=env, user=_ROOT)
            if done.exit_code != 0:
                what = f"BenchBase could not {step} {family}: {_complaint(done)}"
                raise errors.LoadError(what, evidence=_tail(done))
        # BenchBase's loader only logs a failed batch, and exits with code 0.
        world.progress.step(f"counting what was loaded into {family}")
        with self._connect(sql.local(cluster.endpoints[0]), LOAD_TIMEOUT_S) as session:
            counts = session.rows(config.COUNT_ROWS)[0]
        wrong = config.miscounted(counts, settings.warehouses)
        if wrong:
            what = f"BenchBase loaded something else than {settings.warehouses} warehouses: {wrong}"
            raise errors.LoadError(what, evidence=_tail(done))
        seed = seed_of(workload)
        consistency.verify(config.conditions(world), cluster, seed, world, fresh=True)

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        """All are started at once; each begins when its Java has."""
        workload = load.workload
        out = load.out
        part = 1
        parts = 1
        if load.share:
            load.share.begin()
            part = load.share.number
            parts = load.share.clients
        settings, env = self._rendered(workload, load.cluster, load.world, part, parts)
        files.keep(out / _CONFIG, env[_XML])
        console = _BenchBaseConsole(workload, settings, load.world)
        argv = _java(*_EXECUTE, *_PRINT_PROGRESS)
        done = run_in_client(
            load.client,
            argv,
            load.cluster,
            load.world,
            user=_ROOT,
            timeout_s=_timeout_s(workload, settings),
            on_line=console.line,
            env=env,
            out=out,
        )
        files.keep(out / "command.txt", shlex.join(done.argv) + "\n")
        files.keep(out / "benchbase.out", results.plain(done.out))
        files.keep(out / "benchbase.err", results.plain(done.err))
        state = results.summary(out).get("Final State")  # "EXIT" if it ended well
        ended_well = done.exit_code == 0 and state in (None, "EXIT")
        phases = console.phases()
        if not ended_well or phases is None:
            why = f", state {state or 'unknown'}: {_complaint(done)}"
            raise ended_badly("BenchBase", done.exit_code, why, _tail(done))
        return phases

    def _rendered(
        self,
        workload: Workload,
        cluster: Cluster,
        world: World,
        part: int = 1,
        parts: int = 1,
    ) -> tuple[config.BenchBaseSettings, dict[str, str]]:
        """Its settings, and the environment in which its start finds BenchBase and its XML."""
        settings = config.settings(workload, part, parts)
        template = (world.root / "workloads" / config.TEMPLATE).read_text(
            encoding="utf-8"
        )
        build = find(self._source, cluster.database, world)
        xml = config.render(template, settings, cluster, build.driver)
        return settings, {"BENCHBASE_FOLDER": build.folder, _XML: xml}

    def verify(
        self, workload: Workload, cluster: Cluster, world: World
    ) -> Mapping[str, Any]:
        """Checks the built-in workload's conditions that BenchBase keeps; a broken one voids a
        run."""
        facts = consistency.verify(
            config.conditions(world), cluster, seed_of(workload), world, fresh=False
        )
        return {**facts, "not_checked": list(config.NOT_KEPT)}

    def records(self, out: Path) -> tuple[pd.DataFrame, GeneratorFacts]:
        table, facts = results.read_table(out)
        return table, GeneratorFacts.read(facts)

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        return self.result(workload, self.records(out), start_s, end_s)

    def result(
        self, workload: Workload, left: Recorded, start_s: float, end_s: float
    ) -> Result:
        records, facts = left
        figures = transactions.measurements(records, start_s, end_s, None)
        if not facts.more["outcomes_known"]:
            figures = tuple(
                figure for figure in figures if figure.metric not in _NEEDS_OUTCOMES
            )
        clients = max(1, len(facts.clients))
        all_facts = {**facts.recorded(), **_facts(workload, clients, figures)}
        # BenchBase records nothing of the warm-up, so it has no intervals, rather than empty ones.
        window = {"measure": (start_s, end_s)}
        return Result(
            measurements=figures,
            intervals=transactions.intervals(records, window),
            latencies=(records,),
            facts=GeneratorFacts.read(all_facts),
        )


def _facts(
    workload: Workload, clients: int, figures: Sequence[Measurement]
) -> Mapping[str, Any]:
    client_settings: list[config.BenchBaseSettings] = []
    for part, share in enumerate(client_shares.shares(workload, clients), start=1):
        client_settings.append(config.settings(share, part, clients))
    rate = sum(settings.arrival_rate for settings in client_settings)
    served_of_asked = None
    if rate:
        served_of_asked = _throughput_per_s(figures) / rate
    terminals = sum(settings.terminals for settings in client_settings)
    # The most of a client, and not the sum: two clients may use the same warehouses.
    reached = max(settings.warehouses_reached for settings in client_settings)
    return {
        "generator": config.NAME,
        "queueing_in_latency": False,
        "warmup_recorded": False,
        "seeded": False,
        "terminals": terminals,
        "warehouses_reached": reached,
        "arrival_rate_per_s": rate or None,
        "served_of_asked": served_of_asked,
    }


def _throughput_per_s(figures: Sequence[Measurement]) -> float:
    for figure in figures:
        if (figure.metric, figure.scope) == ("throughput_per_s", "all"):
            return figure.value
    return 0


def _timeout_s(workload: Workload, settings: config.BenchBaseSettings) -> float:
    timeout_s = (
        workload.warmup_s + settings.lead_in_s + workload.measure_s + _STOP_GRACE_S
    )
    if workload.thinks:
        timeout_s += _LONGEST_PAUSE_S
    return timeout_s


# ------------------------------------------------------------------ the console


class _BenchBaseConsole:
    """What BenchBase prints while it runs, and when it says that a phase begins."""

    def __init__(
        self, workload: Workload, settings: config.BenchBaseSettings, world: World
    ) -> None:
        self._workload = workload
        self._lead_in_s = settings.lead_in_s
        self._world = world
        self._times_s: dict[str, float] = {}

    def line(self, line: str) -> None:
        for mark in (_BEGUN, _MEASURING, _ENDED):
            if mark in line and mark not in self._times_s:
                time_s = _stamp(line) or self._world.clock.now()
                self._times_s[mark] = time_s
                if mark == _MEASURING:
                    self._world.window_begins(time_s + self._lead_in_s)
        rate = _THROUGHPUT.search(line)
        if rate:
            self._show(float(rate[1]))

    def _show(self, per_s: float) -> None:
        now_s = self._world.clock.now()
        elapsed_s = now_s - self._times_s.get(_BEGUN, now_s)
        text = progress(
            elapsed_s, self._workload.warmup_s, self._workload.measure_s, per_s
        )
        if _ENDED in self._times_s:
            text = _ENDING
        self._world.progress.step(text)

    def phases(self) -> tuple[Phase, Phase] | None:
        """The phases of the run; None if it did not come to its end."""
        if len(self._times_s) < 3:
            return None
        middle_s = self._times_s[_MEASURING] + self._lead_in_s
        end_s = self._times_s[_ENDED] + _STAMP_S
        warmup = Phase("warm-up", self._times_s[_BEGUN], middle_s)
        return warmup, Phase("measure", middle_s, end_s)


def _stamp(line: str) -> float | None:
    """Unix seconds of a line's time stamp, which is in UTC; None if it has none."""
    match = _STAMP.match(line)
    if match:
        return datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp()
    return None


def _complaint(done: Completed) -> str:
    """The first line in which BenchBase, or Java, reports an error."""
    return complaint(results.plain(done.out + done.err), "ERROR", "Exception")


def _tail(done: Completed) -> str:
    return results.plain(done.tail())


def from_environment() -> BenchBase:
    """BenchBase as the environment names it, else as our image has it."""
    return BenchBase(named(os.environ))
