-- Arrivals at random instants (a Poisson process), one schedule for all threads of a program.
--
-- A free thread, that is a free database connection, takes the next arrival before it is due and
-- sleeps until then; so an arrival waits only while all connections are busy, as at a connection
-- pool. With a schedule for each thread it would also wait behind its own thread's transaction
-- while others are idle: near capacity latencies were two to three times too long.
-- The instants follow from the seed alone, whichever thread takes them.
local ffi = require("ffi")
local clock = require("clock")
local shared = require("shared")
local splitmix = require("splitmix")

-- next_us: when the arrival that nobody has taken yet is due.
ffi.cdef[[
typedef struct { int64_t lock[8]; uint64_t state; double next_us; } tb_arrivals;
]]

local MOST_WAITS = 10000  -- of a thread: more are overload, whose latency is compared with nothing
local ADDRESS = "TIERBENCH_ARRIVALS"
local STRUCT = "tb_arrivals"
local arrivals = {}

-- Once, before the threads start.
function arrivals.create(seed)
   shared.create(ADDRESS, STRUCT).state = seed
end

-- A thread's view of the arrivals, as lib/loop.lua wants a schedule. The first one made sets the
-- instant at which they begin.
function arrivals.schedule(rate_per_s)
   local pool = shared.find(ADDRESS, STRUCT)
   local schedule = {}
   local taken_us = nil  -- when the arrival is due that this thread has taken

   local function move_on()
      local due_us = pool.next_us
      pool.next_us = due_us - math.log(1 - splitmix.draw(pool)) / rate_per_s * 1e6
      return due_us
   end

   function schedule.due_us()
      taken_us = taken_us or shared.locked(pool.lock, move_on)
      return taken_us
   end

   function schedule.done() taken_us = nil end

   -- Of those that are overdue when the run is over, each is counted by one thread only; and for
   -- how long the first of them have been.
   function schedule.overdue(now_us)
      local n = 0
      local waits_us = {}
      local function count(due_us)
         n = n + 1
         if n <= MOST_WAITS then waits_us[n] = math.floor(now_us - due_us + 0.5) end
      end
      shared.locked(pool.lock, function()
         if taken_us and taken_us < now_us then count(taken_us) end
         while pool.next_us < now_us do count(move_on()) end
      end)
      return n, waits_us
   end

   shared.locked(pool.lock, function()
      if pool.next_us > 0 then return end
      pool.next_us = clock.now_us()
      move_on()
   end)
   return schedule
end

return arrivals
