"""sysbench with our workloads under `workloads/` (sysbench tables, TPC-C-derived).

sysbench runs the threads; our Lua records every transaction (format: workloads/lib/recorder.lua).
Figures come from those records; sysbench's own totals only cross-check them. Needs our image
`client`. What recording costs the client: `make bench NAME=tpcc`.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.analysis.figures import error_counts, transactions
from orchestrator.errors import UnfinishedError, UsageError
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.common import consistency, options
from orchestrator.load_generators.common.client import InClient, put, run_in_client
from orchestrator.load_generators.common.program_output import (
    complaint,
    ended_badly,
    version,
)
from orchestrator.load_generators.sysbench import command_lines, warm_up
from orchestrator.load_generators.sysbench.records import Records, began_s, threads
from orchestrator.metrics import measured
from orchestrator.model import Cluster, ClusterSpec, Measurement, Node, Phase, Workload
from orchestrator.parts import ClientLoad, LoadAbilities, Recorded, Result, SplitLoad
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.system import files
from orchestrator.units import format_number

_OF_BULK = ("bytes_per_transaction", "payload", "ends_with_work")
_NONE_LATE: Mapping[str, float] = {"count": 0, "total_us": 0.0, "most_us": 0.0}
_LAST_S = 1e-3  # time behind a transaction, so that a window that ends with it has it
_TOTAL = re.compile(r"^\s+transactions:\s+(\d+)", re.MULTILINE)


class Sysbench(InClient):
    name = command_lines.NAME

    @property
    def abilities(self) -> LoadAbilities:
        return LoadAbilities(
            loading_goes_on=True,
            split_load=SplitLoad(self.records, Records.merged, self.result),
            limit_sessions=self.limit_sessions,
        )

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        self.client_image(world)
        script = world.root / "workloads" / workload.script
        if not script.is_file():
            raise UsageError(
                f"workload {workload.name}: there is no script {script}",
                advice="correct `script` in the workload, from the folder workloads/ on",
            )
        if spec.clients > 1 and workload.script in command_lines.ENDS_WITH_WORK:
            raise UsageError(
                f"workload {workload.name} ends with its work, and takes one client",
                advice=f"set `clients: 1` instead of {spec.clients} in the profile",
            )

    def loader_version(self, workload: Workload, world: World) -> str:
        """Returns a hash of the loader's scripts and image."""
        # Kept data of another loader are loaded anew: their rows may lie otherwise on the disk.
        scripts = world.root / "workloads"
        folders = (
            (scripts / workload.script).parent,
            scripts / "lib",
            own_images.folder(world.root, "client"),
        )
        return "-".join(own_images.content_hash(folder) for folder in folders)

    def scripts(self, workload: Workload, world: World) -> str:
        """Returns a hash of the script, its loader, and what either of them requires."""
        return content_hash(world.root / "workloads", workload.script)

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        argv = command_lines.load_command(workload, cluster)
        family = workload.dataset.family
        on_line = partial(_show_loading, family, world)
        done = run_in_client(client, argv, cluster, world, on_line=on_line)
        if done.exit_code != 0:
            what = f"loading {family} failed: {complaint(done.err or done.out)}"
            raise UnfinishedError(what, evidence=done.tail())
        conditions = _conditions(workload, world)
        if conditions:
            seed = options.seed_of(workload)
            consistency.verify(conditions, cluster, seed, world, fresh=True)

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        workload = load.workload
        client = load.client
        out = load.out
        world = load.world
        # Transactions that are under way at the end are finished, on a slow disk for long.
        timeout_s = command_lines.longest_s(workload) + options.STOP_GRACE_S
        if load.share:
            timeout_s += command_lines.TOGETHER_S

        def put_into_client(file: str, line: str) -> None:
            put(client, file, line, world)

        warming = warm_up.WarmUp(load, put_into_client)
        argv = command_lines.run_command(workload, load.cluster, load.share)
        files.keep(out / "command.txt", shlex.join(argv) + "\n")
        done = run_in_client(
            client,
            argv,
            load.cluster,
            world,
            timeout_s=timeout_s,
            on_line=warming.line,
            out=out,
        )
        files.keep(out / "sysbench.out", done.out)
        files.keep(out / "sysbench.err", done.err)
        phases = warming.phases(began_s(out))
        if done.exit_code != 0 or phases is None:
            why = f": {complaint(done.err or done.out)}"
            raise ended_badly("sysbench", done.exit_code, why, done.tail())
        return _with_work(phases, out)

    def limit_sessions(
        self, number: int, clients: Sequence[Node], world: World
    ) -> None:
        for client in clients:
            put(client, command_lines.SESSIONS_FILE, str(number), world)

    def verify(
        self, workload: Workload, cluster: Cluster, world: World
    ) -> Mapping[str, Any]:
        """Checks the conditions beside the script, if any; a broken one voids the run."""
        conditions = _conditions(workload, world)
        if conditions:
            return consistency.verify(
                conditions, cluster, options.seed_of(workload), world, fresh=False
            )
        return {}

    def records(self, out: Path) -> tuple[Records, GeneratorFacts]:
        records = Records.of_folder(out)
        return records, _facts(records, out)

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        return self.result(workload, self.records(out), start_s, end_s)

    def result(
        self, workload: Workload, left: Recorded, start_s: float, end_s: float
    ) -> Result:
        records, facts = left
        pooled = workload.thinks
        warmup_s = workload.warmup_s
        if facts.warmup_s is not None:  # it lasted until throughput was steady
            warmup_s = facts.warmup_s
        phases = {"warm-up": (start_s - warmup_s, start_s), "measure": (start_s, end_s)}
        # Transactions that were due and never began waited too: without them a queue that grows
        # would seem short.
        at_a_rate = transactions.is_at_a_rate(facts, pooled)
        window = transactions.Window(start_s, end_s, pooled, at_a_rate)
        seconds = transactions.Seconds(phases, pooled)
        for table in records:
            window.add(table)
            seconds.add(table)
        unstarted_s: Mapping[str, Any] = {}
        if at_a_rate:
            unstarted_s = records.unstarted_s
        window.add_unstarted(unstarted_s)
        figures = window.measurements(workload.statements_per_transaction)
        figures += _payload(figures, facts)
        if facts.arrival_rate_per_s:
            figures += window.flow(facts.arrival_rate_per_s, facts.unstarted or 0.0)
        return Result(figures, seconds.intervals(), records, facts)


