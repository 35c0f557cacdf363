"""The agent, and the machine that it reads: on fixture trees, and on this computer beside itself.

Method: the agent itself in a process, talked with over pipes.
"""

from __future__ import annotations

import errno
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.errors import RunError
from orchestrator.platforms.common import agent
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.platforms.common.clock_offsets import RecentOffsets
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import ClockOffset, MachineFacts
from orchestrator.system.clock import SystemClock
from tests.agents import Agents, Piped
from tests.fakes import FakeClock

ID = "7fc3631a2414fc17e88d21bc82e3c2a096a8d0ee159cfc64d226d0264f6ffead"


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def test_it_sees_what_this_computer_sees() -> None:
    far, here = Agents().machine(), LocalMachine()
    for path in ("/proc/cpuinfo", "/proc/sys/kernel/osrelease", "/etc/os-release"):
        assert far.read(path) == here.read(path)
    for path in ("/proc", "/proc/stat", "/none/at/all", "/sys/block"):
        assert (far.exists(path), far.is_folder(path)) == (
            here.exists(path),
            here.is_folder(path),
        )
    assert far.listing("/sys") == here.listing("/sys")
    assert far.real_path("/sys/block") == here.real_path("/sys/block")
    assert abs(far.free_bytes("/not/there/yet") - here.free_bytes("/")) < 2**34
    theirs, own = far.facts(), here.facts()
    assert (theirs.hostname, theirs.kernel, theirs.system) == (
        "far",
        own.kernel,
        own.system,
    )
    assert (theirs.cpus, theirs.memory_bytes) == (own.cpus, own.memory_bytes)
    assert here.is_here and not far.is_here
    far.close()


def test_what_is_not_there_is_the_error_that_this_computer_would_raise(
    tmp_path: Path,
) -> None:
    far = Agents(tree(tmp_path, {"proc/stat": "cpu 1\n"})).machine()
    with pytest.raises(FileNotFoundError, match="/proc/none"):
        far.read("/proc/none")
    with pytest.raises(NotADirectoryError):
        far.listing("/proc/stat")
    with pytest.raises(IsADirectoryError):
        far.read("/proc")
    assert far.read("/proc/stat") == "cpu 1\n", (
        "an error of a file is none of the agent"
    )
    far.close()


def test_one_refresh_is_one_question_and_what_nobody_asks_for_is_dropped(
    tmp_path: Path,
) -> None:
    agents = Agents(tree(tmp_path, {"proc/stat": "1", "proc/diskstats": "2"}))
    far = agents.machine()
    files = ("/proc/stat", "/proc/diskstats", "/proc/gone")

    def looked() -> list[str]:
        found = []
        for path in files:
            try:
                found.append(far.read(path))
            except FileNotFoundError:
                found.append("gone")
        return found

    assert looked() == ["1", "2", "gone"] and len(agents.asked) == 3
    tree(tmp_path, {"proc/stat": "3"})
    far.refresh()
    assert looked() == ["3", "2", "gone"] and len(agents.asked) == 4
    tree(tmp_path, {"proc/stat": "4"})
    assert far.read("/proc/stat") == "3", "a tick sees one moment"
    for _ in range(agent.KEPT):
        far.refresh()
    assert len(json.loads(agents.asked[-1])) > 1, "it may still be asked for"
    far.refresh()
    assert json.loads(agents.asked[-1]) == ["read"]
    assert far.read("/proc/stat") == "4"
    far.close()


def test_without_refreshes_nothing_old_is_returned(tmp_path: Path) -> None:
    clock = FakeClock()
    far = Agents(tree(tmp_path, {"proc/stat": "1"})).machine(clock=clock)
    far.read("/proc/stat")
    far.refresh()
    tree(tmp_path, {"proc/stat": "2"})
    assert far.read("/proc/stat") == "1"
    clock.sleep(agent.FRESH_S)
    assert far.read("/proc/stat") == "1"
    clock.sleep(0.1)
    assert far.read("/proc/stat") == "2"
    far.close()


def test_times_are_those_of_the_reading_and_by_this_clock() -> None:
    far = Agents().machine()
    assert far.read_at() is None and far.clock_offset is None
    far.read("/proc/stat")
    before_s = time.time()
    far.refresh()
    after_s = time.time()
    far.read("/proc/stat")
    read_s = far.read_at()
    assert read_s is not None and before_s <= read_s <= after_s
    offset = far.clock_offset
    assert offset is not None and abs(offset.offset_s) <= offset.within_s + 1e-3
    far.close()


def test_a_clock_that_is_ahead_is_measured(tmp_path: Path) -> None:
    """This computer's clock is at second 1,000, and a way takes nothing."""
    far = Agents(tree(tmp_path, {"proc/stat": "1"})).machine(clock=FakeClock())
    far.read("/proc/stat")
    offset = far.clock_offset
    assert offset is not None and offset.offset_s == pytest.approx(
        time.time() - 1_000, abs=60
    )
    assert far.read_at() == 1_000
    far.close()


