"""Campaigns on rented volumes of the test cluster, each ended by kill -9: what goes by itself, and
after how long.

    python -m tests.faults.cluster_kills 40          kills 1 to 40; those that were made stay
    python -m tests.faults.cluster_kills 1 900       one, with TIERBENCH_RENT_S=900

The moments are spread over the whole life of a campaign, one drawn by its seed in each share of
it. No program of ours runs in a campaign's namespace afterwards: what was rented there has to go
within TIERBENCH_RENT_S and a beat, and nothing but the empty namespace may stay. Campaigns would
remove what others left, or be refused beside them: so one at a time is in a namespace that it
makes, and others are in namespaces that they are given, each as if started on a computer of its
own and on a machine of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import kubernetes

from orchestrator.cli.common.app import App
from orchestrator.cli.prepare import provision
from orchestrator.extensions.kubernetes import space
from orchestrator.platforms import own_images
from orchestrator.powers.guards import BEAT_S
from tests import CACHE, ROOT
from tests.cluster import leftovers, provisioner
from tests.cluster.cluster import Cluster, up
from tests.cluster.settings import FOLDER

KEPT = CACHE / "cluster-kills"
# Where campaigns take turns, each on a machine of its own; "": in a namespace of their own.
PLACES = {"": "node-0", "bench-1": "node-1", "bench-2": "node-2", "bench-3": "node-3"}
GIVEN = [name for name in PLACES if name]
LONGEST_STOP_S = 330.0  # how much longer than allowed is looked
# The lock that keeps campaigns of a computer apart is in a folder that others do not see.
OWN_LOCK = (
    *("unshare", "--mount", "--propagation", "slave", "sh", "-c"),
    'mount -t tmpfs -o mode=1777 tmpfs /run/lock && exec "$0" "$@"',
)
WORKLOADS = " ".join(
    str(ROOT / f"tests/integration/workloads/{name}.yaml")
    for name in ("short-insert", "short")
)
PROFILE = """\
question: does all that was rented go?
title: rented
platform: kubernetes
kubernetes: {NAMESPACEnode_selector: {kubernetes.io/hostname: MACHINE}}
tier: {enforcement: storage-class, storage_class: rented, size: 1GiB}
cluster:
  database: postgresql
  nodes: 1
  replication_factor: 1
  node: {smoke: {cpus: 1, memory: 192MiB, disk: 1GiB}}
