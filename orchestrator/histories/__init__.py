"""Histories: what other programs have kept of a disk's counters → its demand. One file each, and
one line here."""

from collections.abc import Callable, Mapping, Sequence

from orchestrator.analysis.observed.demand import Demand
from orchestrator.errors import UNREADABLE, UsageError
from orchestrator.histories import azure_monitor, cloudwatch, counters_csv, iostat, sadf
from orchestrator.histories import prometheus as prometheus

Reader = Callable[[str, str, str], Sequence[Demand]]  # text, node, device → of each disk
# `node` and `device` name what the text does not name; devices that it names are all read.
FORMATS: Mapping[str, Reader] = {
    "sadf": sadf.read,
    "iostat": iostat.read,
    "csv": counters_csv.read,
    "azure": azure_monitor.read,
    "cloudwatch": cloudwatch.read,
}
_MARKS = {"sadf": '"disk-device"', "iostat": '"disk_device"', "csv": counters_csv.FIRST}
_MARKS |= {"azure": '"timeseries"', "cloudwatch": '"MetricDataResults"'}


def read(file: str, text: str, form: str | None, node: str, device: str) -> list[Demand]:
    """The disks of a file. UsageError if it has no known form, or not the form `form`."""
    form = form or next((name for name, mark in _MARKS.items() if mark in text), None)
    if form is None or form not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f"{file}: its form is not known", advice=f"name it with --format: {known}")
    try:
        demands = FORMATS[form](text, node, device)
        known_as = {demand.device for demand in demands}
        own = [each for each in demands if device in ("", each.device) and len(each.begin_s)]
    except UNREADABLE as error:
        what = f"{file}: cannot be read as {form}: {type(error).__name__}: {error}"
        raise UsageError(what, advice="docs/OBSERVE.md shows how each form is made") from error
    if not own:
        has = ", ".join(sorted(known_as)) or "no disk"
        raise UsageError(f"{file} has no readings of {device or 'a disk'}", advice=f"it has {has}")
    return own
