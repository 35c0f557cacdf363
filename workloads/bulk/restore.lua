-- Restore: what pg_restore --jobs does with a dump of the bulk tables, into those load.lua left
-- empty. A transaction is one step, and a thread takes the next one: of each table all --table-rows
-- by one COPY, its primary key, and an index on k; then, of each second table, a foreign key on the
-- table before it, which is checked. A step waits for those that it rests on.
-- The rows are made while they are sent, so what reading the dump would cost is not in it. The run
-- ends with the last step; if --time is over before, it fails, as index.lua does.
-- Where the key is there first and statements that change the catalog conflict (YugabyteDB), there
-- is no step for keys, and indexes and foreign keys are made in turn.
local here = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = here .. "/../lib/?.lua;" .. here .. "/?.lua;" .. package.path

local ffi = require("ffi")
local clock = require("clock")
local dialects = require("dialects")
local formula = require("formula")
local layout = require("layout")
local shared = require("shared")

ffi.cdef[[typedef struct { int64_t lock[8]; double taken, ended, failed, done[80]; } tb_steps;]]
local ADDRESS = "TIERBENCH_STEPS"
local STRUCT = "tb_steps"
local CANCELED = "57014"
local CHUNK_ROWS = 2500
local POLL_US = 5e3
local TYPES = {"copy", "key", "index", "foreign_key"}
local COPY = 0
local KEY = 1
local INDEX = 2
local FOREIGN_KEY = 3
local SQL = {
   [KEY] = "ALTER TABLE bulk%d ADD PRIMARY KEY (id)",
   [INDEX] = "CREATE INDEX bulk%d_k ON bulk%d (k ASC)",
   [FOREIGN_KEY] = "ALTER TABLE bulk%d ADD FOREIGN KEY (id) REFERENCES bulk%d (id)",
}
local work = {}

-- The steps in order; needs: the numbers of those before that must have ended.
local function steps_of(tables, dialect)
   local steps = {}
   local last_step = {}
   local function add(kind, t, ...)
      local needs = {...}
      if dialect.analyze_in_turn and #steps > tables then needs[#needs + 1] = #steps end
      steps[#steps + 1] = {kind = kind, t = t, needs = needs}
      last_step[t] = #steps
   end
   for t = 1, tables do add(COPY, t) end
   for t = 1, dialect.keys_first and 0 or tables do add(KEY, t, last_step[t]) end
   for t = 1, tables do add(INDEX, t, last_step[t]) end
   for t = 2, tables, 2 do add(FOREIGN_KEY, t, last_step[t - 1], last_step[t]) end
   return steps
end

function work.mode(facts)
   local bytes = facts.tables * sysbench.opt.table_rows * formula.ROW_BYTES
   local steps = #steps_of(facts.tables, dialects.named(facts.dialect))
   return {bytes_per_transaction = bytes / steps, payload = "written", ends_with_work = true}
end

function work.share() shared.create(ADDRESS, STRUCT) end

local function copy(conn, t, dialect)
   local rows = sysbench.opt.table_rows
   local buffer = formula.buffer(CHUNK_ROWS)
   local total = 0LL
   conn:copy_start("COPY bulk" .. t .. " FROM STDIN" .. dialect.copy_options)
   for first = 1, rows, CHUNK_ROWS do
      local bytes, sum = formula.fill(buffer, first, math.min(first + CHUNK_ROWS - 1, rows))
      conn:copy_data(buffer, bytes)
      total = total + sum
   end
   conn:copy_end()
   layout.expect(conn, t, 0, rows, formula.text(total))
end

local function carry_out(conn, step, dialect)
   if step.kind == COPY then return copy(conn, step.t, dialect) end
   local other = step.kind == INDEX and step.t or step.t - 1
   conn:exec(SQL[step.kind]:format(step.t, other))
end

function work.connected(conn, facts)
   local state = shared.find(ADDRESS, STRUCT)
   local workload = {}
   local steps = steps_of(facts.tables, facts.dialect)
   local number = 0
   local deadline_us = nil

   local function too_late()
      error(string.format("%d of %d steps of the restore had ended when the time was over: a "
                          .. "longer `measure` gives them time", state.ended, #steps), 0)
   end

   local function may_begin(step)
      for _, needed in ipairs(step.needs) do
         if state.done[needed] == 0 then return false end
      end
      return true
   end

   function workload.draw()
      deadline_us = deadline_us or clock.now_us() + sysbench.opt.time * 1e6
      number = shared.locked(state.lock, function()
         state.taken = state.taken + 1
         return state.taken
      end)
      local step = steps[number]
      while step and not may_begin(step) do
         if state.failed > 0 then return nil end  -- which that thread tells
         if clock.now_us() > deadline_us then too_late() end
         clock.sleep_us(POLL_US)
      end
      return step and step.kind
   end

   function workload.execute()
      local left_ms = math.floor((deadline_us - clock.now_us()) / 1e3)
      if left_ms < 1 then too_late() end
      conn:exec("SET statement_timeout = " .. left_ms)
      local ok, problem = pcall(carry_out, conn, steps[number], facts.dialect)
      if not ok then
         if problem.sqlstate and dialects.retryable(problem) then error(problem, 0) end
         state.failed = 1
         if problem.sqlstate == CANCELED then too_late() end
         error(tostring(problem), 0)  -- what rests on this step could not be made
      end
      shared.locked(state.lock, function() state.ended = state.ended + 1 end)
      state.done[number] = 1
      return 0
   end

   -- Steps that no thread took before the time was over.
   function workload.finish()
      if state.taken < #steps then too_late() end
   end

   return workload
end

require("threads").define(TYPES, {table_rows = {"Rows that each table gets", 1000000}}, work)
