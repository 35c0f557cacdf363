"""Hadoop's own jobs on its file system: TeraGen, TeraSort, TeraValidate, TestDFSIO, `-put` and
`-get`, each a script in `workloads/hdfs/`.

The load has as many shares as there are data nodes. The job of each runs in its node, beside the
data node and with its CPU, or all of them in the client (`jobs_on`). The window is work-boxed: from
the first task that begins, or the sampling before it, to the end of the last, by this computer's
clock. Hadoop has no transactions; what is counted is megabytes, and latency is not measured."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.errors import KeyPlace, LoadError, Mistake, require_none
from orchestrator.extensions.hadoop import pages
from orchestrator.facts import GeneratorFacts
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.load_generators.common.client import InClient
from orchestrator.load_generators.common.options import mistakes
from orchestrator.load_generators.common.program_output import complaint, ended_badly
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.metrics import measured
from orchestrator.model import Cluster, ClusterSpec, Node, Phase, Workload
from orchestrator.parts import ClientLoad, Result
from orchestrator.platforms import own_images
from orchestrator.powers import Completed, World
from orchestrator.system import at_once, clock, files
from orchestrator.units import format_seconds

_PLACES = ("nodes", "client")
_STEPS = shipped(__package__, "tera.yaml")
_BEGINS = re.compile("Starting task: |Sampling [0-9]+ splits|tierbench: begins")
_ENDS = re.compile("Finishing task: |tierbench: ends")
_SUMS = re.compile(r"^checksum\s+(\w+)$.*^CHECKSUM=(\d+)$", re.MULTILINE | re.DOTALL)
_LONGEST_LOAD_S = 24 * 3600.0
_LONGEST_SCAN_S = 3600.0
_LONGEST_COPYING_S = 5.0
_GRACE_S = 60.0
_ROW_BYTES = 100  # size of a row of TeraGen
_MB = 1_000_000
_FILE = "jobs.json"


class Tera(InClient):
    name = "tera"
    own_image = "hadoop"

    def loader_version(self, workload: Workload, world: World) -> str:
        """Returns a hash of all scripts."""
        return own_images.content_hash(world.root / "workloads" / "hdfs")

    scripts = loader_version

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        """UsageError if the workload does not fit the cluster."""
        refused: list[Mistake] = []
        if spec.client == "beside" and _place(workload) == "nodes":
            what = "counts with `jobs_on: client` alone"
            refused.append(Mistake("cluster.client", what))
        if _share_bytes(workload, spec.nodes) == 0:
            what = f"is not one file for each of {spec.nodes} nodes"
            refused.append(Mistake.at(KeyPlace("", ("dataset", "bytes")), what))
        title = f"{workload.name} cannot run on this cluster"
        require_none(refused, title, "correct these")

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        """Runs, on the nodes, the jobs whose output the workload reads."""
        for script in _STEPS[_step(workload)]["after"]:
            world.progress.step(f"loading {workload.dataset.family}: {script}")
            jobs = _Jobs(workload, script, cluster, world)
            jobs.run(jobs.nodes, _LONGEST_LOAD_S)

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        """LoadError if a job fails, its work is not done in `measure`, what it read is not what was
        written, or a block has not all its copies when it ends."""
        workload = load.workload
        cluster = load.cluster
        world = load.world
        step = _step(workload)
        jobs = _Jobs(workload, step, cluster, world)
        containers = jobs.nodes
        if _place(workload) == "client":
            containers = [load.client] * len(jobs.nodes)
        copied_before = _copied_blocks(cluster)
        # All of Java's start, and what a job does before its first task, is warm-up.
        start_s = world.clock.now()
        done = jobs.run(containers, workload.measure_s + _GRACE_S, load.out)
        measure = jobs.phase()
        if measure.end_s <= measure.start_s:
            raise LoadError(
                f"no task of {step} was seen to begin and end",
                advice="its output is among the raw files of the run",
                evidence=done[0].tail(),
            )
        took_s = measure.end_s - measure.start_s
        if took_s > workload.measure_s:
            raise LoadError(
                f"{workload.name} took {format_seconds(took_s)}: its work was not "
                "done within `measure`, so it has no rate",
                advice="give it a longer `measure`, or less `bytes`",
            )
        _require_copies(cluster, copied_before, world)
        facts: dict[str, Any] = {
            "payload_bytes": jobs.payload_bytes(),
            "jobs": len(done),
            "jobs_on": _place(workload),
        }
        if step == "scan":
            facts |= _checksums(done)
        files.write_json(load.out / _FILE, facts)
        return Phase("warm-up", start_s, measure.start_s), measure

    def verify(
        self, workload: Workload, cluster: Cluster, world: World
    ) -> Mapping[str, Any]:
        """Sorted rows are scanned: LoadError if their checksums are not those of the generator."""
        if _step(workload) != "sort":
            return {}
        jobs = _Jobs(workload, "scan", cluster, world)
        return _checksums(jobs.run(jobs.nodes, _LONGEST_SCAN_S))

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        noted = json.loads((out / _FILE).read_text(encoding="utf-8"))
        elapsed_s = end_s - start_s
        rate = noted["payload_bytes"] / elapsed_s
        figures = (
            measured("throughput_per_s", rate / _MB),
            measured("payload_bytes_per_s", rate),
            measured("elapsed_s", elapsed_s),
        )
        facts = GeneratorFacts(
            bytes_per_transaction=_MB,
            payload=_STEPS[_step(workload)]["payload"],
            ends_with_work=True,
            more={**noted, "latency": "not measured"},
        )
        return Result(figures, None, None, facts)


# ------------------------------------------------------------------ the jobs of all shares


@dataclass
class _Jobs:
    """A script's jobs, one for each data node, and when their tasks began and ended."""

    workload: Workload
    script: str
    cluster: Cluster
    world: World
    begun_s: list[float] = field(default_factory=list)
    ended_s: list[float] = field(default_factory=list)

    @property
    def nodes(self) -> list[Node]:
        return nodes_of_role(self.cluster.nodes, "database")

    def run(
        self, places: Sequence[Node], timeout_s: float, out: Path | None = None
    ) -> list[Completed]:
        """Runs all at once, in the containers of `places`, keeping in `out` what they say.
        LoadError if a job fails, NodeError if a server dies meanwhile."""
        container = self.world.platform.container
        script = self.world.root / "workloads" / "hdfs" / f"{self.script}.sh"
        command = ("bash", "-c", script.read_text(encoding="utf-8"))
        watch = []
        for node in self.cluster.nodes:
            if node.container:
                watch.append(container(node.container))
        environment = self._environment()

        def run(pair: tuple[Node, Node]) -> Completed:
            node, place = pair
            done = container(place.container or "").exec(
                command,
                env={**environment, "SHARE": node.name},
                timeout_s=timeout_s,
                on_line=self._line_seen,
                watch=watch,
            )
            self._keep(node.name, done, out)
            return done

        return at_once.each(run, zip(self.nodes, places, strict=True))

    def _keep(self, share: str, done: Completed, out: Path | None) -> None:
        """Keeps what a job has said. LoadError if it failed."""
        output = done.out + done.err
        if out:
            files.keep(out / f"{self.script}-{share}.log", output)
        if done.exit_code != 0:
            why = f": {complaint(output, 'Exception', 'ERROR')}"
            raise ended_badly(
                f"{self.script} of {share}", done.exit_code, why, done.tail()
            )

    def phase(self) -> Phase:
        """The phase from the first task that began to the last that ended; empty if no task was
        seen."""
        first_s = min(self.begun_s, default=0.0)
        last_s = max(self.ended_s, default=0.0)
        return Phase("measure", first_s, last_s)

    def payload_bytes(self) -> int:
        """The bytes of all shares together."""
        nodes = len(self.nodes)
        return nodes * _share_bytes(self.workload, nodes)

    def _environment(self) -> dict[str, str]:
        """What the script of each share is given."""
        parameters = self.workload.dataset.parameters
        share_bytes = _share_bytes(self.workload, len(self.nodes))
        return {
            "FOLDER": "",  # a store's environment has one of its own
            **self.cluster.handle.environment,
            "BYTES": str(share_bytes),
            "FILE_BYTES": str(parameters.get("file_size", 0)),
            "STREAMS": str(self.workload.threads),
        }

    def _line_seen(self, line: str) -> None:
        # This computer's clock times all jobs alike: the nodes' clocks may be apart.
        now_s = self.world.clock.now()
        if _BEGINS.search(line):
            self.begun_s.append(now_s)
            self.world.window_begins(now_s)  # the first call counts
        elif _ENDS.search(line):
            self.ended_s.append(now_s)


