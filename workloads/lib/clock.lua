-- Clocks and sleeping for the load generators.
-- now_us(): CLOCK_MONOTONIC in microseconds (a Lua number with a fraction); every
-- duration comes from it. unix_ns(): CLOCK_REALTIME as int64; used only for the start
-- of a transaction, so that it can be compared with samples of collectors.
local ffi = require("ffi")

ffi.cdef[[
typedef struct { long tv_sec; long tv_nsec; } tb_timespec;
int clock_gettime(int clock, tb_timespec *t);
int clock_nanosleep(int clock, int flags, const tb_timespec *t, tb_timespec *left);
int prctl(int option, unsigned long a, ...);
]]

local REALTIME = 0
local MONOTONIC = 1
local ABSOLUTE = 1
local SET_TIMERSLACK = 29
local LEAST_SLACK_NS = 1
local C = ffi.C
local ts = ffi.new("tb_timespec")
local clock = {}

function clock.now_us()
   C.clock_gettime(MONOTONIC, ts)
   return tonumber(ts.tv_sec) * 1e6 + tonumber(ts.tv_nsec) * 1e-3
end

function clock.unix_ns()
   C.clock_gettime(REALTIME, ts)
   return ts.tv_sec * 1000000000LL + ts.tv_nsec
end

-- From now on the calling thread's sleeps end when they should. By default the kernel may put each
-- end off by 50 us, its timer slack, which was 12 to 19 % of a fast disk's median at a low rate.
function clock.wake_on_time()
   C.prctl(SET_TIMERSLACK, LEAST_SLACK_NS)
end

-- Sleeps until the monotonic instant. A signal may end the sleep early, so callers loop.
function clock.sleep_until_us(t_us)
   local wake = ffi.new("tb_timespec")
   wake.tv_sec = math.floor(t_us / 1e6)
   wake.tv_nsec = math.floor((t_us - math.floor(t_us / 1e6) * 1e6) * 1e3)
   C.clock_nanosleep(MONOTONIC, ABSOLUTE, wake, nil)
end

function clock.sleep_us(duration_us)
   clock.sleep_until_us(clock.now_us() + duration_us)
end

return clock