def _payload(
    figures: Sequence[Measurement], facts: GeneratorFacts
) -> tuple[Measurement, ...]:
    """What transactions carry a second, where they are of a known size."""
    if not facts.bytes_per_transaction:
        return ()
    for figure in figures:
        if figure.metric == "throughput_per_s":
            per_s = figure.value * facts.bytes_per_transaction
            return (measured("payload_bytes_per_s", per_s),)
    raise ValueError("there is no throughput")


def _conditions(workload: Workload, world: World) -> str:
    """Returns the text of the conditions beside the script; "" if there are none."""
    file = (world.root / "workloads" / workload.script).with_name("consistency.sql")
    if file.is_file():
        return file.read_text(encoding="utf-8")
    return ""


def _mode(out: Path) -> dict[str, Any]:
    """What the script says of itself (`loop.describe`)."""
    return dict(files.content(out / "recorder.json").get("mode", {}))


def _with_work(phases: tuple[Phase, Phase], out: Path) -> tuple[Phase, Phase]:
    """The window ends with the last transaction, if the script's work was done before its time."""
    warmup, measure = phases
    if not _mode(out).get("ends_with_work"):
        return phases
    # Time in which nothing was left to do would make the rate too low.
    ended_s: list[float] = []
    for table in Records.of_folder(out):
        if len(table):
            ends_s = table["start_s"] + table["latency_s"]
            ended_s.append(float(ends_s.max()))
    end_s = max(ended_s, default=measure.end_s) + _LAST_S
    return warmup, replace(measure, end_s=min(measure.end_s, end_s))


