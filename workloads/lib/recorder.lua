-- Records every transaction of a run, cheaply enough to be always on.
--
-- <out>/latency-<thread>.bin: packed little-endian records of 24 bytes, no header, in
-- the order in which the thread finished its transactions:
--   int64  start_ns    unix time (CLOCK_REALTIME) at which the transaction was started
--                      or, in open loop, was scheduled to start if no thread was free then
--   uint32 latency_us  from start_ns to its end: retries and back-off included, and in open
--                      loop or with think time queue_us as well (CLOCK_MONOTONIC)
--   uint32 queue_us    open loop: from the scheduled to the actual start, where no thread was free
--                      for it; think time: from a terminal's turn until it had a connection;
--                      otherwise 0
--   uint32 sqlstate    0, or the five characters of the last error read as a base-36
--                      number (of the error that ended it, or of the last one retried)
--   uint8  type        index, from 0, into recorder.json's "types"
--   uint8  outcome     0 committed, 1 rolled back on purpose, 2 failed
--   uint16 retries     attempts beyond the first
-- <out>/recorder.json, before the first transaction:
--   {"version":1,"record_bytes":24,"types":[…],"mode":{…}}
-- <out>/errors-<thread>.json, at the end of the thread:
--   {"thread":n,"retried":[{"type","sqlstate","count","message"}…],"failed":[the same…],
--    "unstarted":m,"unstarted_waits":{type:[…]},"begun_ms":t,
--    "woke_late":{"count":n,"total_us":x,"most_us":y}}   message: the first one seen;
--    unstarted: open loop, transactions whose scheduled time came within the run but which no
--    thread got to start; unstarted_waits: how long these had been due at its end, in microseconds,
--    of the first 10,000 at a rate; begun_ms: when the thread began (Unix); woke_late: open loop
--    and think time, by how much starts came after their time though the thread had slept until
--    then
-- Records are written when 64 KiB are full and once they are a second old, also while an answer of
-- the database does not come (flush_if_due, of which the loop sees to it): a killed run keeps all
-- but its last two seconds, and all that came before a longer stall. A last record may then be cut:
-- a reader drops the bytes beyond a multiple of 24.
local ffi = require("ffi")
local json = require("json")

ffi.cdef[[
#pragma pack(push, 1)
typedef struct {
   int64_t start_ns; uint32_t latency_us, queue_us, sqlstate;
   uint8_t type, outcome; uint16_t retries;
} tb_record;
#pragma pack(pop)
int open(const char *path, int flags, ...);
long write(int fd, const void *data, size_t n);
int close(int fd);
char *strerror(int number);
]]

local C = ffi.C
local RECORD_BYTES = 24
local CAPACITY = 2730
local FLUSH_AFTER_US = 1e6
local WRONLY_CREATE_TRUNCATE = 1 + 64 + 512
local UINT16_MAX = 65535
local UINT32_MAX = 4294967295
local INTERRUPTED = 4  -- EINTR
assert(ffi.sizeof("tb_record") == RECORD_BYTES)

local recorder = {COMMITTED = 0, ROLLED_BACK = 1, FAILED = 2}
local Recorder = {}
Recorder.__index = Recorder

-- Raises an error with the system's reason.
local function fail(what)
   error(what .. ": " .. ffi.string(C.strerror(ffi.errno())), 0)
end

local function write_file(path, content)
   local file, problem = io.open(path, "w")
   if not file then error("cannot write " .. path .. ": " .. problem, 0) end
   file:write(content, "\n")
   file:close()
end

-- Once per run, before the threads start. mode: settings that a reader needs to
-- understand the records (think, arrival_rate_per_s, …).
function recorder.describe(out, types, mode)
   write_file(out .. "/recorder.json",
              json{version = 1, record_bytes = RECORD_BYTES, types = types, mode = mode})
end

