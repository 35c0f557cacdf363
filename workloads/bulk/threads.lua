-- What copy.lua, restore.lua, index.lua and scan.lua share: sysbench's hooks around our loop.
--
-- A transaction is a unit of bulk work, sent by plain SQL: COPY has no place in libpq's pipeline.
-- recorder.json says how many bytes of rows one carries (bytes_per_transaction), what it does with
-- them (payload: written, read or sorted), and whether the load ends with the last of them, before
-- its time (ends_with_work).
local loop = require("loop")
local dialects = require("dialects")
local layout = require("layout")
local pq = require("pq")

local threads = {}

local function read_facts(conn)
   local facts = layout.facts(conn)
   if not facts then error("the database holds no bulk tables: load them first", 0) end
   for _, name in ipairs{"tables", "rows"} do
      if facts[name] ~= sysbench.opt[name] then
         error(string.format("the data set has %s %d, not %d", name, facts[name],
                             sysbench.opt[name]), 0)
      end
   end
   return facts
end

-- name: the transaction type, or all of them. mode(facts): of recorder.json. share(facts): once,
-- before the threads start. connected(conn, facts, number, thread): the workload of loop.lua, whose
-- draw() returns nil when all is done, and its finish(), called when the thread has ended well.
function threads.define(name, options, work)
   options.tables = {"Tables that the data set must have", 1}
   options.rows = {"Rows that each of them must have", 0}
   sysbench.cmdline.options = loop.add_options(options)
   sysbench.cmdline.commands = {}
   local types = type(name) == "table" and name or {name}
   local self

   function init()
      loop.protected(function()
         local conn = pq.connect(pq.address(sysbench.opt, 0))
         local facts = read_facts(conn)
         conn:close()
         if work.share then work.share(facts) end
         loop.describe(types, work.mode(facts))
      end)
   end

   function thread_init(thread_id)
      loop.protected(function()
         local conn = loop.connect(thread_id)
         local facts = read_facts(conn)
         facts.dialect = dialects.named(facts.dialect)
         local workload = work.connected(conn, facts, sysbench.opt.first_thread + thread_id)
         workload.conn = conn
         workload.plain_sql = true
         self = loop.new(thread_id, workload, types)
      end)
   end

   function thread_run()
      loop.run(self)
      if self.workload.finish then loop.protected(self.workload.finish, self) end
   end

   function thread_done() loop.protected(loop.done, self) end

   function event() error("sysbench calls thread_run here, not event") end
end

return threads
