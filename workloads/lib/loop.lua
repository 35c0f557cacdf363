-- The loop of one thread: when it starts a transaction, how often it tries, what it records.
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
--
-- Attempts: serialization failures, deadlocks and other errors that lib/dialects.lua calls
-- retryable are tried again, up to --max-attempts attempts, with a random pause below 1, 2, 4 …
-- 100 ms, which draws from numbers of its own: what a thread asks for next does not depend on how
-- often it had to repeat something. Every other error is a failed transaction, recorded with its
-- SQLSTATE.
-- A lost connection ends the run: its figures would describe the outage.
-- So do 100 other failures in a row on one thread, which do not look temporary.
local ffi = require("ffi")
local arrivals = require("arrivals")
local clock = require("clock")
local dialects = require("dialects")
local pq = require("pq")
local recorder = require("recorder")
local seeds = require("seeds")
local splitmix = require("splitmix")

ffi.cdef[[
struct _IO_FILE;
extern struct _IO_FILE *stdout;
void flockfile(struct _IO_FILE *file);
void funlockfile(struct _IO_FILE *file);
void srandom(unsigned int seed);
void sb_rand_thread_init(void);
]]

local loop = {}
local MAX_FAILURES_IN_A_ROW, FIRST_PAUSE_US, LONGEST_PAUSE_US, SLICE_US = 100, 1e3, 1e5, 1e6
local SYSBENCH_ERRORS = 4
local PAUSES = 2 ^ 48  -- a seed that no thread has: its inputs draw from less than that
local LONGEST_WAIT_US, BEGIN_POLL_US, ADMIT_POLL_US = 120e6, 5e3, 2e5

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

-- Whether the connection is gone: connection exceptions, and the server's shutdown, crash or start.
local SHUTDOWN, CRASH, NOT_YET_UP = "57P01", "57P02", "57P03"

local function lost(failure)
   local state = failure.sqlstate
   return failure.lost or state:sub(1, 2) == "08"
      or state == SHUTDOWN or state == CRASH or state == NOT_YET_UP
end

-- Ends the run with a message for the console.
local function give_up(self, failure, why)
   self.recorder:close()
   error(string.format("%s [SQLSTATE %s] %s", why, failure.sqlstate, failure.message), 0)
end

-- Rolls back the failed transaction. Returns an error if that is impossible, which ends the run.
local function leave(self, failure)
   if lost(failure) then return failure end
   if self.conn.queued > 0 or self.conn:in_transaction() then
      if self.conn.queued > 0 then pcall(self.conn.flush, self.conn) end
      local ok, worse = pcall(self.conn.run, self.conn, self.rollback)
      if not ok then return worse end
   end
end

local function pause(self, retries)
   local longest_us = math.min(FIRST_PAUSE_US * 2 ^ retries, LONGEST_PAUSE_US)
   clock.sleep_us(splitmix.draw(self.pauses) * longest_us)
end

-- Errors of our own code are not failures of the database: they end the run as they are.
local function failure_in(self, problem)
   if type(problem) == "table" and problem.sqlstate then return problem end
   self.recorder:close()
   error(tostring(problem), 0)
end

-- Makes all attempts at one transaction. Returns its outcome, the retries, the last error as
-- a record holds it (0: none), and the error itself if it ends the run.
local function attempt(self, kind)
   local retries, sqlstate = 0, 0
   while true do
      local ok, result = pcall(self.workload.execute, kind)
      if ok then
         self.failures = 0
         return result, retries, sqlstate, nil
      end
      local failure = failure_in(self, result)
      local dead = leave(self, failure)
      local retryable = dialects.retryable(failure)
      local again = not dead and retryable and retries + 1 < self.max_attempts
      sqlstate = self.recorder:count_error(again and "retried" or "failed", kind, failure)
      if self.conn.thread_id then ffi.C.sb_counter_inc(self.conn.thread_id, SYSBENCH_ERRORS) end
      if not again then
         if not retryable then self.failures, self.last = self.failures + 1, failure end
         return recorder.FAILED, retries, sqlstate, dead and failure
      end
      pause(self, retries)
      retries = retries + 1
   end
