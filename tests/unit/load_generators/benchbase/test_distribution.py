"""BenchBase comes from a user's directory or from its official image; a person is told how."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.load_generators.benchbase import BenchBase, config, distribution
from orchestrator.platforms import own_images
from tests import ROOT
from tests.benchbase import SPEC, WORKLOAD, home
from tests.fakes import FakePlatform, fake_world


def test_without_any_both_ways_to_get_it_are_named() -> None:
    with pytest.raises(UnavailableError) as caught:
        BenchBase().check(WORKLOAD, SPEC, fake_world())
    assert caught.value.exit_code == 69
    assert "docker pull benchbase.azurecr.io/benchbase-postgres" in caught.value.advice
    assert "BENCHBASE_HOME" in caught.value.advice


def test_the_official_image_is_pulled_once() -> None:
    engine = FakePlatform(registry=[distribution.OFFICIAL_IMAGE])
    BenchBase().check(WORKLOAD, SPEC, fake_world(platform=engine))
    BenchBase().check(WORKLOAD, SPEC, fake_world(platform=engine))
    assert engine.asked == [("pull", distribution.OFFICIAL_IMAGE)]


def test_what_is_here_is_told(tmp_path: Path) -> None:
    def told(home: Path | None, *images: str) -> str:
        return distribution.whereabouts(
            home, fake_world(platform=FakePlatform(images=images)).platform
        )

    assert told(None).startswith("not here")
    image = distribution.OFFICIAL_IMAGE
    assert told(None, image).endswith(f"id of {image}")
    assert told(home(tmp_path / "here"), image) == f"in {tmp_path / 'here'}"
    assert "does not hold benchbase.jar" in told(tmp_path, image)


def test_another_image_of_the_same_tag_means_another_data_set() -> None:
    engine = FakePlatform(images=[distribution.OFFICIAL_IMAGE])
    before = BenchBase().loader_version(WORKLOAD, fake_world(platform=engine))
    engine.images.here[distribution.OFFICIAL_IMAGE] = "another id"
    assert BenchBase().loader_version(WORKLOAD, fake_world(platform=engine)) != before


def test_a_directory_is_put_into_our_java_runtime(tmp_path: Path) -> None:
    engine = FakePlatform(images=[distribution.OFFICIAL_IMAGE])
    generator = BenchBase(home(tmp_path / "benchbase"))
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
        BenchBase(tmp_path).check(WORKLOAD, SPEC, fake_world())


def test_another_program_means_another_data_set(tmp_path: Path) -> None:
    folder = home(tmp_path / "benchbase")
    before = BenchBase(folder).loader_version(WORKLOAD, fake_world())
    (folder / "benchbase.jar").write_bytes(b"another jar")
    assert BenchBase(folder).loader_version(WORKLOAD, fake_world()) != before


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
    assert distribution.find(folder, database, fake_world()).driver == driver
