"""Series of YugabyteDB that users run: until when they are supported, and their newest images."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from orchestrator.keys.strict_yaml import shipped

# Where YugabyteDB publishes its images.
REPOSITORY = "yugabytedb/yugabyte"
LONG_TERM = "long-term"
# So long before its end of life who starts a series is told: an upgrade takes a quarter to plan.
NEAR = timedelta(days=90)


@dataclass(frozen=True)
class ReleaseSeries:
    """One series, such as 2025.2. `newest`: the tag of its newest image that was seen."""

    name: str
    support: str
    released: date
    end_of_life: date
    newest: str


@cache
def series() -> tuple[ReleaseSeries, ...]:
    """All series of releases.yaml, the oldest first."""
    rows = shipped(__package__, "releases.yaml")["series"]
    listed: list[ReleaseSeries] = []
    for name, row in rows.items():
        listed.append(
            ReleaseSeries(
                name,
                row["support"],
                _date(row["released"]),
                _date(row["end_of_life"]),
                row["newest"],
            )
        )
    return tuple(listed)


def _date(value: object) -> date:
    return date.fromisoformat(str(value))


def newest_long_term() -> ReleaseSeries:
    """The series that a new cluster is best started with."""
    supported = [row for row in series() if row.support == LONG_TERM]
    return supported[-1]


def end_of_support(release: str, today: date) -> str:
    """That the series of a release is past its end of life, or near it, and which one is not;
    "" for any other, and for one that is not listed."""
    row = _series_of(release)
    if row is None or today + NEAR < row.end_of_life:
        return ""
    if row.end_of_life <= today:
        reaches = "has been past its end of life since"
    else:
        reaches = "reaches its end of life on"
    best = newest_long_term()
    return (
        f"YugabyteDB {row.name}, of which {release} is, {reaches} {row.end_of_life}; "
        f"{best.newest} is supported until {best.end_of_life}"
    )


def _series_of(release: str) -> ReleaseSeries | None:
    for row in series():
        if release.startswith(f"{row.name}."):
            return row
    return None


def tag_of(release: str) -> str | None:
    """The known tag of a release that is named without its build: `2025.2.6.0`."""
    for row in series():
        if row.newest.partition("-")[0] == release:
            return row.newest
    return None
