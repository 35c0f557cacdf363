"""`tierbench run ultra tpcc`, and the same by options."""

from __future__ import annotations

import pytest

from orchestrator.cli.options import ProfileWorkload, profile_and_workload
from orchestrator.errors import UsageError


@pytest.mark.parametrize(
    ("names", "profile", "workload"),
    [
        (["ultra", "tpcc"], None, None),
        (["ultra"], None, "tpcc"),
        (["tpcc"], "ultra", None),
        ([], "ultra", "tpcc"),
    ],
)
def test_a_run_is_named_by_words_or_by_options(
    names: list[str], profile: str | None, workload: str | None
) -> None:
    asked = profile_and_workload(names, profile, workload)
    assert asked == ProfileWorkload("ultra", "tpcc")


@pytest.mark.parametrize(
    ("names", "profile", "workload"),
    [
        (["ultra"], None, None),
        ([], None, "tpcc"),
        (["ultra", "tpcc"], "premium", None),
        (["ultra", "tpcc"], None, "insert"),
    ],
)
def test_too_few_or_too_many_names_are_refused_with_the_form(
    names: list[str], profile: str | None, workload: str | None
) -> None:
    with pytest.raises(UsageError, match="one profile and one workload") as refused:
        profile_and_workload(names, profile, workload)
    assert "tierbench run ultra tpcc" in refused.value.advice
