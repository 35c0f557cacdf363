-- Loads the TPC-C-derived data set. Run by luajit:
--   luajit /workloads/tpcc/load.lua --warehouses=4 --workers=2 --pgsql-host=… --pgsql-db=…
-- Options (default):
--   --warehouses (1)    scale          --workers (2)    parallel processes, one connection each
--   --seed (1)          same seed, same rows            --dialect (postgresql) | yugabytedb
--   --tablets (0)       yugabytedb: tablets per table and index (0: the database decides)
--   --foreign-keys (off)                --reset (off)    drop an existing data set first
--   --analyze (on)      statistics for the planner
--   --slice-rows (5000000)  rows that are counted in one statement, where rows can be sliced
--   --pgsql-host (localhost) --pgsql-port (5432) --pgsql-user (postgres) --pgsql-password
--   --pgsql-db (postgres)
-- Several hosts separated by commas are used in turn.
--
-- Writes one JSON object per line to standard output: phase "schema", then "load" about
-- once a second (warehouses_done, warehouses, rows, bytes, rows_per_s, bytes_per_s,
-- elapsed_s, eta_s), "keys" (tables_done, tables) for keys, statistics and counting, and
-- "done". A failure is {"phase":"failed","message":…}, a line on standard error, status 1.
--
-- Transient failures are tried again (lib/loader.lua), each with a line {"phase":"retry",…}.
-- After an interruption, a call with the same options continues: a warehouse is one
-- transaction together with its row in tpcc_loaded.
-- Facts: specification 5.11 clauses 1.2 (tables), 4.3 (initial rows and cardinalities).
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/../lib/?.lua;" .. here .. "/?.lua;" .. package.path

local clock = require("clock")
local dialects = require("dialects")
local finishing = require("finishing")
local generate = require("generate")
local loader = require("loader")
local random = require("random")
local schema = require("schema")
local workers = require("workers")

local opt, dialect

-- Rows of a warehouse, with ten lines for each order, which is their mean.
local function rows_per_warehouse()
   local rows = schema.DISTRICTS * schema.CUSTOMERS * 10
   for _, t in ipairs(schema.tables) do rows = rows + (t.rows or 0) end
   return rows
end

local function facts_of(conn)
   if not conn:exec("SELECT to_regclass('tpcc_facts')")[1][1] then return nil end
   local facts = {}
   for _, row in ipairs(conn:exec("SELECT name, value FROM tpcc_facts")) do
      facts[row[1]] = row[2]
   end
   return facts
end

local function expected_facts()
   math.randomseed(opt.seed)
   local c = random.constants()
   return {version = schema.VERSION, warehouses = opt.warehouses, seed = opt.seed,
           dialect = opt.dialect, foreign_keys = opt.foreign_keys and "on" or "off",
           c_last = c.last, c_customer = c.customer, c_item = c.item}
end

local function drop(conn)
   for _, t in ipairs(schema.tables) do
      conn:exec("DROP TABLE IF EXISTS " .. t.name .. " CASCADE")
   end
   conn:exec("DROP TABLE IF EXISTS tpcc_loaded, tpcc_facts")
end

