"""Simulations of many disks, which share what would be the same on several. Pure."""

from functools import lru_cache
from typing import NamedTuple

from orchestrator.extensions.predict.courses import Course, Simulated
from orchestrator.extensions.predict.disks import SimulatedDisk
from orchestrator.extensions.predict.simulated_system import (
    System,
    WaitsBehind,
    events_per_s,
    waits_behind,
)
from orchestrator.extensions.predict.simulation import Simulation
from orchestrator.tier import Quantiles

EVENTS = 40_000  # events of a simulation, about
_MOST_KEPT = 128  # conditions whose courses are kept, half a megabyte for each


@lru_cache(maxsize=1024)  # many tiers have the same disk
def simulate(system: System, disk: SimulatedDisk, seed: int = 1) -> Simulated:
    """The system with its data on such disks. Equal seeds draw the same on all tiers. ValueError if
    no transaction ended."""
    return _SIMULATIONS.simulate(system, disk, seed)


class _Conditions(NamedTuple):
    """What decides the course of a simulation, beside how much its disks let through.

    log_write: of the log's own disk, None without one. behind: for how long I/Os wait for those of
    others.
    """

    system: System
    read: Quantiles
    write: Quantiles
    log_write: Quantiles | None
    seed: int
    end_s: float
    behind: WaitsBehind


class Simulations:
    """Simulations of about so many events each.

    None is begun whose course would be that of an earlier one on another disk.
    """

    def __init__(self, events: int = EVENTS) -> None:
        self._events = events
        self.courses: dict[_Conditions, list[Course]] = {}

    def simulate(self, system: System, disk: SimulatedDisk, seed: int = 1) -> Simulated:
        """The simulation, as from the function of this name."""
        end_s = self._events / events_per_s(system, disk)
        log_write = None
        if disk.log is not None:
            log_write = disk.log.write
        conditions = _Conditions(
            system,
            read=disk.read,
            write=disk.write,
            log_write=log_write,
            seed=seed,
            end_s=end_s,
            behind=waits_behind(system, disk),
        )
        courses = self.courses.setdefault(conditions, [])
        # Many disks of a catalog differ only by caps that the load does not reach.
        for course in courses:
            if course.is_the_same_on(disk):
                return course.on(disk)
        courses.append(Simulation(system, disk, seed, end_s).course())
        self._forget()
        return courses[-1].on(disk)

    def _forget(self) -> None:
        """The first, so that not all are in memory."""
        if len(self.courses) > _MOST_KEPT:
            del self.courses[next(iter(self.courses))]


_SIMULATIONS = Simulations()
