"""The client: what it is told of TLS, and that it notices when its program is gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.errors import NodeError, RunError, UsageError
from orchestrator.extensions.benchbase import config
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.common import client, options
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import (
    TLS_IF_OFFERED,
    Cluster,
    Endpoint,
    Node,
    Phase,
    Tls,
    Workload,
)
from orchestrator.parts import ClientLoad, LoadAbilities, Recorded, Result, SplitLoad
from orchestrator.powers import NETWORK_OF, World
from orchestrator.run.clients import several_clients
from orchestrator.run.clients.client_clocks import compare_clocks
from orchestrator.system.clock import SystemClock, wait_until
from tests.clients_elsewhere import CLIENTS, CLUSTER, Elsewhere
from tests.fakes import FakePlatform, fake_world
from tests.plans import a_workload

FULL = Tls("verify-full", "/etc/ca.crt")


class AnImage(Sysbench):
    """Its image is there."""

    def client_image(self, world: World) -> tuple[str, Mapping[str, Path]]:
        return "image", {}


def cluster(tls: Tls, *ports: int) -> Cluster:
    endpoints = tuple(
        Endpoint(f"10.0.0.1{k}", port, port, "bench", "s3cret", "bench", tls=tls)
        for k, port in enumerate(ports or (5432,), start=1)
    )
    return Cluster("postgresql", "17", (), endpoints, "net")


@pytest.mark.parametrize(
    ("tls", "environment", "options"),
    [
        (TLS_IF_OFFERED, {"PGSSLMODE": "prefer"}, ["sslmode=prefer"]),
        (Tls("off"), {"PGSSLMODE": "disable"}, ["sslmode=disable"]),
        (FULL, {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": "/tls/root.crt"},
         ["sslmode=verify-full", "sslrootcert=/tls/root.crt"]),
        (Tls("require", None, "/c", "/k"),
         {"PGSSLMODE": "require", "PGSSLCERT": "/tls/client.crt", "PGSSLKEY": "/tls/client.key"},
         ["sslmode=require"]),
    ],
)  # fmt: skip
def test_every_program_in_it_encrypts_and_verifies_as_the_cluster_says(
    tls: Tls, environment: dict[str, str], options: list[str], tmp_path: Path
) -> None:
    engine = FakePlatform()
    world = fake_world(platform=engine)
    with AnImage().client("net", world, tls) as node:
        client.run_in_client(node, ["sysbench"], cluster(tls), world, timeout_s=1)
    assert engine.environments == [{"PGPASSWORD": "s3cret", **environment}]
    files = {source for _, source, _ in engine.put} - {str(world.root / "workloads")}
    assert files == {file for file in (tls.root, tls.certificate, tls.key) if file}
    assert client.jdbc_options(tls) == options


def test_a_client_in_the_network_of_a_node_is_on_the_machine_of_the_first() -> None:
    world = fake_world(platform=(engine := FakePlatform()))
    for network, place in (("net", "client-1"), (f"{NETWORK_OF}run-node-1", "node-1")):
        with AnImage().client(network, world, TLS_IF_OFFERED):
            spec = engine.specs[f"{world.scope}-client"]
            assert (spec.network, spec.placement) == (network, place)


@pytest.mark.parametrize("broken", [False, True])
def test_raw_output_is_fetched_when_its_command_has_ended(
    broken: bool, tmp_path: Path
) -> None:
    """Also of one that failed, whose error is then the one that is raised."""

    class Engine(FakePlatform):
        def exec(self, container: str, argv: Sequence[str], **options: Any) -> Any:
            if broken:
                raise NodeError("node-1 died in the middle of the run")
            return super().exec(container, argv, **options)

        def fetch(self, container: str, folder: str, target: Path) -> None:
            super().fetch(container, folder, target)
            raise RunError("the connection ended")

    engine = Engine()
    world = fake_world(platform=engine)
    said = "node-1 died" if broken else "the connection ended"
    with pytest.raises(RunError, match=said):
        client.run_in_client(
            CLIENTS[0], ["x"], cluster(FULL), world, timeout_s=1, out=tmp_path
        )
    assert engine.fetched == [("t-client-1", "/out", tmp_path)]


def test_benchbase_verifies_too() -> None:
    url = config._url(cluster(FULL), config.POSTGRESQL)
    assert url.endswith("&sslmode=verify-full&sslrootcert=/tls/root.crt")


def test_hosts_with_their_own_ports_reach_the_workloads() -> None:
    assert "--pgsql-host=10.0.0.11:6000,10.0.0.12:6001" in options.connection(
        cluster(FULL, 6000, 6001).endpoints
    )
    assert "--pgsql-host=10.0.0.11,10.0.0.12" in options.connection(
        cluster(FULL, 6000, 6000).endpoints
    )


def test_its_heartbeat_beats_as_long_as_it_is_up() -> None:
    engine = FakePlatform()
    with client._beating("a-client", fake_world(platform=engine), every_s=0.01):
        assert wait_until(
            lambda: bool(engine.talks) and engine.talks[0].sent[:3] == ["1", "2", "3"],
            deadline_s=30,
            clock=SystemClock(),
        )
    assert engine.talks[0].container == "a-client"


def test_a_heartbeat_that_fails_goes_on_and_is_named_where_the_run_fails() -> None:
    class Odd(FakePlatform):
        def conversation(self, container: str, argv: Sequence[str]) -> Any:
            self.asked.append(("talk", container))
            raise AttributeError("'NoneType' object has no attribute 'read'")

    engine = Odd()
    with (
        pytest.raises(RunError, match="it has ended") as failed,
        client._beating("a-client", fake_world(platform=engine), every_s=0.01),
    ):
        again = wait_until(
            lambda: len(engine.asked) > 2, deadline_s=30, clock=SystemClock()
        )
        raise RunError("it has ended" if again else "the heartbeat was given up")
    (note,) = failed.value.__notes__
    assert note.startswith(
        "a-client's heartbeat could not be sent: AttributeError: 'NoneType'"
    )


def test_it_is_told_for_how_long_it_may_outlive_its_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = FakePlatform()
    for text, lease in ((None, "60"), ("3", "3")):
        if text:
            monkeypatch.setenv(client.LEASE_VARIABLE, text)
        with AnImage().client("net", fake_world(platform=engine), TLS_IF_OFFERED):
            assert engine.specs["tierbench-client"].environment == {"LEASE_S": lease}
    monkeypatch.setenv(client.LEASE_VARIABLE, "soon")
    too_odd = AnImage().client("net", fake_world(platform=engine))
    with pytest.raises(UsageError, match="TIERBENCH_LEASE_S is 'soon'"), too_odd:
        pass


# ------------------------------------------------------------------ clients on other machines


def test_the_clock_of_a_client_is_known_to_half_the_shortest_round_trip() -> None:
    platform = Elsewhere(ahead_s={"t-client-1": 2.5})
    world = fake_world(platform=platform, clock=platform.clock)
    offset = compare_clocks(CLIENTS[0], world)
    assert offset is not None
    assert offset.offset_s == pytest.approx(2.5, abs=1e-6)
    assert offset.within_s == pytest.approx(0.001)
    assert offset.shift_s == offset.offset_s
    same = compare_clocks(CLIENTS[1], world)
    assert same is not None and same.shift_s == 0.0


def test_a_client_without_a_usable_date_has_no_known_clock() -> None:
    class Short(Elsewhere):
        @contextmanager
        def conversation(self, container: str, argv: Sequence[str]) -> Iterator[Any]:
            yield Said()

    class Said:
        def send(self, line: str) -> None: ...

        def receive(self, timeout_s: float) -> str:
            return "1763827200.%N"

    assert compare_clocks(CLIENTS[0], fake_world(platform=Short())) is None
    assert compare_clocks(CLIENTS[0], fake_world()) is None  # does not answer at all


class Far(Elsewhere):
    def folder(self, cache: Path) -> Path:
        return Path("/var/lib/tierbench")


class Alone:
    """A load generator with one client, which measures for 5 s by the clock it is given."""

    name = "sysbench"
    recorded = pd.DataFrame({"start_s": [1101.5, 1102.0]})

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        now_s = load.world.clock.now()
        load.world.window_begins(now_s + 1)
        return Phase("warm-up", now_s, now_s + 1), Phase(
            "measure", now_s + 1, now_s + 6
        )

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> tuple[str, float]:
        return "read as it is", start_s

    @property
    def abilities(self) -> LoadAbilities:
        return LoadAbilities(
            split_load=SplitLoad(self.records, self.merged, self.result)
        )

    def records(self, out: Path) -> tuple[Any, GeneratorFacts]:
        return self.recorded, GeneratorFacts(recorded_transactions=2, began_s=1101.0)

    def merged(self, several: Sequence[Any], shifts_s: Sequence[float]) -> Any:
        return pd.concat(
            [one - shift_s for one, shift_s in zip(several, shifts_s, strict=True)]
        )

    def result(
        self, workload: Workload, left: Recorded, start_s: float, end_s: float
    ) -> Result:
        records, facts = left
        return Result((), None, [records], facts)


def test_the_clock_of_the_only_client_is_compared_if_it_is_elsewhere(
    tmp_path: Path,
) -> None:
    platform, windows = Far(ahead_s={"t-client": 100.0}), list[float]()
    world = fake_world(platform=platform, clock=platform.clock)
    world = replace(world, window_begins=windows.append)
    generator: Any = Alone()
    client = Node("client", "client", "t-client")
    load = ClientLoad(a_workload(), CLUSTER, client, tmp_path, world)
    warmup, measure = several_clients.run(generator, load, [client])
    began_s = warmup.start_s
    assert began_s == pytest.approx(platform.clock.now(), abs=1.0), (
        "by this computer's clock"
    )
    assert windows == [measure.start_s] and measure.duration_s == pytest.approx(5.0)
    result = several_clients.read(
        generator, a_workload(), tmp_path, measure.start_s, measure.end_s
    )
    (table,) = result.latencies or ()
    assert table["start_s"].tolist() == [pytest.approx(1001.5), pytest.approx(1002.0)]
    (note,) = result.facts.clients.values()
    for when in ("clock_offset_s", "clock_offset_after_s", "shifted_s"):
        assert note[when] == pytest.approx(100.0)
    assert note["recorded_transactions"] == 2 and note["began_s"] == pytest.approx(
        1001.0
    )


def test_a_client_here_has_the_clock_of_this_computer(tmp_path: Path) -> None:
    platform = Elsewhere(ahead_s={"t-client": 100.0})
    world = fake_world(platform=platform, clock=platform.clock)
    generator: Any = Alone()
    client = Node("client", "client", "t-client")
    load = ClientLoad(a_workload(), CLUSTER, client, tmp_path, world)
    before_s = platform.clock.now()
    warmup, measure = several_clients.run(generator, load, [client])
    assert warmup.start_s == before_s == platform.clock.now(), "nothing was asked"
    assert not list(tmp_path.iterdir())
    read: Any = several_clients.read(
        generator, a_workload(), tmp_path, measure.start_s, 9.0
    )
    assert read == ("read as it is", measure.start_s)


def test_a_generator_that_keeps_no_records_is_read_as_it_is(tmp_path: Path) -> None:
    class Totals:
        name, run, abilities = "sysbench-stock", Alone.run, LoadAbilities()

        def read(self, *_: Any) -> Result:
            return Result((), None, None, GeneratorFacts(version="1.0.20"))

    platform = Far(ahead_s={"t-client": 100.0})
    world = fake_world(platform=platform, clock=platform.clock)
    generator: Any = Totals()
    client = Node("client", "client", "t-client")
    load = ClientLoad(a_workload(), CLUSTER, client, tmp_path, world)
    _, measure = several_clients.run(generator, load, [client])
    facts = several_clients.read(
        generator, a_workload(), tmp_path, measure.start_s, 9e9
    ).facts
    assert facts.version == "1.0.20" and facts.clients["client"]["shifted_s"] == 0.0
    assert facts.clients["client"]["clock_offset_s"] == pytest.approx(100.0)


def test_each_client_has_a_placement_and_a_folder_of_its_own(tmp_path: Path) -> None:
    platform = FakePlatform()
    generator: Any = AnImage()
    world = fake_world(platform=platform)
    with several_clients.running(
        generator, 2, "net", tmp_path, world, TLS_IF_OFFERED
    ) as clients:
        assert [client.name for client in clients] == ["client-1", "client-2"]
    for name in ("client-1", "client-2"):
        spec = platform.specs[f"tierbench-{name}"]
        assert spec.placement == name and (tmp_path / name).is_dir()
    with several_clients.running(
        generator, 1, "net", tmp_path, world, TLS_IF_OFFERED
    ) as (only,):
        assert only.name == "client"
    assert platform.specs["tierbench-client"].placement == "client-1"
