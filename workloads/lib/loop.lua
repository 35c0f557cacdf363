-- The loop of one thread: when it starts a transaction, and what it records of it. How often it
-- tries, and what ends the run, is in attempts.lua.
--
-- closed loop   the next transaction starts when the last one ended
-- open loop     --arrival-rate=R transactions/s over all threads, at random instants that they
--               share (lib/arrivals.lua); latency counts from the instant drawn; what finds no
--               free thread starts as soon as there is one, so no arrival is skipped
-- own schedule  the workload says when the next one is due (terminals with think times)
--
-- Several programs that share a load (--first-thread, --part) number their threads through, so that
-- each thread draws what it would draw if one program had them all; they begin at the instant that
-- --begins-file says.
--
-- A thread that was free before the instant, and woke up late for it, is late by itself: that time
-- is the load generator's and not the database's. It is in no latency, and noted apart.
local ffi = require("ffi")
local arrivals = require("arrivals")
local attempts = require("attempts")
local clock = require("clock")
local control_files = require("control_files")
local pq = require("pq")
local recorder = require("recorder")
local seeds = require("seeds")

ffi.cdef[[
struct _IO_FILE;
extern struct _IO_FILE *stdout;
void flockfile(struct _IO_FILE *file);
void funlockfile(struct _IO_FILE *file);
void srandom(unsigned int seed);
void sb_rand_thread_init(void);
]]

local SLICE_US = 1e6  -- of a wait

local loop = {}

-- Options every workload of ours understands.
loop.options = {
   out = {"Directory for recorder.json, latency-<thread>.bin, errors-<thread>.json", "/out"},
   record = {"Keep a record of every transaction", true},
   arrival_rate = {"Open loop: transactions per second over all threads (0: closed loop)", 0},
   max_attempts = {"Attempts per transaction at serialization failures and deadlocks", 10},
   isolation = {"Transaction isolation level", "read committed"},
   ends_file = {"File that will hold when the run ends, in Unix seconds (empty: after --time)", ""},
   begins_file = {"File that will hold when the load begins and ends, in Unix seconds", ""},
   sessions_file = {"File that may come to hold how many threads of a closed loop go on", ""},
   first_thread = {"Number of the first thread, where several programs share a load", 0},
   part = {"Which of the programs that share a load this is: 2/3", "1/1"},
   seed = {"Seed of keys, arrival times and all other random numbers", 1},
}

function loop.add_options(options)
   for name, definition in pairs(loop.options) do options[name] = options[name] or definition end
   return options
end

-- Opens a connection for a workload. sysbench's own driver is created too but not used:
-- without it sysbench reports bare events instead of transactions, queries and errors
-- (counted by report_queries_as).
function loop.connect(thread_id)
   local opt = sysbench.opt
   local number = opt.first_thread + thread_id
   math.randomseed(seeds.thread(opt.seed, number))
   loop.driver = sysbench.sql.driver("pgsql")
   local address = pq.address(opt, number)
   local conn = pq.connect(address)
   conn:exec("SET default_transaction_isolation = '" .. opt.isolation:gsub("'", "") .. "'")
   conn:report_queries_as(thread_id)
   return conn
end

-- Calls f and turns its errors into strings, because sysbench prints nothing else.
function loop.protected(f, ...)
   local ok, result = pcall(f, ...)
   if not ok then error(tostring(result), 0) end
   return result
end

-- Executes and records one transaction. due_us: the instant it was scheduled for, or nil; free_us:
-- then, from when on this thread was free for it.
local function execute(self, kind, due_us, free_us)
   local started_us = clock.now_us()
   local start_ns = clock.unix_ns()
   local queue_us = 0
   if due_us and free_us < due_us then
      self.recorder:woke_late(started_us - due_us)
   elseif due_us then
      queue_us = started_us - due_us
      start_ns = start_ns - ffi.cast("int64_t", queue_us * 1e3)
   end
   local outcome, retries, sqlstate, lost = self.attempts:make(kind)
   local ended_us = clock.now_us()
   self.recorder:add(start_ns, ended_us, ended_us - started_us + queue_us, queue_us, sqlstate, kind,
                     outcome, retries)
   self.attempts:end_run_if_hopeless(lost)
end

-- Waits until an instant, in slices so that the end of the run, or another thread's error, is
-- noticed. Returns whether the instant came before the end.
local function wait_until(self, t_us)
   local control = self.control
   while true do
      local now_us = clock.now_us()
      if now_us >= t_us then return true end
      if control:has_ended() or control:is_late(now_us) then return false end
      -- If the number of events is limited, sysbench is not asked: asking uses one up.
      if sysbench.opt.events == 0 and not ffi.C.sb_more_events(self.thread_id) then return false end
      self.recorder:flush_if_due(now_us)
      clock.sleep_until_us(math.min(t_us, now_us + SLICE_US, control.deadline_us or math.huge))
   end
