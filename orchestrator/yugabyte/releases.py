"""Series of YugabyteDB that users run: until when they are supported, and their newest images."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from orchestrator.keys.shipped_yaml import shipped

# The place where YugabyteDB publishes its images.
REPOSITORY = "yugabytedb/yugabyte"
LONG_TERM = "long-term"
# The time before its end of life when a user who starts a series is told. An upgrade takes a
# quarter to plan.
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
        released = _date(row["released"])
        end_of_life = _date(row["end_of_life"])
        listed.append(
            ReleaseSeries(
                name=name,
                support=row["support"],
                released=released,
                end_of_life=end_of_life,
                newest=row["newest"],
            )
        )
    return tuple(listed)


def _date(value: object) -> date:
    return date.fromisoformat(str(value))


def newest_long_term() -> ReleaseSeries:
    """The series that a new cluster is best started with."""
    long_term = [row for row in series() if row.support == LONG_TERM]
    return long_term[-1]


def end_of_support(release: str, today: date) -> str:
    """A sentence if the series of a release is past its end of life, or near it; else "".

    The sentence names a supported series. A release that is not listed gets a sentence if it is
    older than the newest listed release. It may be a preview, or have ended long ago.
    """
    row = _series_of(release)
    if row is None:
        if _is_newer_than_listed(release):
            return ""
        what = f"YugabyteDB {release} is in no series that is known to be supported"
    elif today + NEAR < row.end_of_life:
        return ""
    elif row.end_of_life <= today:
        since = f"has been past its end of life since {row.end_of_life}"
        what = f"YugabyteDB {row.name}, of which {release} is, {since}"
    else:
        ends = f"reaches its end of life on {row.end_of_life}"
        what = f"YugabyteDB {row.name}, of which {release} is, {ends}"
    best = newest_long_term()
    return f"{what}; {best.newest} is supported until {best.end_of_life}"


def _is_newer_than_listed(release: str) -> bool:
    """Series that are named by their year come after all that begin with 2."""
    newest = series()[-1].name
    return _first_two(release) > _first_two(newest)


def _first_two(name: str) -> tuple[int, int]:
    """The numbers by which a series is named: of `2025.2.6.0` 2025 and 2."""
    parts = name.split(".")
    return int(parts[0]), int(parts[1])


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