def _step(workload: Workload) -> str:
    return Path(workload.script).stem


def _place(workload: Workload) -> str:
    return str(workload.options.get("jobs_on", _PLACES[0]))


def _share_bytes(workload: Workload, nodes: int) -> int:
    """How many bytes each node has: whole rows of 100 bytes, or whole files."""
    parameters = workload.dataset.parameters
    piece_bytes = int(parameters.get("file_size", _ROW_BYTES))
    pieces = int(parameters["bytes"]) // nodes // piece_bytes
    return pieces * piece_bytes


def _copied_blocks(cluster: Cluster) -> int:
    """How many blocks data nodes have sent each other, because copies were lacking."""
    return sum(at_once.each(pages.copied_blocks, cluster.handle.data_nodes.values()))


def _require_copies(cluster: Cluster, copied_before: int, world: World) -> None:
    """LoadError unless each block has all its copies without having been repaired.

    `copied_before`: how many blocks data nodes had sent each other before the jobs.
    """
    # Only those who run a store know of its copies.
    if not cluster.handle.data_nodes:
        return
    # What data nodes have just written is known to the name node a moment later.
    lacking = partial(pages.lacking, cluster.handle.name_node)
    problem = clock.wait_while(
        lacking, deadline_s=_LONGEST_COPYING_S, clock=world.clock, every_s=0.5
    )
    # A write that had fewer copies was cheaper, although they are complete by now.
    repaired = _copied_blocks(cluster) - copied_before
    if repaired:
        state = problem or "and now all have theirs"
        problem = f"{repaired} blocks were copied again, {state}"
    if problem:
        raise LoadError(
            f"when the last job ended, not every block had all its copies: {problem}",
            advice=(
                "the run is void, because writes with fewer copies are cheaper. "
                "See the name node's log. Disks need room for all copies, and for "
                "one more block of each file"
            ),
        )


