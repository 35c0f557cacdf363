-- Loads the tables bulk1…N of the bulk workloads through COPY, in parallel. Run by luajit:
--   luajit /workloads/bulk/load.lua --tables=4 --rows=1000000 --workers=2 --pgsql-host=… …
-- Options (default): --tables (1; at most 20, which the check of all rows can name), --rows (0) of
--   each table: with 0 they stay empty, to be filled by copy.lua, and have no key but where the
--   database needs it first; --workers (2), --tablets (0: the database decides), --analyze (on),
--   --reset (off), --dialect (postgresql) | yugabytedb, --pgsql-host, --pgsql-port, --pgsql-user,
--   --pgsql-password, --pgsql-db, and --seed, which changes nothing: rows follow from their ids.
-- Writes one JSON object per line, and tries again and goes on as sysbench/load.lua does: a part of
-- 250,000 rows is complete when bulk_parts has it. What was loaded is checked by consistency.sql.
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. here .. "/../lib/?.lua;" .. package.path

local clock = require("clock")
local dialects = require("dialects")
local formula = require("formula")
local layout = require("layout")
local loader = require("loader")
local parts = require("parts")
local workers = require("workers")

local CHUNK_ROWS = 2500
local MOST_TABLES = 20
local opt, dialect

-- True if an interrupted load goes on. bulk_facts comes last: if it is there, all tables are.
local function ensure_tables(conn)
   local begun = not opt.reset and layout.facts(conn)
   if not begun then
      layout.drop(conn, MOST_TABLES)
      layout.create(conn, dialect, opt)
      return false
   end
   for name, value in pairs{tables = opt.tables, rows = opt.rows, tablets = opt.tablets,
                            dialect = dialect.name} do
      if begun[name] ~= value then
         error(string.format("another load was begun here (%s is %s, not %s); --reset drops it",
                             name, tostring(begun[name]), tostring(value)), 0)
      end
   end
   return true
end

local function copy_part(conn, part, share)
   local buffer = formula.buffer(CHUNK_ROWS)
   conn:copy_start("COPY bulk" .. part.t .. " FROM STDIN" .. dialect.copy_options)
   for first = part.first, part.last, CHUNK_ROWS do
      local last = math.min(first + CHUNK_ROWS - 1, part.last)
      local bytes = formula.fill(buffer, first, last)
      conn:copy_data(buffer, bytes)
      share.rows = share.rows + last - first + 1
      share.bytes = share.bytes + bytes
   end
   conn:copy_end()
end

local function remove_part(conn, part)
   conn:exec(string.format("DELETE FROM bulk%d WHERE id BETWEEN %d AND %d", part.t, part.first,
                           part.last))
end

-- The key, statistics, and what the table must hold from now on.
local function finish_table(conn, t)
   if not dialect.keys_first and not loader.has_key(conn, "bulk" .. t) then
      conn:exec(string.format("ALTER TABLE bulk%d ADD PRIMARY KEY (id)", t))
   end
   if opt.analyze then conn:exec("ANALYZE bulk" .. t) end
   conn:exec("DELETE FROM bulk_expected WHERE t = " .. t)
   layout.expect(conn, t, 0, opt.rows, formula.text((formula.sums(1, opt.rows))))
end

local function finish_tables()
   local n = dialect.analyze_in_turn and 1 or math.min(opt.workers, opt.tables)
   local phase = {name = "keys", units = "tables", count = opt.tables, effort = opt.tables}
   workers.run(n, phase, function(index, share)
      local session = loader.session(opt, dialect, index)
      for t = index + 1, opt.tables, n do
         session:run(function(conn) finish_table(conn, t) end)
         share.units = share.units + 1
         share.effort = share.effort + 1
      end
   end)
end

workers.main(function()
   opt = workers.options(arg, {
      tables = 1, rows = 0, workers = 2, seed = 1, reset = false, analyze = true, tablets = 0,
      dialect = "postgresql",
      pgsql_host = "localhost", pgsql_port = 5432, pgsql_user = "postgres", pgsql_password = "",
      pgsql_db = "postgres"})
   dialect = dialects.named(opt.dialect)
   if opt.tables < 1 or opt.tables > MOST_TABLES then
      error("--tables is 1 to " .. MOST_TABLES, 0)
   end
   local started_us = clock.now_us()
   local conn = loader.connect(opt, dialect, 0)
   local list = parts.left(conn, "bulk_parts", opt.tables, opt.rows, ensure_tables(conn))
   local source = {kept = "bulk_parts", copy = copy_part, remove = remove_part}
   parts.load(list, source, opt, dialect)
   if opt.rows > 0 then finish_tables() end
   conn:exec("DELETE FROM bulk_parts")
   workers.say{phase = "done", tables = opt.tables, rows = opt.tables * opt.rows,
               elapsed_s = (clock.now_us() - started_us) / 1e6}
end)