def _facts(records: Records, out: Path) -> GeneratorFacts:
    """Cross-checks and counted errors of the whole run, warm-up included."""
    console = (out / "sysbench.out").read_text(encoding="utf-8")
    thread_facts = threads(out)
    mode = _mode(out)
    more: dict[str, Any] = {"errors": error_counts.sum_errors(_errors(thread_facts))}
    drift = warm_up.steady_facts(out)
    warmup_s = drift.pop("warmup_s", None)
    steady = drift.pop("steady", None)
    if drift:
        more["warmup_drift"] = drift
    unstarted = sum(int(thread.get("unstarted", 0)) for thread in thread_facts)
    facts = GeneratorFacts(
        version=version(console),
        recorded_transactions=records.count,
        recorded_failures=records.failures,
        sysbench_transactions=_total(console),
        unstarted=unstarted,
        arrival_rate_per_s=mode.get("arrival_rate_per_s") or None,
        statements_batched=mode.get("batches"),
        warmup_s=warmup_s,
        warmup_steady=steady,
        began_s=began_s(out),
        more=more,
    )
    bulk = {name: mode[name] for name in _OF_BULK if name in mode}
    late = _woke_late(thread_facts)
    return replace(facts, **bulk, **late)


def _woke_late(of_threads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How late sleeping threads were for what was due; nothing if none slept."""
    count = 0.0
    total_us = 0.0
    most_us = 0.0
    for thread in of_threads:
        late = thread.get("woke_late", _NONE_LATE)
        count += late["count"]
        total_us += late["total_us"]
        most_us = max(most_us, late["most_us"])
    if not count:
        return {}
    avg_s = total_us / count * 1e-6
    return {
        "woke_late_transactions": count,
        "woke_late_avg_s": avg_s,
        "woke_late_most_s": most_us * 1e-6,
    }


def _total(console: str) -> int | None:
    """The transactions of the whole run, as sysbench counted them."""
    totals = _TOTAL.findall(console)
    if totals:
        return int(totals[-1])
    return None


def _errors(of_threads: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What each thread counted of attempts that were repeated, and of those that were not."""
    for thread in of_threads:
        for kind in ("retried", "failed"):
            for entry in thread.get(kind, ()):
                yield {"kind": kind, **entry}


def _show_loading(family: str, world: World, line: str) -> None:
    try:
        state = json.loads(line)
    except ValueError:  # not every line is the loader's
        return
    phase = state.get("phase")
    if phase == "retry":
        world.progress.note(
            f"loading {family}: tried again after {state.get('message')}"
        )
        return
    rate = ""
    if state.get("rows_per_s"):
        rate = f", {format_number(state['rows_per_s'])} rows/s"
    left_s = state.get("eta_s") or None
    world.progress.step(f"loading {family}: {phase}{rate}", left_s)


_REQUIRE = re.compile(r"""require\s*\(?\s*["']([\w.]+)["']""")


def content_hash(workloads: Path, script: str) -> str:
    """Returns twelve hexadecimal digits over the script, the `load.lua` beside it, and all that
    they require, from their folder or from `lib/`. Modules of LuaJIT itself are in the image."""
    first = workloads / script
    places = (first.parent, workloads / "lib")
    required: set[Path] = set()
    open_ends = [first, first.with_name("load.lua")]
    while open_ends:
        file = open_ends.pop()
        if file in required or not file.is_file():
            continue
        required.add(file)
        for name in _REQUIRE.findall(file.read_text(encoding="utf-8")):
            open_ends += [place / f"{name}.lua" for place in places]
    return own_images.content_hash(workloads, required)
