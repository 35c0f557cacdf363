"""The answer to "which disk should this database run on?", as one frozen record.

It says what to buy, at what price, why, how sure that is, what was not tested and what to do
next. A campaign, one profile, an observation and a prediction have the same record, so whoever
lays it out need not ask where it is from. What is not known is None or empty, never a guess.

Numbers are in base units, which stand last in a name; `_pct` is percent of 100. Sentences about a
part of the record are made in `phrases`, `speeds` and `observation`.
"""

from dataclasses import dataclass
from typing import Literal

from orchestrator.facts import BottleneckCause

# What was asked: tiers were compared, one was measured, disks were measured without a database, or
# none was loaded at all.
AnswerKind = Literal[
    "comparison", "one profile", "disks alone", "observation", "prediction"
]

# What a part of an answer is about. An observation and a prediction answer by provider, because
# prices of several lists cannot be compared.
Subject = Literal["workload", "all workloads", "provider"]

# How sure the whole is; the words that stand on top of a report.
SurenessWord = Literal[
    "conclusive",
    "enough; cheaper not excluded",
    "enough; price open",
    "example: nothing was measured",
    "for cached data only",
    "for this machine only",
    "for short windows only",
    "not decided: latency assumed",
    "partly conclusive",
    "not conclusive",
    "SLO met",
    "SLO missed",
    "SLO open",
    "measured",
    "not measured",
    "observed",
    "cannot be told from minutes",
    "cannot be told from these readings",
    "one tier",
    "predicted",
]

# How sure one part is. "open": more repetitions may decide it; "not decided": they would not;
# "not judged": no decision was asked for. "bounded" and "predicted" are no words of proof.
ProofWord = Literal[
    "proven",
    "proven, cheaper open",
    "open",
    "not decided",
    "not compared",
    "not judged",
    "bounded",
    "predicted",
]

# What became of a clause of an SLO.
ClauseWord = Literal["met", "missed", "open"]

# What a price is for.
PriceScope = Literal["disks", "disks and machines", "machines"]

# What two tiers are to each other, by the comparison that says most.
SpeedWord = Literal["faster", "serves the rate", "alike", "not proven"]

# What nobody has tried, so that the answer may be another there. "anything": a model made
# the figures up; "any measurement": figures are
# predicted, published or made up.
UntestedKind = Literal[
    "real disks",
    "number of nodes",
    "database",
    "size of the data",
    "real cluster",
    "any measurement",
    "anything",
    "performance",
    "proof",
    "other conditions",
    "host cache",
]

# What a note beside an observation is about.
CautionKind = Literal[
    "seconds unknown",
    "shape from pieces",
    "held back",
    "held back?",
    "prices of several lists",
    "readings missed",
    "more than the source does",
    "counted by the disk",
    "count contradicted",
    "held back by the machine",
    "jumps left out",
    "impossible readings",
    "unlikely readings",
    "remarks of sources",
]

# What there is to do. "repeat": more repetitions of what is open; "measure": a campaign on disks
# that were not measured; "describe": a profile that such a campaign needs; "give metrics": what a
# provider kept of the disks.
StepKind = Literal["repeat", "measure", "describe", "read seconds", "give metrics"]


@dataclass(frozen=True)
class MonthlyPrice:
    """A list price of a month.

    `nodes`: of so many nodes together, which are those of the profile; None: of one disk.
    `measured_nodes`: how many of them were measured; None: all. `region`, `as_of`, `source`: where
    and when it was read, empty if nobody said. `verified`: whether that was at the provider's own
    service or page; None: nobody said.
    """

    amount: float
    currency: str
    covers: PriceScope
    nodes: int | None
    region: str = ""
    as_of: str = ""
    source: str = ""
    verified: bool | None = None
    measured_nodes: int | None = None

    @property
    def is_unverified(self) -> bool:
        """Whether somebody read it elsewhere, so that it may not be the provider's."""
        return self.verified is False


