-- What point_select.lua and insert.lua share: sysbench's own oltp_common for options,
-- tables, prepare and cleanup; our loop, connection and recorder for the run. Options of
-- oltp_common that the run does not read are removed, so that sysbench refuses them.
require("oltp_common")
local loop = require("loop")

local common = {}
local NOT_READ = {
   "auto_inc", "create_secondary", "delete_inserts", "distinct_ranges", "index_updates",
   "mysql_storage_engine", "non_index_updates", "order_ranges", "pgsql_variant", "point_selects",
   "range_selects", "range_size", "secondary", "simple_ranges", "sum_ranges",
}

local function makes_tables()
   local command = sysbench.cmdline.command
   return command == "prepare" or command == "cleanup"
end

-- name: the transaction type in recorder.json. sql: the statement, %u for the table's
-- number. types: its parameters' types as in lib/pq.lua. arguments(): draws their values.
function common.define(name, sql, types, arguments)
   local options = loop.add_options(sysbench.cmdline.options)
   options.statements = {"Statements per transaction", 10}
   if not makes_tables() then
      for _, option in ipairs(NOT_READ) do options[option] = nil end
   end
   local self

   -- All is drawn before the first attempt, so that a repeated one asks for the same keys.
   -- Each statement is its own round trip, as in sysbench's tests: latency divided by
   -- the number of statements is what one of them costs.
   local function connect(thread_id)
      local conn = loop.connect(thread_id)
      local unprepared = sysbench.opt.db_ps_mode == "disable"
      local workload = {conn = conn}
      local begin = conn:prepare("BEGIN", "", unprepared)
      local commit = conn:prepare("COMMIT", "", unprepared)
      local tables = {}
      for t = 1, sysbench.opt.tables do
         tables[t] = conn:prepare(sql:format(t), types, unprepared)
      end
      local statements = sysbench.opt.statements
      local table_number = 1
      local drawn = {}
      local in_transaction = not sysbench.opt.skip_trx
      function workload.draw()
         table_number = sysbench.rand.uniform(1, sysbench.opt.tables)
         for i = 1, statements do drawn[i] = {arguments()} end
         return 0
      end
      function workload.execute()
         if in_transaction then conn:run(begin) end
         for i = 1, statements do conn:run(tables[table_number], unpack(drawn[i])) end
         if in_transaction then conn:run(commit) end
         return 0
      end
      return workload
   end

   function init()
      local opt = sysbench.opt
      loop.protected(loop.describe, {name}, {statements = opt.statements, skip_trx = opt.skip_trx,
                                             rand_type = opt.rand_type})
   end

   function thread_init(thread_id)
      self = loop.protected(function() return loop.new(thread_id, connect(thread_id), {name}) end)
   end

   function thread_run() loop.run(self) end

   function thread_done() loop.protected(loop.done, self) end

   function event() error("sysbench calls thread_run here, not event") end
end

return common
