"""Names and labels of things of others that are like ours."""

from __future__ import annotations

from collections.abc import Iterator

NAMES = (
    *(
        "tierbench-of-others",
        "tierbench-test",
        "tierbenches",
        "my-tierbench-data",
        "tierbench-1",
    ),
    *(
        "tierbench-campaign-archive",
        "tierbench-standing-mine",
        "tierbench_1",
        "data",
        "node-1",
    ),
)
LABELS: tuple[dict[str, str], ...] = (
    *(
        {},
        {"tierbench-test": "1"},
        {"tierbench.campaign": "feed00"},
        {"tierbench.role": "disk"},
    ),
    *({"com.docker.compose.project": "tierbench"}, {"app": "tierbench"}),
)


def planted() -> Iterator[tuple[str, dict[str, str]]]:
    """Names with labels, each name another time with another label."""
    for number, name in enumerate(NAMES):
        yield name, LABELS[number % len(LABELS)]