def _checksums(jobs: Sequence[Completed]) -> dict[str, Any]:
    """Checksums of the rows as they were read, share by share.

    LoadError if one is not the generator's.
    """
    checksums: list[str] = []
    for done in jobs:
        sums = _SUMS.search(done.out)
        read = 0
        generated = 1  # any number unlike `read`: without sums they differ
        if sums:
            read = int(sums[1], 16)
            generated = int(sums[2])
        if read != generated:
            what = f"their checksum is {read:x}, not {generated:x}"
            raise LoadError(
                f"the rows that were read are not those that were generated: {what}",
                advice="its output is among the raw files of the run",
                evidence=done.tail(),
            )
        checksums.append(f"{read:x}")
    return {"checksums": checksums}


def keys(script: str) -> dict[str, tuple[str, ...]]:
    """What a workload may have under `options` and `dataset`."""
    sizes = _STEPS.get(Path(script).stem, _STEPS["gen"])["dataset"]
    return {"options": ("jobs_on",), "dataset": tuple(sizes)}


def mistakes_in(workload: Workload) -> Iterator[tuple[str, str]]:
    parameters = workload.dataset.parameters
    taken = keys(workload.script)
    if _step(workload) not in _STEPS:
        yield "script", f"is one of {', '.join(_STEPS)} below hdfs/"
    yield from mistakes(workload, taken)
    if _place(workload) not in _PLACES:
        yield "options.jobs_on", f"is {' or '.join(_PLACES)}"
    for key in taken["dataset"]:
        size = parameters.get(key)
        if not isinstance(size, int) or size < _ROW_BYTES:
            yield f"dataset.{key}", f"is a number of bytes, {_ROW_BYTES} or more"


RULES = WorkloadRules(keys=keys, mistakes=mistakes_in, keeps_transactions=False)
