"""CSV: a row for each figure of each run, in long form.

A run without figures has one row without a metric, so that it is not overlooked.
"""

from __future__ import annotations

import csv
import io

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.report.exports.run_figures import runs

COLUMNS = (
    "run",
    "profile",
    "disk",
    "workload",
    "repetition",
    "outcome",
    "excluded",
    "metric",
    "scope",
    "unit",
    "direction",
    "value",
)


def text(campaign: Results, _: Verdict) -> str:
    """`disk` is the kind of the tier's disks, `excluded` is yes or no; numbers have all their
    digits."""
    disks = {profile.name: profile.tier.disk.kind for profile in campaign.plan.profiles}
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in runs(campaign):
        excluded = "yes" if one.excluded else "no"
        run = one.run
        what = (run.number, run.profile, disks[run.profile], run.workload, run.repetition)
        own = (*what, one.outcome, excluded)
        for m in one.figures:
            writer.writerow((*own, m.metric, m.scope, m.unit, m.direction, repr(m.value)))
        if not one.figures:
            writer.writerow((*own, "", "", "", "", ""))
    return page.getvalue()
