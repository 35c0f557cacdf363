"""Content of shipped files with places for values."""

from typing import Any

import pytest

from orchestrator.keys.shipped_yaml import filled

CONTENT = {"kind": "Pod", "name": "$name", "spec": {"command": ["sh", "$word"]}}


def test_values_stand_where_the_file_names_them() -> None:
    assert filled(CONTENT, {"name": "a", "word": {"x": 1}}) == {
        "kind": "Pod",
        "name": "a",
        "spec": {"command": ["sh", {"x": 1}]},
    }


@pytest.mark.parametrize("values", [{}, {"only": None}])
def test_what_has_no_value_is_left_out_with_all_that_has_nothing_else(
    values: Any,
) -> None:
    content = {"a": 1, "b": {"c": ["$only", {"d": "$only"}]}, "e": ["$only", "f"]}
    assert filled(content, values) == {"a": 1, "e": ["f"]}
    assert filled({"b": ["$only"]}, values) is None


def test_a_value_that_stands_twice_is_not_one_object() -> None:
    twice = filled({"requests": "$of", "limits": "$of"}, {"of": {"cpu": "1"}})
    assert twice["requests"] == twice["limits"]
    assert twice["requests"] is not twice["limits"]