-- The facts come last: if they exist, the tables do.
local function create(conn, facts)
   drop(conn)
   for _, t in ipairs(schema.tables) do
      conn:exec(schema.create_table(dialect, t, opt.tablets))
      if dialect.keys_first then
         for _, sql in ipairs(schema.create_indexes(dialect, t, opt.tablets)) do
            conn:exec(sql)
         end
      end
   end
   for _, sql in ipairs(schema.bookkeeping) do conn:exec(sql) end
   local rows = {}
   for name, value in pairs(facts) do
      rows[#rows + 1] = string.format("('%s', '%s')", name, value)
   end
   conn:exec("INSERT INTO tpcc_facts VALUES " .. table.concat(rows, ", "))
end

-- Existing tables must belong to this load, unless the user allows to drop them (--reset).
local function ensure_schema(conn)
   local expected = expected_facts()
   local existing = facts_of(conn)
   if opt.reset or not existing then
      if not opt.reset and conn:exec("SELECT to_regclass('warehouse')")[1][1] then
         error("there is a table 'warehouse' that this loader did not finish creating; "
               .. "--reset drops it", 0)
      end
      create(conn, expected)
      return expected
   end
   for name, value in pairs(expected) do
      if existing[name] ~= tostring(value) then
         error(string.format("the database holds another data set (%s is %s, expected %s); "
                             .. "--reset drops it", name, tostring(existing[name]),
                             tostring(value)), 0)
      end
   end
   return existing
end

-- Units still to load: 0 is the item table, others are warehouses.
local function missing(conn)
   local complete = {}
   local units = {}
   for _, row in ipairs(conn:exec("SELECT w_id, complete FROM tpcc_loaded")) do
      complete[tonumber(row[1])] = row[2]
   end
   for w = 0, opt.warehouses do
      if complete[w] ~= "t" then units[#units + 1] = {w = w, partial = complete[w] ~= nil} end
   end
   return units
end

-- The marker comes first: two loaders cannot both load a unit, and if COPY commits on its
-- own, the marker says that rows of the unit may exist.
local function begin_unit(conn, unit)
   if dialect.transactional_copy then conn:exec("BEGIN") end
   if not unit.partial then
      conn:exec(string.format("INSERT INTO tpcc_loaded VALUES (%d, false)", unit.w))
   elseif unit.w == 0 then
      conn:exec("DELETE FROM item")
   else
      for _, t in ipairs(schema.tables) do
         if t.warehouse then
            conn:exec("DELETE FROM " .. t.name .. " WHERE " .. schema.belongs(t, unit.w))
         end
      end
   end
end

local function end_unit(conn, unit, rows, order_lines)
   conn:exec(string.format("UPDATE tpcc_loaded SET complete = true, rows = %d, order_lines = %d "
                           .. "WHERE w_id = %d", rows, order_lines, unit.w))
   if dialect.transactional_copy then conn:exec("COMMIT") end
end

local function load_unit(conn, unit, constants, share)
   local rows = 0
   local function begin(name)
      conn:copy_start("COPY " .. name .. " FROM STDIN" .. dialect.copy_options)
   end
   local function chunk(data, n, chunk_rows)
      conn:copy_data(data, n)
      rows = rows + chunk_rows
      share.rows = share.rows + chunk_rows
      share.bytes = share.bytes + n
   end
   local function finish() conn:copy_end() end
   begin_unit(conn, unit)
   local order_lines = 0
   if unit.w == 0 then
      generate.items(opt.seed, begin, chunk, finish)
   else
      order_lines = generate.warehouse(unit.w, opt.seed, constants, begin, chunk, finish)
      share.units = share.units + 1
   end
   end_unit(conn, unit, rows, order_lines)
end

-- Loads a unit again after a transient failure, unless its last attempt was committed after all.
local function load_surely(session, unit, constants, share)
   local rows = share.rows
   local bytes = share.bytes
   local done = share.units
   session:run(function(conn, attempt)
      if attempt > 1 then
         local marker = conn:exec("SELECT complete FROM tpcc_loaded WHERE w_id = " .. unit.w)[1]
         if marker and marker[1] == "t" then return end
         unit.partial = marker ~= nil
         share.rows = rows
         share.bytes = bytes
         share.units = done
      end
      load_unit(conn, unit, constants, share)
   end)
end

local function load(units, facts)
   local n = math.min(opt.workers, #units)
   if n == 0 then return end
   local constants = {last = tonumber(facts.c_last)}
   local effort = #units * rows_per_warehouse()
   if units[1].w == 0 then effort = effort - rows_per_warehouse() + schema.ITEMS end
   local phase = {name = "load", units = "warehouses", count = opt.warehouses,
                  already = opt.warehouses - #units + (units[1].w == 0 and 1 or 0),
                  effort = effort}
   workers.run(n, phase, function(index, share)
      local session = loader.session(opt, dialect, index)
      for i = index + 1, #units, n do load_surely(session, units[i], constants, share) end
   end)
end

workers.main(function()
   opt = workers.options(arg, {
      warehouses = 1, workers = 2, seed = 1, dialect = "postgresql", tablets = 0,
      foreign_keys = false, analyze = true, reset = false, slice_rows = loader.SLICE_ROWS,
      pgsql_host = "localhost", pgsql_port = 5432, pgsql_user = "postgres", pgsql_password = "",
      pgsql_db = "postgres"})
   dialect = dialects.named(opt.dialect)
   for _, name in ipairs{"warehouses", "workers"} do
      if opt[name] < 1 or opt[name] % 1 ~= 0 then
         error("--" .. name .. " must be a whole number from 1", 0)
      end
   end
   local started_us = clock.now_us()
   local conn = loader.connect(opt, dialect, 0)
   local facts = ensure_schema(conn)
   local units = missing(conn)
   workers.say{phase = "schema", warehouses = opt.warehouses, warehouses_missing = #units,
               dialect = opt.dialect}
   load(units, facts)
   local last_steps = finishing.new(opt, dialect)
   last_steps:tables()
   if opt.foreign_keys then last_steps:foreign_keys() end
   local lines = conn:exec("SELECT sum(rows) FROM tpcc_loaded")[1][1]
   workers.say{phase = "done", warehouses = opt.warehouses, rows = tonumber(lines),
               elapsed_s = (clock.now_us() - started_us) / 1e6}
end)