@dataclass(frozen=True)
class DisksToBuy:
    """A tier, and how many of its disks: what goes on a purchase order.

    `tier`: the name of a profile, or a row of the catalog with its keys, as `--tier` takes it.
    `title`: as its profile has it. `product`: what its provider calls each disk; empty: no row of
    the catalog says. `size_bytes`, `iops`, `bytes_per_s`: of each disk as bought; None: not
    declared. `disks`: those of all `nodes` of the profile, of which `striped` make up the one disk
    of a node.
    `log_disks`: those for the write-ahead log, of another kind if it has a `log_title`. None, where
    only a tier is known.
    `machine`: the size of each node; `machines_price`: of all of them, `machines_in_price`:
    whether `price` has it.
    """

    tier: str
    price: MonthlyPrice | None
    title: str = ""
    iops: float | None = None
    bytes_per_s: float | None = None
    nodes: int | None = None
    disks: int | None = None
    striped: int = 1
    log_disks: int = 0
    log_title: str | None = None
    machine: str = ""
    machines_price: MonthlyPrice | None = None
    machines_in_price: bool = False
    product: str = ""
    size_bytes: int | None = None


@dataclass(frozen=True)
class MeasuredFigure:
    """A mean over `n` runs. `scope`: its type of transactions, or "all"."""

    metric: str
    scope: str
    value: float
    unit: str
    n: int


@dataclass(frozen=True)
class ProfileFigures:
    """What one profile did under a workload. A latency that no run has is None."""

    profile: str
    throughput: MeasuredFigure
    latency_avg: MeasuredFigure | None
    latency_p99: MeasuredFigure | None


@dataclass(frozen=True)
class SloClause:
    """A clause of an SLO, as for `--slo`, and what the tier in question did: mean and interval.

    The tier to buy, or the profile that was measured alone; "open" without a figure if there is
    neither.
    """

    objective: str
    word: ClauseWord = "open"
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None


@dataclass(frozen=True)
class DiskOutlook:
    """What a disk would have done that was not measured, and why it is worth measuring.

    `tier`: a row of the catalog with its keys, as `--tier` takes it.
    `word`: of an observation; empty for a prediction. `chance`: that the SLO is met, of a
    prediction; None for an observation. `machine`: the one that it would be on.
    """

    tier: str
    price: MonthlyPrice | None
    machine: str = ""
    word: str = ""
    chance: float | None = None


@dataclass(frozen=True)
class PartAnswer:
    """The answer for one workload, for all together, or for the disks of one provider.

    `purchase`: None if the evidence carries none. `why`: sentences, the most important first.
    `claims`: what the first of them claims, a clause each, without the tier's name and the proofs.
    `cheaper_open`: tiers that would be preferred and are not excluded. `slo`: the clauses it was
    judged by. `confidence_pct`: of the intervals behind it; None: no test. `measured`: of a
    profile that was compared with none. `worth_measuring`: disks that were not measured.
    """

    subject: str
    about: Subject
    purchase: DisksToBuy | None
    why: tuple[str, ...]
    proof: ProofWord
    claims: tuple[str, ...] = ()
    cheaper_open: tuple[str, ...] = ()
    # Dearer tiers without figures, of which one may be better than all that were measured.
    best_open: tuple[str, ...] = ()
    slo: tuple[SloClause, ...] = ()
    confidence_pct: float | None = None
    measured: ProfileFigures | None = None
    worth_measuring: tuple[DiskOutlook, ...] = ()

    @property
    def tier(self) -> str | None:
        """The one to buy."""
        if self.purchase is None:
            return None
        return self.purchase.tier


@dataclass(frozen=True)
class Tally:
    """How much of a campaign came to something. A run is lost if it left no figures that count.

    `runs_excluded`: of them those that finished and are not valid; `runs_failed`: those that were
    begun and did not finish.
    """

    workloads: int
    workloads_answered: int
    comparisons: int
    comparisons_settled: int
    runs_planned: int
    runs_lost: int
    runs_excluded: int
    runs_failed: int