end

-- Executes and records one transaction. due_us: the instant it was scheduled for, or nil; free_us:
-- then, from when on this thread was free for it.
local function execute(self, kind, due_us, free_us)
   local started_us, start_ns, queue_us = clock.now_us(), clock.unix_ns(), 0
   if due_us and free_us < due_us then
      self.recorder:woke_late(started_us - due_us)
   elseif due_us then
      queue_us = started_us - due_us
      start_ns = start_ns - ffi.cast("int64_t", queue_us * 1e3)
   end
   local outcome, retries, sqlstate, dead = attempt(self, kind)
   local ended_us = clock.now_us()
   self.recorder:add(start_ns, ended_us, ended_us - started_us + queue_us, queue_us, sqlstate, kind,
                     outcome, retries)
   if dead then give_up(self, dead, "the connection to the database was lost:") end
   if self.failures >= MAX_FAILURES_IN_A_ROW then
      give_up(self, self.last, "too many failures in a row, the last:")
   end
end

-- Whether the run is over by --ends-file or --begins-file. The file is looked for once a second; it
-- is written when the measured window begins. Without them the run lasts for --time.
local function over(self)
   if not (self.told or self.ends_file) then return false end
   local now_us = clock.now_us()
   if not self.told and now_us >= self.look_us then
      self.look_us = now_us + SLICE_US
      local file = io.open(self.ends_file)
      if file then
         local left_us = tonumber(file:read("*l")) * 1e6 - tonumber(clock.unix_ns()) * 1e-3
         file:close()
         self.told, self.deadline_us = true, now_us + left_us
      end
   end
   return self.told and now_us >= self.deadline_us
end

-- Waits until --begins-file says when the load begins, and then until it does. All threads wait
-- here, connected; the file also says when the run ends, unless --ends-file will.
local function begin_with_others(self)
   local opt, started_us, file = sysbench.opt, clock.now_us(), nil
   while not file do
      file = io.open(opt.begins_file)
      if not file then
         if clock.now_us() - started_us > LONGEST_WAIT_US then
            error("was not told when to begin: no " .. opt.begins_file, 0)
         end
         clock.sleep_us(BEGIN_POLL_US)
      end
   end
   local begins_s, ends_s = file:read("*n", "*n")
   file:close()
   local unix_us = tonumber(clock.unix_ns()) * 1e-3 - clock.now_us()
   local begins_us = begins_s * 1e6 - unix_us
   while clock.now_us() < begins_us do clock.sleep_until_us(begins_us) end
   if ends_s then self.told, self.deadline_us = true, ends_s * 1e6 - unix_us end
end

-- Waits in slices so that the end of the run, or another thread's error, is noticed.
-- If the number of events is limited, sysbench is not asked: asking uses one up.
local function wait_until(self, t_us)
   while true do
      local now = clock.now_us()
      if now >= t_us then return true end
      if over(self) or self.deadline_us and now >= self.deadline_us then return false end
      if sysbench.opt.events == 0 and not ffi.C.sb_more_events(self.thread_id) then return false end
      self.recorder:flush_if_due(now)
      clock.sleep_until_us(math.min(t_us, now + SLICE_US, self.deadline_us or math.huge))
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

-- Whether this thread may begin a transaction, by --sessions-file. Each looks for it itself, five
-- times a second: that takes microseconds, and a thread that looked for all could be busy.
local function admitted(self)
   if not self.sessions_file then return true end
   local now_us = clock.now_us()
   if now_us >= self.admit_us then
      self.admit_us = now_us + ADMIT_POLL_US
      local file = io.open(self.sessions_file)
      if file then
         self.most = file:read("*n")
         file:close()
      end
   end
   return not self.most or sysbench.opt.first_thread + self.thread_id < self.most