-- on=false: only errors are recorded (to measure what recording costs).
function recorder.open(out, thread, types, on)
   local self = setmetatable({out = out, thread = thread, types = types, on = on, n = 0,
                              stored_bytes = 0, flushed_us = 0, flush_after_us = FLUSH_AFTER_US,
                              errors = {retried = {}, failed = {}}, unstarted = 0,
                              waits_us = {}, late = {count = 0, total_us = 0, most_us = 0}},
                             Recorder)
   if on then
      local path = string.format("%s/latency-%d.bin", out, thread)
      self.fd = C.open(path, WRONLY_CREATE_TRUNCATE, ffi.cast("int", 420))
      if self.fd < 0 then fail("cannot write " .. path) end
      self.buffer = ffi.new("tb_record[?]", CAPACITY)
   end
   return self
end

-- Writes what is in the buffer. If that fails, what was written of it is not written again.
function Recorder:flush()
   local bytes = self.n * RECORD_BYTES
   local buffer = ffi.cast("const char *", self.buffer)
   while self.stored_bytes < bytes do
      local left_bytes = bytes - self.stored_bytes
      local written = tonumber(C.write(self.fd, buffer + self.stored_bytes, left_bytes))
      if written > 0 then
         self.stored_bytes = self.stored_bytes + written
      elseif written == 0 or ffi.errno() ~= INTERRUPTED then
         fail("cannot write records")
      end
   end
   self.n = 0
   self.stored_bytes = 0
end

-- Writes what is in the buffer if nothing was written for a second (or flush_after_us).
function Recorder:flush_if_due(now_us)
   if self.n > 0 and now_us - self.flushed_us > self.flush_after_us then
      self:flush()
      self.flushed_us = now_us
   end
end

function Recorder:add(start_ns, end_us, latency_us, queue_us, sqlstate, kind, outcome, retries)
   if not self.on then return end
   assert(self.n < CAPACITY, "the buffer of records could not be written, and is full")
   local r = self.buffer[self.n]
   r.start_ns = start_ns
   r.latency_us = math.min(latency_us + 0.5, UINT32_MAX)
   r.queue_us = math.min(queue_us + 0.5, UINT32_MAX)
   r.sqlstate = sqlstate
   r.type = kind
   r.outcome = outcome
   r.retries = math.min(retries, UINT16_MAX)
   self.n = self.n + 1
   if self.n == CAPACITY then
      self:flush()
      self.flushed_us = end_us
   end
   self:flush_if_due(end_us)
end

-- which: "retried" or "failed". Returns the SQLSTATE as a record holds it.
function Recorder:count_error(which, kind, failure)
   local key = kind .. failure.sqlstate
   local entry = self.errors[which][key]
   if not entry then
      entry = {type = self.types[kind + 1], sqlstate = failure.sqlstate, count = 0,
               message = failure.message}
      self.errors[which][key] = entry
   end
   entry.count = entry.count + 1
   return tonumber(failure.sqlstate, 36) or 0
end

-- A start that came so long after its time, because the thread slept for longer than it should.
function Recorder:woke_late(late_us)
   local late = self.late
   late.count = late.count + 1
   late.total_us = late.total_us + late_us
   late.most_us = math.max(late.most_us, late_us)
end

-- A transaction that was due for so long when the run ended.
function Recorder:never_began(kind, wait_us)
   local name = self.types[kind + 1]
   self.waits_us[name] = self.waits_us[name] or {}
   table.insert(self.waits_us[name], wait_us)
end

local function listed(entries)
   local list = {}
   for _, entry in pairs(entries) do list[#list + 1] = entry end
   table.sort(list, function(a, b) return a.type .. a.sqlstate < b.type .. b.sqlstate end)
   return list
end

function Recorder:close()
   if self.closed then return end
   self.closed = true
   if self.on then
      self:flush()
      C.close(self.fd)
   end
   write_file(string.format("%s/errors-%d.json", self.out, self.thread),
              json{thread = self.thread, retried = listed(self.errors.retried),
                            failed = listed(self.errors.failed), unstarted = self.unstarted,
                            unstarted_waits = self.waits_us, begun_ms = self.begun_ms,
                            woke_late = self.late})
end

return recorder
