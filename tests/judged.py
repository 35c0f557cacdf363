"""A campaign in memory, judged, as the sections of a report read it.

There is one builder of campaigns, `tests.campaigns.build_campaign`, with keyword arguments, and
one of the outside, `tests.fakes.fake_world`. What test files build with them for themselves has
nothing further in common: files on a disk, one day of many, runs of a command, disks of a cluster.
So each has a name that says what it makes, such as `failing_campaign` or `claims_world`; where it
is a fixture, tests ask for it by a short name.
"""

from __future__ import annotations

from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.report.report_index import ReportIndex


def judged_index(campaign: Results) -> ReportIndex:
    return ReportIndex(campaign, judge(campaign))