end

-- Makes sysbench.rand follow --seed. sysbench's own --rand-seed does not work for threads:
-- all of them are seeded from one sequence (random()), in the order in which they happen
-- to start. All have started by now, so it is enough that only one thread at a time seeds
-- itself: stdout's lock is one that the threads' separate Lua states share.
local function seed_keys()
   ffi.C.flockfile(ffi.C.stdout)
   ffi.C.srandom(math.random(0, 2147483647))
   ffi.C.sb_rand_thread_init()
   ffi.C.funlockfile(ffi.C.stdout)
end

local function run_closed_loop(self)
   local id = self.thread_id
   local control = self.control
   while not control:has_ended() and ffi.C.sb_more_events(id) do
      if control:admits() then
         local kind = self.workload.draw()
         if not kind then break end
         ffi.C.sb_event_start(id)
         execute(self, kind, nil)
         ffi.C.sb_event_stop(id)
      else
         wait_until(self, control.next_sessions_poll_us)
      end
   end
end

-- Counts the transactions that should have started before the end and did not. What these would
-- have been is drawn, as it would have been.
local function record_unstarted(self, schedule)
   local ended_us = math.min(clock.now_us(), self.control.deadline_us or math.huge)
   local unstarted, waits_us = schedule.overdue(ended_us)
   self.recorder.unstarted = unstarted
   for _, wait_us in ipairs(waits_us or {}) do
      self.recorder:never_began(self.workload.draw(), wait_us)
   end
end

-- schedule: due_us() is the instant of the next transaction; done(now_us) moves on;
-- overdue(now_us), asked last, returns how many should have started by then and have not; and, at a
-- rate, since when each has been due.
local function run_on_schedule(self, schedule)
   local id = self.thread_id
   while true do
      local due_us = schedule.due_us()
      local free_us = clock.now_us()
      if self.control:has_ended() or not wait_until(self, due_us) then break end
      if not ffi.C.sb_more_events(id) then break end
      local kind = self.workload.draw()
      ffi.C.sb_event_start(id)
      execute(self, kind, due_us, free_us)
      ffi.C.sb_event_stop(id)
      schedule.done(clock.now_us())
   end
   record_unstarted(self, schedule)
end

-- workload: conn; batches: whether statements travel together; draw() -> kind, and draws the
-- transaction's input; nil when, in a closed loop, none is left; execute(kind) -> outcome, one
-- attempt with that input; new_schedule(): if the workload has its own; plain_sql: whether it sends
-- its statements by conn:exec and COPY, which libpq's pipeline mode excludes.
function loop.new(thread_id, workload, types)
   local opt = sysbench.opt
   local conn = workload.conn
   local rollback = conn:prepare("ROLLBACK")
   if not workload.plain_sql then conn:start_pipeline(workload.batches) end
   local thread_number = opt.first_thread + thread_id
   local records = recorder.open(opt.out, thread_id, types, opt.record)
   conn.while_waiting = function() records:flush_if_due(clock.now_us()) end
   -- What is sent by conn:exec is waited for in C, where nothing can be written meanwhile.
   if workload.plain_sql then records.flush_after_us = 0 end
   return {thread_id = thread_id, workload = workload, conn = conn, recorder = records,
           attempts = attempts.new(workload, rollback, records, thread_number),
           control = control_files.new(opt, thread_number)}
end

function loop.run(self)
   local opt = sysbench.opt
   local workload = self.workload
   seed_keys()
   clock.wake_on_time()
   loop.protected(self.control.begin, self.control)
   self.recorder.begun_ms = math.floor(tonumber(clock.unix_ns()) * 1e-6)
   if workload.new_schedule then
      run_on_schedule(self, workload.new_schedule())
   elseif opt.arrival_rate > 0 then
      run_on_schedule(self, arrivals.schedule(opt.arrival_rate))
   else
      run_closed_loop(self)
   end
end

function loop.done(self)
   self.recorder:close()
   self.conn:close()
end

-- Once per run, in init(): refuses contradictory options, makes what the threads share, then writes
-- recorder.json.
function loop.describe(types, mode)
   local opt = sysbench.opt
   if opt.rate > 0 then
      error("use --arrival-rate, not --rate: sysbench's queue aborts the run when it is full", 0)
   end
   arrivals.create(seeds.thread(opt.seed, opt.first_thread))
   mode = mode or {}
   mode.threads = opt.threads
   mode.arrival_rate_per_s = opt.arrival_rate
   mode.time_s = opt.time
   mode.isolation = opt.isolation
   mode.max_attempts = opt.max_attempts
   mode.seed = opt.seed
   recorder.describe(opt.out, types, mode)
end

return loop
