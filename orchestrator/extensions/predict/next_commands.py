"""Commands that measure what was predicted, as the run was measured from which it was predicted."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from orchestrator.analysis.conclusions import Prediction
from orchestrator.analysis.results import Results
from orchestrator.report.sections import method

# Options of the command that measured the run of which the next one has others.
OTHERS = {
    "--profile",
    "--profiles",
    "-p",
    "--workload",
    "--workloads",
    "-w",
    "--slo",
    "--sweep",
}


def commands_that_measure(
    campaign: Results, workload: str, tiers: Sequence[Prediction], slo: str = ""
) -> Iterator[str]:
    """Commands that measure these tiers, each on its machine, as the run was measured. `slo`: that
    they are to meet, if one was asked for."""
    if not tiers:
        return
    profiles = []
    for number, prediction in enumerate(tiers, start=1):
        profiles.append(f"advised-{number}")
        yield _init_command(profiles[-1], prediction)
    words = ["tierbench", "compare", "--profiles", ",".join(profiles)]
    words += ["--workloads", workload]
    if slo:
        words += ["--slo", slo]
    words += _kept_words(campaign)
    yield shlex.join(words)


def _init_command(profile: str, prediction: Prediction) -> str:
    """The command that writes a profile of that tier: its row, its machine and its keys."""
    row, _, keys = prediction.tier.partition(":")
    words = ["tierbench", "init", profile, "--tier", row]
    if prediction.machine:
        words += ["--vm", prediction.machine]
    words += [key for key in keys.split(",") if key]
    return shlex.join(words)


def _kept_words(campaign: Results) -> Iterator[str]:
    """Words of the command that measured the run, without those that the next one has anew."""
    given = shlex.split(method.command(campaign))[1:]
    for before, word in pairwise(given):
        if before not in OTHERS and word not in OTHERS:
            yield word
