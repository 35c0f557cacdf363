"""What could be bought in the place of a run's disks: disks of the catalog, and disks for the log
beside them, each on a machine of its provider, with what a run predicts of it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator import units
from orchestrator.analysis.predictions import Prediction
from orchestrator.cli.prepare.init import CLUSTERS
from orchestrator.errors import UsageError
from orchestrator.extensions.observe import candidates
from orchestrator.extensions.predict import class_volumes, layouts
from orchestrator.extensions.predict.machines import MachinesToBuy
from orchestrator.extensions.predict.prediction import Predictor
from orchestrator.extensions.predict.rows import DiskOnMachine, Row, on_useful_machines
from orchestrator.keys import yaml_text
from orchestrator.model import ClusterSpec, Objective
from orchestrator.planning import named_tiers, project_files, virtual_machines
from orchestrator.powers import Progress
from orchestrator.tier import Limits, Tier
from orchestrator.tier_catalog.effective import through
from orchestrator.units import parse_size

# PostgreSQL keeps max_wal_size of log, 1 GB unless it is set; a tablet server of YugabyteDB that of
# 900 s (log_min_seconds_to_retain), which is 18 GB at 20 MB/s.
LOG_BYTES = 32 * 2**30


class Offers:
    """The catalog's disks for a predictor's cluster.

    clauses: of the SLO, if one was asked for. of_classes: only what a StorageClass gives. progress:
    is told how many layouts were predicted, because a catalog takes a while.
    """

    def __init__(
        self,
        root: Path,
        predictor: Predictor,
        clauses: Sequence[Objective] = (),
        *,
        of_classes: bool,
        progress: Progress | None = None,
    ) -> None:
        self._root = root
        self._predictor = predictor
        self._progress = progress
        self._predicted = 0
        self._clauses = clauses
        self._of_classes = of_classes
        self._catalog = project_files.catalog(root)
        self._cluster = predictor.measured.record.profile.cluster
        usual = _usual_machines(self._cluster.vm, root)
        self._machines = MachinesToBuy(self._catalog, self._cluster.vm, usual)
        self._tiers: dict[DiskOnMachine, Tier] = {}

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
            raise UsageError(
                f"the size of the disks of {profile.name} is not known, so no disks can be chosen",
                advice="say what each node's disk must hold: --size 250GiB",
            )
        return self._rows_of(needed_bytes)

    def _rows_of(self, needed_bytes: int) -> list[str]:
        rows: list[str] = []
        for keys in candidates.points(self._catalog, needed_bytes):
            row = candidates.text(keys)
            if not self._of_classes or class_volumes.gives(self._catalog, row):
                rows.append(row)
        return rows

    def predictions(
        self, rows: Sequence[str], *, may_skip: bool
    ) -> Iterator[Prediction]:
        """The predictions for these rows, each on the usual machine of its provider.

        UsageError if nothing can be said of a row, unless `may_skip` lets it be left out.
        """
        for row in rows:
            if self._of_classes:
                class_volumes.require(self._catalog, row)
            place = DiskOnMachine(row, self._machines.usual_for(row))
            try:
                prediction = self._prediction(self._bought(place), place.machine)
            except UsageError:
                # The tier is not sold so, or nobody says its latency.
                if not may_skip:
                    raise
            else:
                yield prediction

    def search(self, rows: Sequence[str]) -> list[Prediction]:
        """What may be bought of these rows to meet the SLO.

        Each row is tried alone on its provider's usual machine. It is tried on machines that are
        cheaper or let more through. It is tried with a second disk for the log where this may meet
        the SLO for less. If commits of the run wait for no log, no second disk is tried.
        """
        predictions = list(self.predictions(rows, may_skip=True))
        alone: dict[DiskOnMachine, Prediction] = {}
        for prediction in predictions:
            machine = self._machines.usual_for(prediction.tier)
            alone[DiskOnMachine(prediction.tier, machine)] = prediction
        data_rows = self._priced(rows)
        for row in self._on_useful_machines(data_rows):
            if row.place not in alone and row.has_latencies:
                alone[row.place] = self._prediction(row.tier, row.machine)
                predictions.append(alone[row.place])
        if self._predictor.commits:
            logs = self._log_rows()
            predictions += layouts.with_log_disks(
                data_rows, alone, logs, self._prediction
            )
        return one_of_alike(predictions)

    def _on_useful_machines(self, rows: Sequence[Row]) -> Iterator[Row]:
        by_disk = units.gathered((row.name, row) for row in rows)
        for machine_rows in by_disk.values():
            yield from on_useful_machines(machine_rows)

    def _log_rows(self) -> list[Row]:
        """Single disks for a log: stripes of several are for data."""
        rows = self._priced(self._rows_of(LOG_BYTES))
        return [row for row in rows if row.tier.count == 1]

    def _priced(self, names: Sequence[str]) -> list[Row]:
        """The rows that are sold at a known price, on each machine that takes the disk."""
        rows: list[Row] = []
        for name in names:
            usual = self._machines.usual_for(name)
            row = self._priced_on(DiskOnMachine(name, usual))
            if row is None:
                continue
            rows.append(row)
            # Without the price of the usual machine no other one can be called cheaper.
            if row.machine_monthly:
                rows += self._on_other_machines(name)
        return rows

    def _on_other_machines(self, name: str) -> Iterator[Row]:
        """The row on all machines but the usual one whose price and caps are known."""
        usual = self._machines.usual_for(name)
        for machine in self._machines.for_disk(name):
            if machine == usual:
                continue
            row = self._priced_on(DiskOnMachine(name, machine))
            if row is None or not row.machine_monthly:
                continue
            if self._lets_through(row.tier, machine) != Limits():
                yield row

    def _priced_on(self, place: DiskOnMachine) -> Row | None:
        """The row with its price; None if it is not sold so, or has none.

        Without a price it is the cheapest of nothing.
        """
        try:
            tier = self._bought(place)
        except UsageError:
            return None
        if tier.price is None:
            return None
        vm_price = self._cluster_on(tier, place.machine).vm_price
        machine_monthly = 0.0
        # Amounts in two currencies cannot be added.
        if vm_price is not None and vm_price.currency == tier.price.currency:
            machine_monthly = vm_price.monthly
        return Row(
            name=place.disk,
            tier=tier,
            price=tier.price,
            machine=place.machine,
            machine_monthly=machine_monthly,
        )

    def _bought(self, place: DiskOnMachine) -> Tier:
        """The tier of a row on that machine. UsageError if it is not sold so."""
        if place not in self._tiers:
            tier, _ = named_tiers.bought(
                self._root, place.disk, place.machine, self._catalog
            )
            self._tiers[place] = replace(tier, name=place.disk)
        return self._tiers[place]

    def _prediction(self, tier: Tier, machine: str | None) -> Prediction:
        """UsageError if nobody says how long an I/O of the tier takes."""
        if self._progress is not None:
            self._progress.step(f"simulating layouts: {self._predicted} done")
        self._predicted += 1
        together: Limits | None = None
        if machine is not None and tier.wal is not None:
            together = self._lets_through(tier, machine, disks=tier.count + 1)
        cluster = self._cluster_on(tier, machine)
        return self._predictor.predict(tier, self._clauses, cluster, together)

    def _cluster_on(self, tier: Tier, machine: str | None) -> ClusterSpec:
        """The run's cluster with its nodes on such machines, at their price."""
        if machine == self._cluster.vm:
            return virtual_machines.priced(self._cluster, tier, self._catalog)
        on_machine = replace(self._cluster, vm=machine, vm_price=None)
        return virtual_machines.priced(on_machine, tier, self._catalog)

    def _lets_through(
        self, tier: Tier, machine: str, disks: int | None = None
    ) -> Limits:
        """What a machine lets through to all of so many disks."""
        # A machine may limit each type by itself, and the name of a layout has two of them.
        data_type = tier.origin.catalog_type
        return through(self._catalog.vm(machine), data_type, disks or tier.count)


