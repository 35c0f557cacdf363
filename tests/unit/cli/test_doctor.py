"""`tierbench doctor`: what it examines, and where its checklist runs.

Method: API servers in memory and engines that write down what they are asked, behind the real
platforms; of the checklist, the powers that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.cli.prepare import doctor
from orchestrator.databases.yugabytedb import checklist
from orchestrator.errors import UnavailableError
from orchestrator.model import ClusterSpec, Placing
from orchestrator.parts import CheckedFact
from orchestrator.platforms import own_images
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.platforms.docker.many import DockerMachines
from orchestrator.powers import Finding, PlatformAbilities, StorageClass, World
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.documented import existing_profiles
from tests.fake_cluster import FakeCluster
from tests.fake_engines import Engine
from tests.fakes import FakePlatform, FarMachine, Log, QuietProgress, fake_world
from tests.plans import profile_text

KUBERNETES = """platform: kubernetes
kubernetes:
  context: bench
  node_selector: {pool: bench}
  tolerations: [{key: bench, operator: Exists, effect: NoSchedule}]
"""
MACHINES = "machines: [vm1, vm2, 'tcp://vm3:2376']\nclient_machine: vm1\n"
OUR_IMAGES = [own_images.tag(ROOT, name) for name in own_images.OURS]
THEIRS = existing_profiles()[0]
PLACED = Placing(machines=("vm1", "vm2", "tcp://vm3:2376"), client_machine="vm1")


@pytest.fixture
def app(tmp_path: Path) -> CampaignApp:
    """The program with the platforms that there are."""
    return replace(
        CampaignApp(), cache=tmp_path / "cache", results=tmp_path / "results"
    )


@dataclass(frozen=True)
class Checking(CampaignApp):
    """One that writes down where it would work."""

    begun: list[Any] = field(default_factory=list)

    @contextmanager
    def at_work(self, *where: Any) -> Iterator[World]:
        self.begun.append(where)
        yield fake_world(Log(), self.cache)

    def first_run(
        self, spec: ClusterSpec, world: World, listen: Any = None
    ) -> Iterator[CheckedFact]:
        self.begun.append((spec.version, spec.settings.get("image")))
        yield from ()


@pytest.fixture
def profile(tmp_path: Path) -> Any:
    """Writes a profile that ends with these lines; returns its path."""

    def written(lines: str, tier: str = "{iops: 500, throughput: 10MB/s}") -> str:
        file = tmp_path / "mine.yaml"
        text = profile_text(tier, cluster="azure-d8s-v5")
        file.write_text(text.rstrip("\n") + "\n" + lines)
        return str(file)

    return written


@pytest.fixture
def clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, FakeCluster]]:
    """Two: "test", the current context, and "bench", which has one machine that is chosen."""
    both = {}
    for name in ("test", "bench"):
        (tmp_path / name).mkdir()
        both[name] = FakeCluster(tmp_path / name)
    chosen = both["bench"].things["/api/v1/nodes/vm-1"]
    chosen["metadata"]["labels"]["pool"] = "bench"
    chosen["spec"]["taints"] = [{"key": "bench", "effect": "NoSchedule"}]
    monkeypatch.setenv("KUBECONFIG", str(both["test"].kubeconfig(bench=both["bench"])))
    monkeypatch.setenv(
        "TIERBENCH_REGISTRY", "registry.example"
    )  # else images are waited for
    yield both
    for one in both.values():
        one.close()


@pytest.fixture
def engines(app: CampaignApp) -> tuple[CampaignApp, dict[str | None, Engine]]:
    """The program with engines of `machines`, and these by the word that the profile has for each.
    The first has our images."""
    made: dict[str | None, Engine] = {}

    def engine(clock: Any, name: str | None, *more: Any) -> Engine:
        made[name] = Engine(clock, name, *more)
        if len(made) == 1:
            made[name].here = set(OUR_IMAGES)
        return made[name]

    def connect(clock: Any, placing: Placing) -> Any:
        connected: Any = engine
        return DockerMachines(clock, placing, connected)

    return replace(app, platforms=lambda: {"docker": connect}), made


@pytest.fixture
def checking(tmp_path: Path) -> Checking:
    """A program whose checklist only writes down the version and the image that it examines."""
    return Checking(**vars(an_app(tmp_path)))


# ------------------------------------------------------------------ what is examined


def test_the_cluster_and_the_machines_of_a_profile_are_examined(
    app: CampaignApp,
    clusters: dict[str, FakeCluster],
    profile: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tierbench(app, "doctor", "--profile", profile(KUBERNETES))
    said = capsys.readouterr().out
    assert "context bench" in said and clusters["test"].calls == []
    assert "machine vm-1" in said and "machine vm-0" not in said


def test_without_a_profile_it_is_the_current_context(
    app: CampaignApp,
    clusters: dict[str, FakeCluster],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tierbench(app, "doctor", "--platform", "kubernetes")
    assert "context test" in capsys.readouterr().out and clusters["bench"].calls == []


def test_each_engine_of_a_profile_is_examined(
    engines: tuple[CampaignApp, dict[str | None, Engine]], profile: Any, capsys: Any
) -> None:
    """A campaign brings images of ours to those that lack them."""
    app, by_name = engines
    assert tierbench(app, "doctor", "--profile", profile(MACHINES)) == 0
    said = capsys.readouterr().out
    for name in ("vm1", "vm2", "tcp://vm3:2376"):
        assert f"Docker engine of {by_name[name].known_as}: version 29.1" in said
    assert f"open    image {OUR_IMAGES[0]}" in said
    assert "missing" not in said and "processors" not in said and "None" not in said


def test_an_image_for_another_architecture_is_missing_and_setup_builds_it() -> None:
    engine: Any = FakePlatform(images=[own_images.BASE, *OUR_IMAGES])
    engine.images.architecture = "arm64"
    engine.images.built_for = {OUR_IMAGES[0]: "amd64"}
    found = {
        one.subject: (one.ok, one.text) for one in doctor.examine_platform(engine, ROOT)
    }
    wrong = "is built for amd64; the engine runs on arm64"
    assert found[f"image {OUR_IMAGES[0]}"] == (False, wrong)
    assert found[f"image {OUR_IMAGES[1]}"] == (True, "there")
    for name in own_images.OURS:
        own_images.provide(ROOT, name, engine, QuietProgress())
    assert [call[1] for call in engine.asked] == [OUR_IMAGES[0]]


def test_an_engine_elsewhere_is_not_taken_for_this_machine(tmp_path: Path) -> None:
    """DOCKER_HOST names another computer: its disks are there."""

    @dataclass
    class Far(FakePlatform):
        machine: Any

        def __post_init__(self) -> None:
            super().__init__()

        def machines(self) -> tuple[Any, ...]:
            return (self.machine,)

        @property
        def abilities(self) -> PlatformAbilities:
            return PlatformAbilities(examine=self.examine)

        def examine(self) -> tuple[Finding, ...]:
            return (Finding("Docker engine", True, "far away"),)

    far = FarMachine(LocalMachine().facts())
    for machine, local in ((far, False), (LocalMachine(), True)):
        found = doctor.examine(an_app(tmp_path, Far(machine)))
        subjects = [one.subject for one in found]
        assert "Docker engine" in subjects
        assert ("processors" in subjects, "/dev/fuse" in subjects) == (local, local)


def test_images_are_brought_to_the_cluster_of_a_profile(
    app: CampaignApp, clusters: dict[str, FakeCluster], profile: Any
) -> None:
    """`setup` looks on the same machines as `doctor`."""
    engine: Any = FakePlatform(images=[own_images.BASE, *OUR_IMAGES])
    here = replace(
        app, platforms=lambda: {**app.platforms(), "docker": lambda *_: engine}
    )
    assert tierbench(here, "setup") == 0
    assert clusters["bench"].calls == engine.asked == []
    assert tierbench(here, "setup", "--profile", profile(KUBERNETES)) == 0
    assert engine.asked == [("push", tag, "registry.example") for tag in OUR_IMAGES]
    assert clusters["bench"].calls != [] and clusters["test"].calls == []
    hadoop = own_images.tag(ROOT, "hadoop")
    engine.images.here |= {hadoop: "sha256:1"}
    assert (
        tierbench(here, "setup", "--profile", profile(KUBERNETES), "--db", "hdfs") == 0
    )
    assert engine.asked[-1] == ("push", hadoop, "registry.example")


# ------------------------------------------------------------------ where the checklist runs


@pytest.mark.parametrize(
    ("lines", "words", "expected"),
    [
        (None, (), (None, None)),
        (None, ("--platform", "kubernetes"), ("kubernetes", None)),
        (MACHINES, (), (None, PLACED)),
        ("platform: kubernetes\n", (), ("kubernetes", None)),
        ("platform: kubernetes\n", ("--platform", "docker"), ("docker", None)),
    ],
)
def test_the_checklist_runs_where_it_is_asked_for(
    lines: str | None,
    words: tuple[str, ...],
    expected: Any,
    profile: Any,
    checking: Checking,
) -> None:
    named = () if lines is None else ("--profile", profile(lines))
    assert tierbench(checking, "doctor", "--db", "yugabytedb", *named, *words) == 0
    assert checking.begun == [expected, (None, None)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("version: 2.20.10.0-b29", ("2.20.10.0-b29", None)),
        (
            "settings_of: {yugabytedb: {smoke: {image: 'mine/yb:1'}}}",
            (None, "mine/yb:1"),
        ),
    ],
)
def test_the_checklist_examines_the_image_that_a_profile_runs(
    given: str, expected: Any, tmp_path: Path, checking: Checking
) -> None:
    cluster = (
        "{nodes: 3, replication_factor: 3, database: yugabytedb, "
        f"node: {{smoke: {{cpus: 2, memory: 4GiB, disk: 4GiB}}}}, {given}}}"
    )
    file = tmp_path / "mine.yaml"
    file.write_text(profile_text("{iops: 500, throughput: 10MB/s}", cluster=cluster))
    assert (
        tierbench(checking, "doctor", "--db", "yugabytedb", "--profile", str(file)) == 0
    )
    assert checking.begun[1] == expected


@pytest.mark.parametrize(
    ("lines", "words", "said"),
    [
        ("machines: [vm1, vm2]\n", ("--db", "yugabytedb"), "starts 3 nodes"),
        (
            MACHINES,
            ("--platform", "kubernetes"),
            "whose engines kubernetes does not have",
        ),
        (
            MACHINES,
            ("--platform", "kubernetes", "--db", "yugabytedb"),
            "whose engines kubernetes",
        ),
        (THEIRS, ("--db", "yugabytedb"), "an existing cluster"),
    ],
)
def test_what_cannot_run_there_is_refused_and_runs_nowhere(
    lines: str,
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    profile: Any,
    checking: Checking,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = profile(lines)
    if lines == THEIRS:
        Path(file).write_text(lines)
    assert tierbench(checking, "doctor", "--profile", file, *words) == 64
    assert said in capsys.readouterr().err.replace("\n", " ") and checking.begun == []


# ------------------------------------------------------------------ its disks, elsewhere


class Rents(FakePlatform):
    """A platform with storage classes. `placed`: where each volume was made."""

    name = "kubernetes"

    def __init__(self, *classes: StorageClass) -> None:
        super().__init__()
        self.classes, self.placed = classes, list[tuple[str, str]]()

    def storage_classes(self) -> tuple[StorageClass, ...]:
        return self.classes

    @property
    def abilities(self) -> PlatformAbilities:
        claims: Any = self
        return PlatformAbilities(claims=claims)

    @contextmanager
    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> Iterator[str]:
        self.placed.append((name.removeprefix(checklist.NETWORK), placement))
        yield name


class Silent:
    """A database whose nodes do not come up."""

    def check(self, *_: Any) -> None: ...

    def running(self, *_: Any) -> Any:
        raise UnavailableError("not here")


DEFAULT = StorageClass("standard", "a.driver", {}, True, is_default=True, retains=False)


def first_run(platform: Rents) -> None:
    database: Any = Silent()
    list(
        checklist.first_run(
            checklist.spec(), fake_world(platform=platform), database=database
        )
    )


def test_each_nodes_disk_is_made_where_the_node_runs() -> None:
    platform = Rents(DEFAULT)
    with pytest.raises(UnavailableError, match="not here"):
        first_run(platform)
    assert platform.placed == [
        ("-1", "node-1"), ("-2", "node-2"), ("-3", "node-3"), ("-tls", "node-1"),
    ]  # fmt: skip


def test_disks_that_end_with_their_pods_are_refused() -> None:
    """Else a second start from them would be "not confirmed", which is not the database's doing."""
    platform = Rents(replace(DEFAULT, is_default=False))
    with pytest.raises(UnavailableError, match="no default storage class"):
        first_run(platform)
    assert platform.placed == []
