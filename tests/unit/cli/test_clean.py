"""`tierbench clean`: where it looks."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import main, outside
from orchestrator.model import Placing
from orchestrator.run import datasets
from tests.plans import profile_text
from tests.refused_profiles import cluster_text
from tests.standing import Place


@pytest.mark.parametrize(
    ("with_profile", "expected"),
    [(False, (None, None)), (True, (None, Placing(machines=("vm1",), client_machine="vm2")))],
)
def test_it_cleans_the_machines_of_a_profile(
    with_profile: bool, expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, asked = Place(tmp_path), []

    def powers(_root: Any, _cache: Any, _progress: Any, *where: Any) -> Any:
        asked.append(where)
        return nullcontext((place.world, place.engine))

    monkeypatch.setattr(outside, "powers", powers)
    monkeypatch.setattr(outside, "alone", lambda _engine: nullcontext())
    monkeypatch.setattr(datasets, "forget", lambda _world: ())
    profile = tmp_path / "mine.yaml"
    text = profile_text("{iops: 500, throughput: 10MB/s}", cluster=cluster_text())
    profile.write_text(text.rstrip("\n") + "\nmachines: [vm1]\nclient_machine: vm2\n")
    words = ["clean", *(["--profile", str(profile)] if with_profile else [])]
    assert main._guarded(lambda: main.app(words, standalone_mode=False)) == 0
    assert asked == [expected]