@dataclass(frozen=True)
class Sureness:
    """How sure the whole is, in a word and a sentence; of a part its `proof` says it.

    `details`: the sentences of `text` that the brief does not say already. `tally`: of a campaign.
    `tolerance_share`: of an observation, the share of the time that may be at a cap. `headline`: of
    one profile, whether it meets its SLO, or what it did; without a full stop.
    """

    word: SurenessWord
    text: str
    tally: Tally | None = None
    tolerance_share: float | None = None
    headline: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpeedComparison:
    """Which of two tiers is faster under a workload, and how many times, by its 95 % interval.

    `faster`: None if neither is proven to be. `word` "faster": in `metric` it is `times` as fast;
    `times_high` None beside a `times_low`: nothing bounds it. "serves the rate": the other one
    does not. `lacks`: why a change is not proven although its interval excludes none.
    """

    workload: str
    baseline: str
    contender: str
    word: SpeedWord
    faster: str | None
    metric: str
    times: float | None = None
    times_low: float | None = None
    times_high: float | None = None
    lacks: str = ""
    # Of `metric`; empty: the one that stands for the workload.
    scope: str = ""

    @property
    def slower(self) -> str | None:
        """The other one, where one is faster."""
        if self.faster is None:
            return None
        if self.faster == self.contender:
            return self.baseline
        return self.contender


@dataclass(frozen=True)
class TierLimit:
    """What limited the tier to buy under a workload; `text`: in a sentence."""

    workload: str
    node: str
    cause: BottleneckCause
    text: str


@dataclass(frozen=True)
class Untested:
    """Something that nobody tried. `text`: a sentence; `advice`: how to try it, or empty.
    `tiers`: those that it is true of; empty: all."""

    kind: UntestedKind
    text: str
    advice: str = ""
    tiers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Caution:
    """What bounds an observation's answer, and how to have less of it."""

    kind: CautionKind
    text: str
    advice: str


@dataclass(frozen=True)
class NextStep:
    """What to do next. `subject`: the workload or the disks that it is about. `command`: as a shell
    takes it; None if it is not known."""

    kind: StepKind
    subject: str
    command: str | None


@dataclass(frozen=True)
class Brief:
    """The answer for a reader in a hurry: what to do, and three lines about it.

    `price`: of a profile that was compared with none; where a tier is named, `what` has it.
    `not_tested`: what nobody tried, in a few words. `next_step`: what to do where nothing is to be
    bought yet, with its command. A line without anything to say is empty.
    """

    what: str
    why: str = ""
    how_sure: str = ""
    not_tested: str = ""
    price: str = ""
    next_step: str = ""

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """The lines below the first that say something, each behind its label."""
        labelled = (
            ("Price", self.price),
            ("Why", self.why),
            ("How sure", self.how_sure),
            ("Not tested", self.not_tested),
            ("Next", self.next_step),
        )
        return tuple((label, text) for label, text in labelled if text)


NO_BRIEF = Brief("")


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    `parts`: one for each workload, or for each provider. `together`: for all workloads of one
    cluster, whose disks are of one tier; None with one workload or one tier. `comparisons`: who is
    faster. `limits`: of the tier to buy. `brief`: all of it in four lines.
    """

    kind: AnswerKind
    parts: tuple[PartAnswer, ...]
    together: PartAnswer | None
    sureness: Sureness
    comparisons: tuple[SpeedComparison, ...] = ()
    limits: tuple[TierLimit, ...] = ()
    untested: tuple[Untested, ...] = ()
    cautions: tuple[Caution, ...] = ()
    next_steps: tuple[NextStep, ...] = ()
    brief: Brief = NO_BRIEF

    @property
    def is_of_stand_in(self) -> bool:
        """Whether PostgreSQL ran where YugabyteDB was to be judged."""
        return any(untested.kind == "database" for untested in self.untested)

    @property
    def is_example(self) -> bool:
        """Whether a model made all figures up."""
        return any(untested.kind == "anything" for untested in self.untested)

    @property
    def all_parts(self) -> tuple[PartAnswer, ...]:
        """The answer for all workloads together first, then the answer for each."""
        if self.together is None:
            return self.parts
        return (self.together, *self.parts)

    @property
    def is_for_all(self) -> bool:
        """Whether its first part says what to buy for everything that was asked."""
        # One of several parts is not the whole answer: each may name another tier.
        return len(self.all_parts) == 1 or self.together is not None

    @property
    def purchase(self) -> DisksToBuy | None:
        """What to buy for everything that was asked; None if nothing, or something for each."""
        if not self.is_for_all:
            return None
        return self.all_parts[0].purchase

    def is_unanswered(self, part: PartAnswer) -> bool:
        """Whether tiers were compared for it and none is named. Who measures one profile, observes
        or predicts has not asked which tier to buy."""
        return self.kind == "comparison" and part.tier is None