def seen_each_second(*answers: tuple[float, float, int]) -> ClockOffset:
    """What is known after answers: offset, half of the way there and back, how many times."""
    clocks = RecentOffsets()
    now = FakeClock().monotonic()
    for offset_s, half_s, count in answers:
        for _ in range(count):
            clocks.add(ClockOffset(offset_s, half_s), now)
            now += 1.0
    assert clocks.best is not None
    return clocks.best


def test_the_shortest_way_of_the_last_minute_tells_the_offset() -> None:
    shortest = ClockOffset(0.0, 0.001)
    assert seen_each_second((0.0, 0.001, 1), (0.002, 0.004, 30)) == shortest
    assert seen_each_second((0.0, 0.001, 1), (0.002, 0.004, 90)).offset_s == 0.002
    # It is of the last minute 60 s later, and not one second after that.
    assert seen_each_second((0.0, 0.001, 1), (0.002, 0.004, 60)) == shortest
    assert seen_each_second((0.0, 0.001, 1), (0.002, 0.004, 61)).offset_s == 0.002


def test_of_two_ways_as_short_the_latest_tells_the_offset() -> None:
    offset = seen_each_second((0.0, 0.001, 1), (0.0005, 0.001, 1))
    assert offset.offset_s == 0.0005


@pytest.mark.parametrize(("offset_s", "shift_s"), [(0.25, 0.0), (-0.5, -0.5)])
def test_a_shift_that_may_be_wrong_by_itself_is_not_made(
    offset_s: float, shift_s: float
) -> None:
    assert ClockOffset(offset_s, 0.25).shift_s == shift_s


@pytest.mark.parametrize(("apart_s", "may"), [(0.5, True), (0.625, False)])
def test_one_clock_can_have_shown_what_lies_within_both_ways(
    apart_s: float, may: bool
) -> None:
    first = ClockOffset(1.0, 0.25)
    for second in (ClockOffset(1.0 + apart_s, 0.25), ClockOffset(1.0 - apart_s, 0.25)):
        assert first.may_equal(second) is may


def test_a_clock_that_was_set_is_seen_at_once() -> None:
    assert seen_each_second((0.0, 0.001, 9), (5.0, 0.0011, 1)).offset_s == 5.0


def test_a_clock_that_drifts_is_followed() -> None:
    """By 100 parts in a million, for an hour, over a way that was once as short as never again."""
    drifting = [(1e-4 * second, 0.0011, 1) for second in range(3600)]
    offset = seen_each_second((0.0, 0.001, 1), *drifting)
    assert abs(offset.offset_s - 0.36) <= 0.01


@pytest.mark.parametrize(
    ("group", "paths"),
    [
        (f"docker/{ID}", {"": f"docker/{ID}"}),
        (f"system.slice/docker-{ID}.scope", {"": f"system.slice/docker-{ID}.scope"}),
        (
            f"kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope",
            {"": f"kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope"},
        ),
        (f"kubepods/burstable/pod1/{ID}", {"": f"kubepods/burstable/pod1/{ID}"}),
    ],
)
def test_a_container_is_found_by_its_id(
    tmp_path: Path, group: str, paths: dict[str, str]
) -> None:
    """Its first process is the one that started first, whatever its number."""

    def process(number: int, path: str, started: int) -> dict[str, str]:
        stat = f"{number} (a ) b) S {' '.join(['0'] * 18)} {started} 0\n"
        return {f"proc/{number}/cgroup": f"0::{path}\n", f"proc/{number}/stat": stat}

    files = {
        "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        f"sys/fs/cgroup/libpod-conmon-{ID}.scope/cpu.stat": "",
        f"sys/fs/cgroup/{group}/below/cpu.stat": "",
        **process(1, "/init.scope", 1),
        **process(50, f"/../../{group}/below", 900),
        **process(70, f"/../../{group}", 800),
        **process(40, f"/libpod-conmon-{ID}.scope", 700),
        "proc/version": "",
    }
    far = Agents(tree(tmp_path, files)).machine()
    assert far.locate(ID) == {"groups": paths, "process_id": 70}
    with pytest.raises(
        FileNotFoundError, match="no control group names container 000000000000"
    ):
        far.locate("0" * 64)
    far.close()


def test_version_1_has_a_group_for_each_controller(tmp_path: Path) -> None:
    """Where two controllers are one hierarchy, the second name is a link."""
    files = {
        f"sys/fs/cgroup/cpu,cpuacct/docker/{ID}/cpuacct.usage": "",
        f"sys/fs/cgroup/memory/docker/{ID}/memory.stat": "",
    }
    root = tree(tmp_path, files)
    for name in ("cpu", "cpuacct"):
        (root / "sys/fs/cgroup" / name).symlink_to("cpu,cpuacct")
    (root / "proc").mkdir()
    path = f"docker/{ID}"
    far = Agents(root).machine()
    groups = {"cpu": path, "cpuacct": path, "memory": path}
    assert far.locate(ID) == {"groups": groups, "process_id": None}
    far.close()


