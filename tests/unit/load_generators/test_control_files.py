"""By which files a load's threads begin, go on and end (workloads/lib/control_files.lua).

Method: the clocks and the files are the script's, so a wall clock can jump; needs Debian's luajit.
"""

from __future__ import annotations

import pytest

from tests import lua_scripts

# The monotonic clock goes on with each sleep, and the wall clock with it until it is set.
WORLD = """
local now_us, wall_ahead_us, files = 0, 1e15, {}
package.loaded.clock = {
   now_us = function() return now_us end,
   unix_ns = function() return (now_us + wall_ahead_us) * 1e3 end,
   sleep_us = function(duration_us) now_us = now_us + duration_us end,
   sleep_until_us = function(t_us) now_us = t_us end,
}
io.open = function(path)
   if not files[path] then return nil end
   local numbers = {unpack(files[path])}
   local read = function() return unpack(numbers) end
   return {read = read, close = function() end}
end
local opt = {time = 0, begins_file = "", ends_file = "", sessions_file = ""}
local function unix_s(t_us) return (t_us + wall_ahead_us) / 1e6 end
local function new() return require("control_files").new(opt, 3) end
"""


def told(script: str) -> list[str]:
    done = lua_scripts.run(WORLD + script)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("jump_us", ["-3600e6", "0", "3600e6"])
def test_a_wall_clock_that_is_set_moves_no_end(jump_us: str) -> None:
    assert told(
        f"""
        opt.ends_file = "ends"
        local control = new()
        io.write(tostring(control:has_ended()), " ")
        files.ends = {{unix_s(10e6)}}
        now_us = 2e6
        io.write(tostring(control:has_ended()), " ")
        wall_ahead_us = wall_ahead_us + {jump_us}
        for _, t_us in ipairs{{9.9e6, 10.1e6}} do
           now_us = t_us
           io.write(tostring(control:has_ended()), " ")
        end
        """
    ) == ["false", "false", "false", "true"]


@pytest.mark.parametrize("jump_us", ["-3600e6", "0", "3600e6"])
def test_all_begin_and_end_at_the_instants_that_were_told(jump_us: str) -> None:
    """The clock is set while the threads wait for their begin."""
    assert told(
        f"""
        opt.begins_file = "begins"
        local control = new()
        files.begins = {{unix_s(5e6), unix_s(8e6)}}
        local sleep = package.loaded.clock.sleep_until_us
        package.loaded.clock.sleep_until_us = function(t_us)
           wall_ahead_us = wall_ahead_us + {jump_us}
           sleep(t_us)
        end
        control:begin()
        io.write(now_us / 1e6, " ", control.deadline_us / 1e6, " ")
        now_us = 8.1e6
        io.write(tostring(control:has_ended()), " ", tostring(control:is_late(now_us)))
        """
    ) == ["5", "8", "true", "true"]


def test_a_begin_that_nobody_tells_is_an_error() -> None:
    script = 'opt.begins_file = "begins"\nnew():begin()'
    done = lua_scripts.run(WORLD + script)
    assert "was not told when to begin: no begins" in done.stderr


def test_without_files_only_the_time_ends_a_run() -> None:
    assert told(
        """
        opt.time = 2
        local control = new()
        now_us = 1e6
        control:begin()
        for _, t_us in ipairs{2.9e6, 3.1e6} do
           io.write(tostring(control:has_ended()), " ", tostring(control:is_late(t_us)), " ")
        end
        io.write(tostring(control:admits()))
        """
    ) == ["false", "false", "false", "true", "true"]


def test_threads_beyond_the_sessions_pause_and_come_back() -> None:
    """This one has the number 3: it is the fourth of all."""
    assert told(
        """
        opt.sessions_file = "sessions"
        local control = new()
        io.write(tostring(control:admits()), " ")
        for _, sessions in ipairs{3, 4} do
           files.sessions = {sessions}
           now_us = control.next_sessions_poll_us
           io.write(tostring(control:admits()), " ")
        end
        """
    ) == ["true", "false", "true"]
