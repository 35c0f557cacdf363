"""Events of a campaign that goes on → how it stands at this moment.

Whatever goes wrong here is kept as a fault, and never reaches the campaign.
"""

import threading
from collections import deque

from orchestrator.model import Plan, Sample
from orchestrator.powers import Clock, Moment, Progress
from orchestrator.run.progress import campaign_time, status_lines
from orchestrator.run.progress.live_disks import LAST_S, RecentDisks
from orchestrator.run.progress.live_events import (
    CampaignBegins,
    Hear,
    LiveEvent,
    NodesWatched,
    PhaseBegins,
    RunBegins,
    StandingFound,
    StepBegins,
    ThroughputSeen,
)
from orchestrator.run.progress.live_state import (
    DiskAtCap,
    LiveRun,
    PanelState,
    RecentRates,
)
from orchestrator.run.progress.outlines import CampaignOutline

_DISKS_EVERY_S = 5.0
# Share of a CPU that looking at disks may take, however many nodes there are.
_DISKS_SHARE = 0.005
_IN_WORDS = {
    "load": "loading data",
    "prepare": "preparing",
    "warm-up": "warming up",
    "measure": "measuring",
    "check": "checking the data",
    "read": "reading what was measured",
    "teardown": "taking everything down",
}


class LiveFeed:
    """Hears a campaign, from several threads; `state` says how it stands.

    `campaign`: what began, once it has. `fault`: the first error of our own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self.campaign: CampaignBegins | None = None
        self.fault: Exception | None = None
        self._plan: Plan | None = None
        self._run: RunBegins | None = None
        self._ends_s: float | None = None
        self._phase = ""
        self._step = ""
        self._window_s: float | None = None
        self._rates: deque[float] = deque(maxlen=round(LAST_S))
        # Workload → profile → what its newest run showed in the end, in the order of the runs.
        self._seen: dict[str, dict[str, RecentRates]] = {}
        self._disks: RecentDisks | None = None
        self._disk: DiskAtCap | None = None
        self._disks_due: Moment | None = None
        self._standing: tuple[str, ...] = ()

    def hear(self, event: LiveEvent) -> None:
        """Takes an event in; returns at once and raises nothing."""
        try:
            with self._lock:
                self._take(event)
        except Exception as error:  # whatever it is, the campaign goes on
            self.fault = self.fault or error

    def throughput_seen(self, per_s: float) -> None:
        """A listener of `World.throughput_seen`."""
        self.hear(ThroughputSeen(per_s))

    def window_begins(self, time_s: float) -> None:
        """A listener of `World.window_begins`."""
        self._window_s = time_s

    def _take(self, event: LiveEvent) -> None:
        match event:
            case Sample():
                if self._disks is not None:
                    self._disks.add(event)
            case ThroughputSeen():
                self._rates.append(event.per_s)
            case StepBegins():
                self._step = event.text
            case PhaseBegins():
                self._begin_phase(event.name)
            case NodesWatched():
                if self._disks is not None:
                    self._disks.watch(event.nodes)
            case RunBegins():
                self._begin_run(event)
            case StandingFound():
                self._standing = tuple(event.lines)
            case CampaignBegins():
                self.campaign = event
                self._plan = event.plan

    def _begin_phase(self, name: str) -> None:
        self._phase = name
        self._step = ""
        self._window_s = None

    def _begin_run(self, event: RunBegins) -> None:
        # First, because they are of the run that has ended.
        self._keep_rates()
        self._plan = event.plan
        self._run = event
        self._ends_s = self._clock.now() + event.left_s
        # Rates of the run before would otherwise stand beside the name of this one.
        self._rates.clear()
        self._disks = RecentDisks(event.profile.tier)
        self._disk = None
        self._disks_due = None
        self._begin_phase("")

    def _keep_rates(self) -> None:
        """Keeps the rates of the run that has ended, as the newest of its workload and profile."""
        if self._run is None or not self._rates:
            return
        run = self._run.run
        rates_by_profile = self._seen.setdefault(run.workload, {})
        # Taken out first, because a key that is set again keeps its old place.
        rates_by_profile.pop(run.profile, None)
        rates_by_profile[run.profile] = RecentRates(run.profile, tuple(self._rates))

    def state(self) -> PanelState | None:
        """The state of the panel; None before the campaign has a folder."""
        with self._lock:
            if self.campaign is None or self._plan is None:
                return None
            now_s = self._clock.now()
            self._look_at_disks()
            name = self.campaign.folder.name
            # The folder's name says when it began, so neither gates nor runs are needed.
            outline = CampaignOutline(name, self._plan, (), ())
            elapsed_s = campaign_time.elapsed_s(outline, now_s)
            cost = status_lines.cost_so_far(self._plan, elapsed_s)
            return PanelState(
                campaign=name,
                written_s=now_s,
                elapsed_s=elapsed_s,
                ends_s=self._ends_s,
                run=self._live_run(),
                doing=self._doing(now_s),
                rates=self._recent_rates(),
                before=self._before(),
                disk=self._disk,
                cost=cost,
                standing=self._standing,
            )

    def _look_at_disks(self) -> None:
        """Now and then, and less often the longer it takes."""
        if self._disks is None:
            return
        began = self._clock.monotonic()
        if self._disks_due is not None and began < self._disks_due:
            return
        self._disk = self._disks.worst()
        ended = self._clock.monotonic()
        pause_s = max(_DISKS_EVERY_S, (ended - began) / _DISKS_SHARE)
        self._disks_due = ended + pause_s

    def _live_run(self) -> LiveRun | None:
        if self._run is None:
            return None
        run = self._run.run
        planned = self._run.plan.runs
        # Runs are found by their numbers. A failed run that is made again keeps its number.
        repetitions = run.repetition
        for other in planned:
            if (other.profile, other.workload) == (run.profile, run.workload):
                repetitions = max(repetitions, other.repetition)
        return LiveRun(
            number=run.number,
            runs=len(planned),
            profile=run.profile,
            workload=run.workload,
            repetition=run.repetition,
            repetitions=repetitions,
        )

    def _doing(self, now_s: float) -> str:
        if self._step:
            return self._step
        phase = self._phase
        # The phase "measure" is only recorded when the window is over.
        if self._window_s is not None and now_s >= self._window_s:
            phase = "measure"
        return _IN_WORDS.get(phase, phase)

    def _recent_rates(self) -> RecentRates | None:
        if self._run is None or not self._rates:
            return None
        return RecentRates(self._run.run.profile, tuple(self._rates))

    def _before(self) -> RecentRates | None:
        """The rates of the same workload on another tier, the one that was measured last."""
        if self._run is None:
            return None
        run = self._run.run
        newest: RecentRates | None = None
        for profile, rates in self._seen.get(run.workload, {}).items():
            if profile != run.profile:
                newest = rates
        return newest


class HeardProgress:
    """Implements `Progress`: what is done now is heard as well as shown."""

    def __init__(self, progress: Progress, hear: Hear) -> None:
        self._progress = progress
        self._hear = hear
        self.run = progress.run
        self.note = progress.note
        self.warn = progress.warn

    def step(self, text: str, expected_s: float | None = None) -> None:
        self._hear(StepBegins(text))
        self._progress.step(text, expected_s)
