"""`tierbench run ultra tpcc`, and the same by options."""

from __future__ import annotations

import pytest

from orchestrator.cli.common.options import ProfileWorkload, profile_and_workload
from orchestrator.errors import UsageError


@pytest.mark.parametrize(
    ("names", "profiles", "workloads"),
    [
        (["ultra", "tpcc"], [], []),
        (["ultra"], [], ["tpcc"]),
        (["tpcc"], ["ultra"], []),
        ([], ["ultra"], ["tpcc"]),
    ],
)
def test_a_run_is_named_by_words_or_by_options(
    names: list[str], profiles: list[str], workloads: list[str]
) -> None:
    asked = profile_and_workload(names, profiles, workloads)
    assert asked == ProfileWorkload("ultra", "tpcc")


@pytest.mark.parametrize(
    ("names", "profiles", "workloads"),
    [
        (["ultra"], [], []),
        ([], [], ["tpcc"]),
        (["ultra", "tpcc"], ["premium"], []),
        (["ultra", "tpcc"], [], ["insert"]),
        ([], ["premium", "ultra"], ["tpcc"]),
    ],
)
def test_too_few_or_too_many_names_are_refused_with_the_form(
    names: list[str], profiles: list[str], workloads: list[str]
) -> None:
    with pytest.raises(UsageError, match="one profile and one workload") as refused:
        profile_and_workload(names, profiles, workloads)
    assert "tierbench run ultra tpcc" in refused.value.advice
