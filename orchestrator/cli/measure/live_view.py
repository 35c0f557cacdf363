"""While a campaign goes on: once a second its panel is drawn, and kept for another terminal.

Nothing that fails here reaches the campaign: it is said once, and the campaign goes on without a
panel.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from orchestrator.cli.common.progress import EndingProgress
from orchestrator.powers import Clock, World
from orchestrator.run.progress import live_state
from orchestrator.run.progress.live_events import Hear
from orchestrator.run.progress.live_feed import HeardProgress, LiveFeed

_EVERY_S = 1.0
# It is kept each second time that it is drawn: a write may be one to a disk that is measured.
_KEPT_EVERY = 2


@contextmanager
def watched(
    progress: EndingProgress, world: World, every_s: float = _EVERY_S
) -> Iterator[tuple[World, Hear]]:
    """Yields the world in which a campaign is carried out, and what hears it. Meanwhile `progress`
    shows its panel."""
    feed = LiveFeed(world.clock)
    view = _View(feed, progress, world.clock, every_s)
    thread = threading.Thread(target=view.show_until_stopped, name="live", daemon=True)
    thread.start()
    try:
        heard = replace(
            world,
            throughput_seen=feed.throughput_seen,
            window_begins=feed.window_begins,
            progress=HeardProgress(world.progress, feed.hear),
        )
        yield heard, feed.hear
    finally:
        view.stop.set()
        # It may hang in a terminal that takes nothing; being a daemon it ends with the program.
        thread.join(timeout=5)
        # Whatever it is, the campaign's own end is what counts.
        with suppress(Exception):
            progress.show(None)
        if feed.campaign is not None:
            # Else `status --follow` would show the panel until the file is too old.
            live_state.forget(feed.campaign.folder)


@dataclass
class _View:
    """`stop`: is set when the campaign has ended."""

    feed: LiveFeed
    progress: EndingProgress
    clock: Clock
    every_s: float
    stop: threading.Event = field(default_factory=threading.Event)

    def show_until_stopped(self) -> None:
        try:
            self._show_until_stopped()
        except Exception as error:
            self._give_up(error)

    def _show_until_stopped(self) -> None:
        drawn = 0
        # The wait ends with the campaign, so its end is not up to a second late.
        while not self.clock.wait(self.stop, self.every_s):
            state = self.feed.state()
            if self.feed.fault is not None:
                # Kept by the feed, because it arose on a thread of the campaign, which must go on.
                raise self.feed.fault
            if state is None or self.feed.campaign is None:
                continue
            self.progress.show(state)
            if drawn % _KEPT_EVERY == 0:
                with suppress(OSError):  # a full disk: another terminal sees no panel
                    live_state.keep(self.feed.campaign.folder, state)
            drawn += 1

    def _give_up(self, error: Exception) -> None:
        # Two blocks, because a panel that cannot be taken down must not hide why.
        with suppress(Exception):
            self.progress.show(None)
        with suppress(Exception):
            kind = type(error).__name__
            self.progress.warn(
                f"the live panel is not shown any more, and the campaign goes on: "
                f"{kind}: {error}"
            )
