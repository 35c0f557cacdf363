-- Index build: a transaction is CREATE INDEX on column k of the next of the tables bulk1…N. The
-- run ends when all are built; if --time is over before, with builds open, it fails: what an
-- unfinished build would still have taken is not known, so no rate is.
-- Where statements that change the catalog conflict (YugabyteDB), one thread builds them in turn.
local here = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = here .. "/../lib/?.lua;" .. here .. "/?.lua;" .. package.path

local ffi = require("ffi")
local clock = require("clock")
local formula = require("formula")
local shared = require("shared")

ffi.cdef[[typedef struct { int64_t lock[8]; double taken, built; } tb_builds;]]
local ADDRESS = "TIERBENCH_BUILDS"
local STRUCT = "tb_builds"
local CANCELED = "57014"
local work = {}

function work.mode(facts)
   return {bytes_per_transaction = facts.rows * formula.ROW_BYTES, payload = "sorted",
           ends_with_work = true}
end

function work.share() shared.create(ADDRESS, STRUCT) end

local function add(builds, what)
   return shared.locked(builds.lock, function()
      builds[what] = builds[what] + 1
      return builds[what]
   end)
end

function work.connected(conn, facts, number)
   local builds = shared.find(ADDRESS, STRUCT)
   local workload = {}
   local t = 0
   local in_turn = facts.dialect.analyze_in_turn and number > 0
   local deadline_us = nil

   local function too_late()
      error(string.format("%d of %d indexes were built when the time was over: a longer `measure` "
                          .. "gives them time", builds.built, facts.tables), 0)
   end

   function workload.draw()
      deadline_us = deadline_us or clock.now_us() + sysbench.opt.time * 1e6
      t = in_turn and facts.tables + 1 or add(builds, "taken")
      return t <= facts.tables and 0 or nil
   end

   function workload.execute()
      local left_ms = math.floor((deadline_us - clock.now_us()) / 1e3)
      if left_ms < 1 then too_late() end
      conn:exec("SET statement_timeout = " .. left_ms)
      local ok, problem = pcall(conn.exec, conn,
                                string.format("CREATE INDEX bulk%d_k ON bulk%d (k ASC)", t, t))
      if not ok and problem.sqlstate == CANCELED then too_late() end
      if not ok then error(problem, 0) end
      add(builds, "built")
      return 0
   end

   -- Tables that no thread took before the time was over.
   function workload.finish()
      if not in_turn and builds.taken < facts.tables then too_late() end
   end

   return workload
end

require("threads").define("index", {}, work)
