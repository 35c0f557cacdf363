-- The attempts at a transaction: what is tried again, after which pause, and what ends the run.
--
-- Serialization failures, deadlocks and other errors that dialects.lua calls retryable are tried
-- again, up to --max-attempts attempts, with a random pause below 1, 2, 4 … 100 ms. It is drawn
-- from numbers of its own: what a thread asks for next does not depend on how often it had to
-- repeat something. Every other error is a failed transaction, recorded with its SQLSTATE.
-- A lost connection ends the run: its figures would describe the outage.
-- So do 100 other failures in a row on one thread, which do not look temporary.
local ffi = require("ffi")
local clock = require("clock")
local dialects = require("dialects")
local recorder = require("recorder")
local seeds = require("seeds")
local splitmix = require("splitmix")

local MAX_FAILURES_IN_A_ROW = 100
local FIRST_PAUSE_US = 1e3
local LONGEST_PAUSE_US = 1e5
local SYSBENCH_ERRORS = 4
local PAUSES = 2 ^ 48  -- added to the seed of a thread: its inputs are seeded with less than that
local NO_CONNECTION = "08"
local SHUTDOWN = "57P01"
local CRASH = "57P02"
local NOT_YET_UP = "57P03"

local attempts = {}
local Attempts = {}
Attempts.__index = Attempts

-- workload: as loop.lua describes it; rollback: its connection's statement; records: the recorder
-- of this thread, whose number is that among all threads of the load.
function attempts.new(workload, rollback, records, thread_number)
   local opt = sysbench.opt
   return setmetatable({
      workload = workload, conn = workload.conn, rollback = rollback, recorder = records,
      max_attempts = opt.max_attempts, failures_in_a_row = 0, last_failure = nil,
      pauses = splitmix.new(PAUSES + seeds.thread(opt.seed, thread_number)),
   }, Attempts)
end

-- Whether the connection is gone: connection exceptions, and the server's shutdown, crash or start.
local function is_connection_lost(failure)
   local state = failure.sqlstate
   return failure.lost or state:sub(1, 2) == NO_CONNECTION
      or state == SHUTDOWN or state == CRASH or state == NOT_YET_UP
end

-- Rolls back the failed transaction. Returns nil, or the failure by which that is impossible, which
-- ends the run.
function Attempts:roll_back(failure)
   if is_connection_lost(failure) then return failure end
   local conn = self.conn
   local is_queued = conn.queued > 0
   if not is_queued and not conn:in_transaction() then return nil end
   if is_queued then pcall(conn.flush, conn) end
   local ok, rollback_failure = pcall(conn.run, conn, self.rollback)
   if ok then return nil end
   return rollback_failure
end

function Attempts:pause(retries)
   local longest_us = math.min(FIRST_PAUSE_US * 2 ^ retries, LONGEST_PAUSE_US)
   clock.sleep_us(splitmix.draw(self.pauses) * longest_us)
end

-- Errors of our own code are not failures of the database: they end the run as they are.
function Attempts:failure_in(problem)
   if type(problem) == "table" and problem.sqlstate then return problem end
   self.recorder:close()
   error(tostring(problem), 0)
end

-- Makes all attempts at one transaction. Returns its outcome, the retries, the SQLSTATE of the last
-- failure as a record holds it (0: none), and the failure that ends the run (nil: none).
function Attempts:make(kind)
   local retries = 0
   local sqlstate = 0
   while true do
      local ok, result = pcall(self.workload.execute, kind)
      if ok then
         self.failures_in_a_row = 0
         return result, retries, sqlstate, nil
      end
      local failure = self:failure_in(result)
      local end_of_run = self:roll_back(failure)
      local is_retryable = dialects.retryable(failure)
      local tries_again = not end_of_run and is_retryable and retries + 1 < self.max_attempts
      local counted_as = tries_again and "retried" or "failed"
      sqlstate = self.recorder:count_error(counted_as, kind, failure)
      if self.conn.thread_id then ffi.C.sb_counter_inc(self.conn.thread_id, SYSBENCH_ERRORS) end
      if not tries_again then
         if not is_retryable then
            self.failures_in_a_row = self.failures_in_a_row + 1
            self.last_failure = failure
         end
         return recorder.FAILED, retries, sqlstate, end_of_run and failure
      end
      self:pause(retries)
      retries = retries + 1
   end
end

-- Ends the run with a message for the console.
function Attempts:give_up(failure, why)
   self.recorder:close()
   error(string.format("%s [SQLSTATE %s] %s", why, failure.sqlstate, failure.message), 0)
end

-- Ends the run if the connection is lost, by this failure, or if too many others came in a row.
function Attempts:end_run_if_hopeless(lost)
   if lost then self:give_up(lost, "the connection to the database was lost:") end
   if self.failures_in_a_row >= MAX_FAILURES_IN_A_ROW then
      self:give_up(self.last_failure, "too many failures in a row, the last:")
   end
end

return attempts
