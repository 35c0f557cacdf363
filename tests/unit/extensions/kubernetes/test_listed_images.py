"""A machine of a cluster lists at most 50 images: one that lists so many may have others."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.extensions.kubernetes import pods


def machine(images: int) -> dict[str, Any]:
    listed = [{"names": [f"docker.io/library/image:{n}"]} for n in range(images)]
    return {"status": {"images": listed}}


@pytest.mark.parametrize(
    ("images", "tag", "may_have"),
    [
        (0, "image:3", False),
        (10, "image:3", True),
        (10, "image:11", False),
        (49, "image:50", False),
        (50, "image:51", True),
    ],
)
def test_an_image_that_is_not_listed_may_be_there_where_the_list_is_full(
    images: int, tag: str, may_have: bool
) -> None:
    assert pods._may_have(machine(images), tag) is may_have
