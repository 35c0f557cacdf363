"""BenchBase comes from a user's directory or from an image by its digest; a person is told how."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.extensions.benchbase import config, distribution
from orchestrator.extensions.benchbase.distribution import BenchBaseSource
from orchestrator.extensions.benchbase.generator import BenchBase
from orchestrator.platforms import own_images
from tests import ROOT
from tests.benchbase import SPEC, WORKLOAD, home
from tests.fakes import FakePlatform, QuietProgress, fake_world

IMAGE = f"registry.example/benchbase-postgres@sha256:{'84' * 32}"
SOURCE = BenchBaseSource(image=IMAGE)


def test_without_any_both_ways_to_get_it_are_named() -> None:
    with pytest.raises(UnavailableError) as caught:
        BenchBase().check(WORKLOAD, SPEC, fake_world())
    assert caught.value.exit_code == 69
    assert "BENCHBASE_HOME" in caught.value.advice
    assert "BENCHBASE_IMAGE to an image by its digest" in caught.value.advice
    assert "docs/WORKLOADS.md" in caught.value.advice


def test_an_image_is_pulled_once() -> None:
    engine = FakePlatform(registry=[IMAGE])
    BenchBase(SOURCE).check(WORKLOAD, SPEC, fake_world(platform=engine))
    BenchBase(SOURCE).check(WORKLOAD, SPEC, fake_world(platform=engine))
    assert engine.asked == [("pull", IMAGE)]


@pytest.mark.parametrize("tag", ["", ":latest", ":v2023", "@sha256:84"])
def test_an_image_without_its_digest_is_refused_and_not_pulled(tag: str) -> None:
    """Another program under the same tag would be compared with the one before."""
    image = f"registry.example/benchbase-postgres{tag}"
    engine = FakePlatform(images=[image], registry=[image])
    world = fake_world(platform=engine)
    with pytest.raises(UsageError, match="has no digest") as refused:
        BenchBase(BenchBaseSource(image=image)).check(WORKLOAD, SPEC, world)
    assert "docker inspect" in refused.value.advice and engine.asked == []


def test_variables_name_it_and_a_directory_comes_before_an_image() -> None:
    assert distribution.named({}) == BenchBaseSource()
    assert distribution.named({"BENCHBASE_IMAGE": IMAGE}) == SOURCE
    both = {"BENCHBASE_IMAGE": IMAGE, "BENCHBASE_HOME": "/opt/benchbase"}
    assert distribution.named(both) == BenchBaseSource(home=Path("/opt/benchbase"))


def test_an_image_that_is_emulated_is_told() -> None:
    """There may be no other: a warning, because the load is slower then, and still a load."""
    engine: Any = FakePlatform(images=[IMAGE])
    engine.images.architecture = "arm64"
    engine.images.built_for = {IMAGE: "amd64"}
    progress = QuietProgress()
    world = replace(fake_world(platform=engine), progress=progress)
    BenchBase(SOURCE).check(WORKLOAD, SPEC, world)
    assert any("built for amd64; the engine runs on arm64" in x for x in progress.said)


def test_what_is_here_is_told(tmp_path: Path) -> None:
    def told(source: BenchBaseSource, *images: str) -> str:
        platform = fake_world(platform=FakePlatform(images=images)).platform
        return distribution.whereabouts(source, platform)

    assert told(BenchBaseSource()).startswith(
        "not here; only GENERATOR=benchbase needs it"
    )
    assert told(SOURCE) == f"not here; GENERATOR=benchbase pulls {IMAGE}"
    assert told(SOURCE, IMAGE) == f"image {IMAGE}"
    here = home(tmp_path / "here")
    assert told(BenchBaseSource(here)) == f"in {here}"
    assert "does not hold benchbase.jar" in told(BenchBaseSource(tmp_path), IMAGE)


def test_another_image_means_another_data_set() -> None:
    other = IMAGE.replace("84", "85")
    world = fake_world(platform=FakePlatform(images=[IMAGE, other]))
    before = BenchBase(SOURCE).loader_version(WORKLOAD, world)
    assert (
        BenchBase(BenchBaseSource(image=other)).loader_version(WORKLOAD, world)
        != before
    )


def test_a_directory_is_put_into_our_java_runtime(tmp_path: Path) -> None:
    engine = FakePlatform(images=[IMAGE])
    generator = BenchBase(BenchBaseSource(home(tmp_path / "benchbase")))
    generator.check(WORKLOAD, SPEC, fake_world(platform=engine))
    assert engine.asked == [("build", own_images.tag(ROOT, "benchbase"), "Dockerfile")]
    with generator.client("net", fake_world(platform=engine)) as client:
        assert (client.container, client.process_id) == ("tierbench-client", 42)
    (spec,) = engine.specs.values()
    assert spec.image.startswith("tierbench/benchbase:")
    assert ("tierbench-client", str(tmp_path / "benchbase"), "/benchbase") in engine.put


def test_a_directory_that_holds_no_distribution_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UnavailableError, match=r"does not hold benchbase.jar, lib, config/plugin"
    ):
        BenchBase(BenchBaseSource(tmp_path)).check(WORKLOAD, SPEC, fake_world())


def test_another_program_means_another_data_set(tmp_path: Path) -> None:
    folder = home(tmp_path / "benchbase")
    before = BenchBase(BenchBaseSource(folder)).loader_version(WORKLOAD, fake_world())
    (folder / "benchbase.jar").write_bytes(b"another jar")
    assert (
        BenchBase(BenchBaseSource(folder)).loader_version(WORKLOAD, fake_world())
        != before
    )


@pytest.mark.parametrize(
    ("jar", "database", "driver"),
    [
        ("jdbc-yugabytedb-42.7.3-yb-4.jar", "yugabytedb", config.YUGABYTEDB),
        ("jdbc-yugabytedb-42.7.3-yb-4.jar", "postgresql", config.POSTGRESQL),
        ("postgresql-42.7.4.jar", "yugabytedb", config.POSTGRESQL),
    ],
)
def test_the_driver_of_yugabytedb_is_used_if_there_is_one(
    tmp_path: Path, jar: str, database: str, driver: config.JdbcDriver
) -> None:
    folder = home(tmp_path / "benchbase", jar)
    assert (
        distribution.find(BenchBaseSource(folder), database, fake_world()).driver
        == driver
    )
