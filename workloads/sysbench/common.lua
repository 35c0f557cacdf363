-- What point_select.lua and insert.lua share: sysbench's own oltp_common for options,
-- tables, prepare and cleanup; our loop, connection and recorder for the run.
require("oltp_common")
local loop = require("loop")

local common = {}

-- name: the transaction type in recorder.json. sql: the statement, %u for the table's
-- number. types: its parameters' types as in lib/pq.lua. arguments(): draws their values.
function common.define(name, sql, types, arguments)
   local options = loop.add_options(sysbench.cmdline.options)
   options.statements = {"Statements per transaction", 10}
   local self

   -- Each statement is its own round trip, as in sysbench's tests: latency divided by
   -- the number of statements is what one of them costs.
   local function connect(thread_id)
      local conn = loop.connect(thread_id)
      local unprepared = sysbench.opt.db_ps_mode == "disable"
      local workload = {conn = conn}
      local begin, commit = conn:prepare("BEGIN", "", unprepared), conn:prepare("COMMIT", "", unprepared)
      local tables = {}
      for t = 1, sysbench.opt.tables do tables[t] = conn:prepare(sql:format(t), types, unprepared) end
      local statements, table_number = sysbench.opt.statements, 1
      function workload.draw()
         table_number = sysbench.rand.uniform(1, sysbench.opt.tables)
         return 0
      end
      function workload.execute()
         conn:run(begin)
         for _ = 1, statements do conn:run(tables[table_number], arguments()) end
         conn:run(commit)
         return 0
      end
      return workload
   end

   function init()
      if not sysbench.opt.auto_inc then error("--auto-inc must stay on: keys come from the tables' sequences", 0) end
      loop.protected(loop.describe, {name}, {statements = sysbench.opt.statements})
   end

   function thread_init(thread_id)
      self = loop.protected(function() return loop.new(thread_id, connect(thread_id), {name}) end)
   end

   function thread_run() loop.run(self) end

   function thread_done() loop.protected(loop.done, self) end

   function event() error("sysbench calls thread_run here, not event") end
end

return common