def test_the_agent_ends_with_its_conversation_and_is_started_anew_when_killed() -> None:
    agents, clock = Agents(), FakeClock()
    far = agents.machine(clock=clock)
    far.read("/proc/stat")
    agents.processes[0].kill()
    agents.processes[0].wait()
    with pytest.raises(OSError, match="the machine far does not answer: it has ended"):
        far.refresh()
    with pytest.raises(OSError, match="does not answer"):
        far.read("/proc/stat")
    assert len(agents.processes) == 1, "the rest of a tick does not wait again"
    clock.sleep(1.0)
    far.refresh()
    assert far.read("/proc/stat").startswith("cpu")
    far.close()
    assert agents.processes[1].returncode == 0


class Slow(Piped):
    """Is waited for ten seconds: the machine of a test may be busy."""

    def receive(self, timeout_s: float) -> str:
        return super().receive(10.0)


class Unanswering(Piped):
    def send(self, line: str) -> None:
        pass

    def receive(self, timeout_s: float) -> str:
        return super().receive(0.05)


class Stuck(Agents):
    """The first agent never answers."""

    @contextmanager
    def conversation(self) -> Iterator[Piped]:
        with super().conversation() as talking:
            kind = Unanswering if len(self.processes) == 1 else Slow
            yield kind(talking.process, talking.asked)


def test_no_answer_is_an_error_and_a_late_one_is_never_taken_for_another() -> None:
    agents, clock = Stuck(), FakeClock()
    far = agents.machine(clock=clock)
    with pytest.raises(OSError, match="no answer within"):
        far.read("/proc/stat")
    clock.sleep(agent.SILENCE_S)
    assert far.listing("/sys") == LocalMachine().listing("/sys")
    assert len(agents.processes) == 2
    far.close()


def test_an_agent_that_cannot_be_started_is_an_error_and_facts_are_those_that_are_known() -> (
    None
):
    @contextmanager
    def none() -> Iterator[Piped]:
        raise RunError("the image is not here")
        yield

    known = MachineFacts("far", "6.1", "Debian", 4, "", 2**34)
    far = AgentMachine("far", none, FakeClock(), known)
    assert far.facts() == known
    with pytest.raises(OSError, match="the image is not here"):
        far.read("/proc/stat")
    with pytest.raises(OSError, match="the image is not here"):
        AgentMachine("far", none, FakeClock()).facts()


def test_what_is_asked_while_the_agent_starts_is_an_error_and_stops_nothing() -> None:
    """A platform looks at what it starts, and the agent's container is on that machine."""
    agents = Agents()

    @contextmanager
    def looking() -> Iterator[Piped]:
        with pytest.raises(OSError, match="not up yet"):
            far.read("/proc/stat")
        with agents.conversation() as talking:
            yield talking

    far = AgentMachine("far", looking, SystemClock())
    assert far.read("/proc/stat").startswith("cpu") and far.exists("/proc")
    far.close()


def test_a_question_does_not_wait_for_another_without_end() -> None:
    """As when the way to a machine hangs: the sampler goes on with the others."""
    hang, hanging = threading.Event(), threading.Event()

    @contextmanager
    def slow() -> Iterator[Piped]:
        hanging.set()
        hang.wait(30)
        raise RunError("too late")
        yield

    far = AgentMachine("far", slow, FakeClock())
    far.queue_s = 0.05
    thread = threading.Thread(target=lambda: _too_late(far))
    thread.start()
    hanging.wait(30)
    with pytest.raises(OSError, match="another question is not answered yet"):
        far.read("/proc/stat")
    hang.set()
    thread.join()


def _too_late(far: AgentMachine) -> None:
    with pytest.raises(OSError, match="too late"):
        far.read("/proc/stat")


def test_while_an_agent_that_is_gone_ends_no_question_waits_for_that() -> None:
    """Its container is removed, which the way to an engine that is cut off makes last a minute."""
    agents, ending, over = Agents(), threading.Event(), threading.Event()

    @contextmanager
    def lasting() -> Iterator[Piped]:
        try:
            with agents.conversation() as talking:
                yield talking
        finally:
            ending.set()
            over.wait(30)

    far = AgentMachine("far", lasting, FakeClock())
    far.read("/proc/stat")
    agents.processes[0].kill()
    agents.processes[0].wait()

    def lost() -> None:
        with pytest.raises(OSError, match="it has ended"):
            far.read("/proc/stat")

    thread = threading.Thread(target=lost)
    thread.start()
    assert ending.wait(30)
    far.queue_s = 30.0
    begun_s = time.monotonic()
    lost()
    assert time.monotonic() - begun_s < 15, "of the thirty that it might have waited"
    over.set()
    thread.join()


def test_a_question_that_is_none_is_answered_as_an_error() -> None:
    with Agents().conversation() as talking:
        for line in ("junk", '["nope"]', '["read", 1]', '["free"]', '["free", ""]'):
            talking.send(line)
            assert json.loads(talking.receive(10))["error"][0] == errno.EINVAL
        talking.send('["exists", "/"]')
        assert json.loads(talking.receive(10))["found"] is True