end

local function closed(self)
   local id, draw = self.thread_id, self.workload.draw
   while not over(self) and ffi.C.sb_more_events(id) do
      if admitted(self) then
         local kind = draw()
         if not kind then break end
         ffi.C.sb_event_start(id)
         execute(self, kind, nil)
         ffi.C.sb_event_stop(id)
      else
         wait_until(self, self.admit_us)
      end
   end
end

-- schedule: due_us() is the instant of the next transaction; done(now_us) moves on;
-- overdue(now_us), asked last, counts what should have started by then and has not; and, at a rate,
-- for how long. What these would have been is drawn, as it would have been.
local function scheduled(self, schedule)
   local id, draw = self.thread_id, self.workload.draw
   while true do
      local due_us, free_us = schedule.due_us(), clock.now_us()
      if over(self) or not wait_until(self, due_us) or not ffi.C.sb_more_events(id) then break end
      local kind = draw()
      ffi.C.sb_event_start(id)
      execute(self, kind, due_us, free_us)
      ffi.C.sb_event_stop(id)
      schedule.done(clock.now_us())
   end
   local ended_us = math.min(clock.now_us(), self.deadline_us or math.huge)
   local unstarted, waits_us = schedule.overdue(ended_us)
   self.recorder.unstarted = unstarted
   for _, wait_us in ipairs(waits_us or {}) do self.recorder:never_began(draw(), wait_us) end
end

-- workload: conn; batches: whether statements travel together; draw() -> kind, and draws the
-- transaction's input; nil when, in a closed loop, none is left; execute(kind) -> outcome, one
-- attempt with that input; new_schedule(): if the workload has its own; plain_sql: whether it sends
-- its statements by conn:exec and COPY, which libpq's pipeline mode excludes.
function loop.new(thread_id, workload, types)
   local opt = sysbench.opt
   local rollback = workload.conn:prepare("ROLLBACK")
   if not workload.plain_sql then workload.conn:start_pipeline(workload.batches) end
   local thread_seed = seeds.thread(opt.seed, opt.first_thread + thread_id)
   local pauses = splitmix.new(PAUSES + thread_seed)
   local records = recorder.open(opt.out, thread_id, types, opt.record)
   workload.conn.while_waiting = function() records:flush_if_due(clock.now_us()) end
   -- What is sent by conn:exec is waited for in C, where nothing can be written meanwhile.
   if workload.plain_sql then records.flush_after_us = 0 end
   return {thread_id = thread_id, workload = workload, conn = workload.conn, rollback = rollback,
           failures = 0, pauses = pauses, max_attempts = opt.max_attempts, recorder = records}
end

function loop.run(self)
   local opt, workload = sysbench.opt, self.workload
   seed_keys()
   clock.wake_on_time()
   if opt.ends_file ~= "" then self.ends_file, self.look_us = opt.ends_file, 0 end
   if opt.sessions_file ~= "" then self.sessions_file, self.admit_us = opt.sessions_file, 0 end
   if opt.time > 0 then self.deadline_us = clock.now_us() + opt.time * 1e6 end
   if opt.begins_file ~= "" then loop.protected(begin_with_others, self) end
   self.recorder.begun_ms = math.floor(tonumber(clock.unix_ns()) * 1e-6)
   if workload.new_schedule then
      scheduled(self, workload.new_schedule())
   elseif opt.arrival_rate > 0 then
      scheduled(self, arrivals.schedule(opt.arrival_rate))
   else
      closed(self)
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
   mode.threads, mode.arrival_rate_per_s, mode.time_s = opt.threads, opt.arrival_rate, opt.time
   mode.isolation, mode.max_attempts, mode.seed = opt.isolation, opt.max_attempts, opt.seed
   recorder.describe(opt.out, types, mode)
end

return loop