"""
CLASS = {
    "metadata": {"name": "rented"},
    "provisioner": provisioner.NAME,
    "parameters": {"csi.storage.k8s.io/fstype": "xfs"},
    "volumeBindingMode": "WaitForFirstConsumer",
    "reclaimPolicy": "Delete",
}
SNAPSHOTS = {
    "apiVersion": "snapshot.storage.k8s.io/v1",
    "kind": "VolumeSnapshotClass",
    "metadata": {"name": "rented"},
    "driver": provisioner.NAME,
    "deletionPolicy": "Delete",
}
_SNAPSHOT_GROUP = ("snapshot.storage.k8s.io", "v1")
# What every namespace has by itself.
_OF_THE_CLUSTER = ("config map kube-root-ca.crt", "service account default")


@dataclass(frozen=True)
class Kill:
    """`share`: of a campaign's life; `doing`: what the campaign said last; `there`: what its
    namespace held at that moment; `gone_s`: after how long nothing of it was left, None if
    something is (`left`)."""

    seed: int
    namespace: str
    rent_s: int
    share: float
    moment_s: float
    has_struck: bool
    doing: str
    there: tuple[str, ...]
    gone_s: float | None
    left: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        return self.gone_s is not None and self.gone_s <= self.rent_s + BEAT_S


class Campaign:
    """A program that runs, with what it says and after how many seconds."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        self.begun_s = time.monotonic()
        self.said: list[tuple[float, str]] = []
        self.process = subprocess.Popen(
            [*OWN_LOCK, sys.executable, "-m", "orchestrator", *argv],
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "200", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self._listening = threading.Thread(target=self._listen)
        self._listening.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                self.said.append((time.monotonic() - self.begun_s, line.rstrip()))

    def end(self, within_s: float) -> float:
        """Waits for its end; returns how long it lived."""
        self.process.wait(within_s)
        lived_s = time.monotonic() - self.begun_s
        self._listening.join(10)
        return lived_s

    def says(self, text: str, times: int = 1) -> bool:
        """Waits until it has said a text so often. False if it ended before."""
        while self.process.poll() is None:
            if sum(text in line for _, line in self.said) >= times:
                return True
            time.sleep(0.05)
        return False

    @property
    def text(self) -> str:
        return "\n".join(line for _, line in self.said)


@dataclass(frozen=True)
class Whole:
    """A campaign that was left alone: how long it lived, and when it said each of its lines."""

    lived_s: float
    lines_s: tuple[float, ...]

    def come(self, share: float, campaign: Campaign) -> bool:
        """Waits until another campaign has come as far as this one at a share of its life: to the
        same line, and as long after it. False if it ended before."""
        at_s = share * self.lived_s
        before = [line_s for line_s in self.lines_s if line_s <= at_s]
        while campaign.process.poll() is None and len(campaign.said) < len(before):
            time.sleep(0.02)
        with contextlib.suppress(subprocess.TimeoutExpired):
            campaign.process.wait(at_s - max(before, default=0.0))
        return campaign.process.poll() is None


class Kills:
    """On one cluster."""

    def __init__(self, cluster: Cluster, rent_s: int) -> None:
        self._cluster, self._rent_s = cluster, rent_s
        self._core: Any = kubernetes.client.CoreV1Api(cluster.api)
        self._batch: Any = kubernetes.client.BatchV1Api(cluster.api)
        self._custom: Any = kubernetes.client.CustomObjectsApi(cluster.api)

    @contextlib.contextmanager
    def classes(self) -> Iterator[None]:
        """The owner's: a class of volumes, one of snapshots, and namespaces to be given."""
        storage: Any = kubernetes.client.StorageV1Api(self._cluster.api)
        group = (*_SNAPSHOT_GROUP, "volumesnapshotclasses")
        storage.create_storage_class(CLASS)
        self._custom.create_cluster_custom_object(*group, SNAPSHOTS)
        for name in GIVEN:
            self._core.create_namespace({"metadata": {"name": name}})
        try:
            yield
        finally:
            for name in GIVEN:
                self._core.delete_namespace(name)
            while {one.metadata.name for one in self._core.list_namespace().items} & {
                *GIVEN
            }:
                time.sleep(0.5)
            self._custom.delete_cluster_custom_object(*group, "rented")
            storage.delete_storage_class("rented")

    def whole(self, namespace: str = "") -> Whole:
        """AssertionError if a campaign does not end well that is left alone."""
        with tempfile.TemporaryDirectory() as folder:
            campaign = self._started(Path(folder), namespace)
            lived_s = campaign.end(900)
            assert campaign.process.returncode == 0, campaign.text[-4000:]
        left = self.rented(self._namespaces(namespace))
        assert not left, f"a campaign left {left}"
        return Whole(lived_s, tuple(after_s for after_s, _ in campaign.said))

    def drawn(self, seed: int, of: int, whole: Whole, namespace: str) -> Kill:
        """That of a seed: in its share of the life of a campaign."""
        share = (seed - 1 + random.Random(seed).random()) / of
        kill = self.made(namespace, lambda campaign: whole.come(share, campaign))
        return replace(kill, seed=seed, share=round(share, 3))

    def made(self, namespace: str, comes: Callable[[Campaign], bool]) -> Kill:
        """Kills a campaign when it `comes` to a moment, and waits until nothing of it is left."""
        with tempfile.TemporaryDirectory() as folder:
            campaign = self._started(Path(folder), namespace)
            struck = comes(campaign)
            campaign.process.kill()
            killed_s, moment_s = time.monotonic(), campaign.end(60)
        names = self._namespaces(namespace)
        there = tuple(self.rented(names))
        gone_s, left = self._waited(killed_s, lambda: self.rented(names))
        doing = campaign.said[-1][1].strip()[:200] if campaign.said else "starting"
        return Kill(
            *(0, namespace or "its own", self._rent_s, 0.0, round(moment_s, 1)),
            *(struck, doing, there, gone_s, tuple(left)),
        )

    def _started(self, folder: Path, namespace: str) -> Campaign:
        profile = folder / "rented.yaml"
        given = f"namespace: {namespace}, " if namespace else ""
        text = PROFILE.replace("NAMESPACE", given).replace("MACHINE", PLACES[namespace])
        profile.write_text(text)
        return Campaign(
            [
                *(
                    "compare",
                    "--profiles",
                    str(profile),
                    "--workloads",
                    WORKLOADS,
                    "--verbose",
                ),
                *("--scale", "smoke", "--repeats", "1", "--accept-inconclusive"),
                *("--results", str(folder / "results")),
            ],
            {
                "KUBECONFIG": str(self._cluster.kubeconfig),
                "TIERBENCH_CACHE": str(folder / "cache"),
                "TIERBENCH_RENT_S": str(self._rent_s),
            },
        )

    def _namespaces(self, given: str) -> list[str]:
        """The given one, or those that campaigns have made: one lives, the others are empty."""
        made = self._core.list_namespace(label_selector=space.MARK).items
        return [given] if given else [one.metadata.name for one in made]

    def _waited(
        self, since_s: float, left: Callable[[], list[str]]
    ) -> tuple[float | None, list[str]]:
        """After how many seconds nothing was left, or what is."""
        longest_s = self._rent_s + BEAT_S + LONGEST_STOP_S
        while (now := left()) and time.monotonic() < since_s + longest_s:
            time.sleep(1.0)
        return (None, now) if now else (round(time.monotonic() - since_s, 1), [])

    def rented(self, namespaces: list[str]) -> list[str]:
        """All that is in these namespaces, whoever made it, and the volumes of their claims."""
        found = []
        for name in namespaces:
            for kind, listing in (
                ("pod", self._core.list_namespaced_pod),
                ("claim", self._core.list_namespaced_persistent_volume_claim),
                ("secret", self._core.list_namespaced_secret),
                ("service", self._core.list_namespaced_service),
                ("config map", self._core.list_namespaced_config_map),
                ("service account", self._core.list_namespaced_service_account),
                ("job", self._batch.list_namespaced_job),
            ):
                found += [f"{kind} {one.metadata.name}" for one in listing(name).items]
            snapshots = self._custom.list_namespaced_custom_object(
                *_SNAPSHOT_GROUP, name, "volumesnapshots"
            )
            found += [
                f"snapshot {one['metadata']['name']}" for one in snapshots["items"]
            ]
        for volume in self._core.list_persistent_volume().items:
            if volume.spec.claim_ref and volume.spec.claim_ref.namespace in namespaces:
                found.append(f"volume {volume.metadata.name}")
        return [one for one in found if one not in _OF_THE_CLUSTER]

    def cleaned(self) -> list[str]:
        """What is still on the cluster or of its disks after `tierbench clean`."""
        words = ("clean", "--yes", "--platform", "kubernetes")
        with tempfile.TemporaryDirectory() as cache:
            environment = {
                "KUBECONFIG": str(self._cluster.kubeconfig),
                "TIERBENCH_CACHE": cache,
            }
            cleaning = Campaign(words, environment)
            cleaning.end(600)
        code = cleaning.process.returncode
        left = [] if code == 0 else [f"clean: exit {code}: {cleaning.text[-1000:]}"]
        left += [f"namespace {name}" for name in self._namespaces("")]
        left += [
            f"volume {v.metadata.name}"
            for v in self._core.list_persistent_volume().items
        ]
        return left + [f"disk {file.name}" for file in (FOLDER / "disks").glob("*")]


@contextlib.contextmanager
def on_a_cluster(rent_s: int) -> Iterator[Kills]:
    provision.provide(App(cache=CACHE))
    cluster = up(len(PLACES))
    try:
        cluster.load(
            own_images.BASE, *(own_images.tag(ROOT, one) for one in own_images.OURS)
        )
        kills = Kills(cluster, rent_s)
        with kills.classes():
            yield kills
    finally:
        cluster.down()


def _kept(rent_s: int) -> tuple[Path, dict[int, Kill]]:
    """The file of the kills of this revision, and those that have been made."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{done.stdout.strip()}-{rent_s}.jsonl"
    lines = file.read_text().splitlines() if file.is_file() else []
    kills = (Kill(**json.loads(line)) for line in lines)
    return file, {one.seed: one for one in kills}


def main(of: int, rent_s: int = 60) -> int:
    """Makes the kills that have not been made yet; the exit code says whether all went well."""
    file, known = _kept(rent_s)
    todo: SimpleQueue[int] = SimpleQueue()
    for seed in range(1, of + 1):
        if seed not in known:
            todo.put(seed)
    telling = threading.Lock()

    def take_turns(namespace: str) -> None:
        with contextlib.suppress(Empty):
            while True:
                kill = kills.drawn(todo.get_nowait(), of, whole, namespace)
                with telling, file.open("a") as lines:
                    lines.write(json.dumps(asdict(kill)) + "\n")
                    known[kill.seed] = kill
                    _tell(kill, list(known.values()), of)

    if not todo.empty():
        with on_a_cluster(rent_s) as kills:
            whole = kills.whole()
            print(
                f"a campaign that is left alone lives for {whole.lived_s:.0f} s",
                flush=True,
            )
            with ThreadPoolExecutor(len(PLACES)) as slots:
                for turn in [slots.submit(take_turns, one) for one in PLACES]:
                    turn.result()
            left = kills.cleaned()
        left += leftovers.found()
        print(f"left after `clean`: {left or 'nothing'}")
        return 1 if left or not all(one.is_well for one in known.values()) else 0
    return 0 if all(one.is_well for one in known.values()) else 1


def _tell(kill: Kill, made: list[Kill], of: int) -> None:
    if not kill.is_well:
        print(json.dumps(asdict(kill), indent=2))
    slowest_s = max((one.gone_s or 0.0) for one in made)
    print(
        f"{len(made)} of {of} killed, {sum(one.has_struck for one in made)} alive; all gone within "
        f"{kill.rent_s + BEAT_S:g} s after {sum(one.is_well for one in made)}, the slowest after "
        f"{slowest_s:g} s; {kill.seed}: at {kill.moment_s:g} s ({kill.doing[-60:]}), held "
        f"{len(kill.there)}, gone after {kill.gone_s} s",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:] or ["40"])))