def one_of_alike(predictions: Sequence[Prediction]) -> list[Prediction]:
    """One of the predictions of a disk that costs and does the same on several machines, with the
    names of all."""
    kept: list[Prediction] = []
    for prediction in predictions:
        place = _place_of_alike(kept, prediction)
        if place is None:
            kept.append(prediction)
        else:
            first = kept[place]
            machines = (*first.other_machines, prediction.machine)
            kept[place] = replace(first, other_machines=machines)
    return kept


def _place_of_alike(kept: Sequence[Prediction], prediction: Prediction) -> int | None:
    """Where the same of another machine stands; None: nowhere."""
    for place, other in enumerate(kept):
        as_there = replace(
            prediction, machine=other.machine, other_machines=other.other_machines
        )
        if as_there == other:
            return place
    return None


def _bytes_of_its_disk(tier: Tier) -> int:
    """The bytes of all disks that are striped to one; 0 if not known."""
    claimed = tier.disk.storage_class
    # A class that was there already is asked for so many bytes by each claim.
    if claimed is not None and claimed.size_bytes:
        return claimed.size_bytes
    return (tier.origin.size_bytes or 0) * tier.count


def _usual_machines(vm: str | None, root: Path) -> dict[str, str]:
    """Provider → the machine on which its disks are: the run's own `vm`, and else that of the
    cluster which `init` takes. Empty where the run's is nobody's."""
    if vm is None:
        return {}
    texts = project_files.clusters(root)
    machines = {}
    for provider, file in CLUSTERS.items():
        machines[provider] = yaml_text.parse(file, texts[file])["vm"]
    machines[vm.partition("/")[0]] = vm
    return machines
