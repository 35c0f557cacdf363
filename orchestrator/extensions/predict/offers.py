"""What could be bought in the place of a run's disks: disks of the catalog, and disks for the log
beside them, each on its provider's machine, with what a run predicts of it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.conclusions import Prediction
from orchestrator.cli.prepare.init import CLUSTERS
from orchestrator.errors import UsageError
from orchestrator.extensions.predict import layouts
from orchestrator.extensions.predict.prediction import Predictor
from orchestrator.keys import strict_yaml
from orchestrator.model import ClusterSpec, Objective
from orchestrator.planning import project_files, virtual_machines
from orchestrator.tier import Limits, Tier
from orchestrator.tier_catalog import candidates
from orchestrator.tier_catalog.effective import through
from orchestrator.units import parse_size

# PostgreSQL keeps max_wal_size of log, 1 GB unless it is set; a tablet server of YugabyteDB that of
# 900 s (log_min_seconds_to_retain), which is 18 GB at 20 MB/s.
LOG_BYTES = 32 * 2**30


class Offers:
    """The catalog's disks for a predictor's cluster. clauses: of the SLO, if one was asked for."""

    def __init__(
        self, root: Path, predictor: Predictor, clauses: Sequence[Objective] = ()
    ) -> None:
        self._root = root
        self._predictor = predictor
        self._clauses = clauses
        self._catalog = project_files.catalog(root)
        self._cluster = predictor.measured.record.profile.cluster
        self._vms = _machines(self._cluster.vm, root)

    def rows(self, size: str | None) -> list[str]:
        """All disks that hold what the profile's disk holds, or so much, as --tier takes them.

        Not what the run's data need, which are smaller where a scale is. UsageError if nobody said
        how large the disk is.
        """
        profile = self._predictor.measured.record.profile
        needed_bytes = _bytes_of_its_disk(profile.tier)
        if size:
            needed_bytes = parse_size(size)
        if not needed_bytes:
            raise _size_unknown(profile.name)
        return self._rows_of(needed_bytes)

    def _rows_of(self, needed_bytes: int) -> list[str]:
        points = candidates.points(self._catalog, needed_bytes)
        return [candidates.text(keys) for keys in points]

    def predictions(
        self, rows: Sequence[str], *, may_skip: bool
    ) -> Iterator[Prediction]:
        """The predictions for these rows.

        UsageError if nothing can be said of a row, unless `may_skip` lets it be left out.
        """
        for row in rows:
            try:
                tier = self._bought(row)
                prediction = self._prediction(tier)
            except UsageError:
                # The tier is not sold so, or nobody says its latency.
                if not may_skip:
                    raise
            else:
                yield prediction

    def with_log_disks(
        self, rows: Sequence[str], alone: Sequence[Prediction]
    ) -> list[Prediction]:
        """Layouts with a second disk for the log that may meet the SLO for less than all of these
        rows do alone.

        None for a run whose commits wait for no log: a disk for it would bring nothing.
        """
        if not self._predictor.commits:
            return []
        cheaper = layouts.with_log_disks(
            self._priced(rows), alone, self._log_rows(), self._prediction
        )
        return list(cheaper)

    def _log_rows(self) -> list[layouts.Row]:
        """Single disks for a log: stripes of several are for data."""
        rows = self._priced(self._rows_of(LOG_BYTES))
        return [row for row in rows if row.tier.count == 1]

    def _priced(self, names: Sequence[str]) -> list[layouts.Row]:
        """The rows that are sold so, and whose price is known."""
        rows: list[layouts.Row] = []
        for name in names:
            try:
                tier = self._bought(name)
            except UsageError:
                continue
            row = layouts.priced(name, tier)
            if row is not None:
                rows.append(row)
        return rows

    def _bought(self, row: str) -> Tier:
        """The tier of a row on its provider's machine. UsageError if it is not sold so."""
        tier, _ = project_files.bought(self._root, row, self._vm(row))
        return replace(tier, name=row)

    def _vm(self, row: str) -> str | None:
        return self._vms.get(row.partition("/")[0])

    def _prediction(self, tier: Tier) -> Prediction:
        """UsageError if nobody says how long an I/O of the tier takes."""
        vm = self._vm(tier.name)
        on_machine = replace(self._cluster, vm=vm, vm_price=None)
        cluster: ClusterSpec = virtual_machines.priced(on_machine, tier, self._catalog)
        return self._predictor.predict(
            tier, self._clauses, cluster, self._let_through(tier, vm)
        )

    def _let_through(self, tier: Tier, vm: str | None) -> Limits | None:
        """What the machine lets through to the disks of data and log together."""
        if vm is None or tier.wal is None:
            return None
        # A machine may limit each type by itself, and the name of a layout has two of them.
        data_type = tier.origin.catalog_type
        return through(self._catalog.vm(vm), data_type, tier.count + 1)


def _bytes_of_its_disk(tier: Tier) -> int:
    """The bytes of all disks that are striped to one; 0 if not known."""
    return (tier.origin.size_bytes or 0) * tier.count


def _size_unknown(profile: str) -> UsageError:
    return UsageError(
        f"it is not known how much the disks of {profile} hold, and "
        "therefore which disks to look at",
        advice="say what each node's disk must hold: --size 250GiB",
    )


def _machines(vm: str | None, root: Path) -> dict[str, str]:
    """Provider → the machine on which its disks are: the run's own `vm`, and else that of the
    cluster which `init` takes. Empty where the run's is nobody's."""
    if vm is None:
        return {}
    texts = project_files.clusters(root)
    machines = {}
    for provider, file in CLUSTERS.items():
        machines[provider] = strict_yaml.parse(file, texts[file])["vm"]
    machines[vm.partition("/")[0]] = vm
    return machines
