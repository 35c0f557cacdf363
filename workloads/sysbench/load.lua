-- Loads sysbench's tables sbtest1…N through COPY, in parallel also within a table. The
-- tables are those of sysbench's "prepare" (columns, types, filling, serial id, secondary
-- index k_N); its loader takes up to twice as long. Run by luajit:
--   luajit /workloads/sysbench/load.lua --tables=4 --table-size=250000 --workers=2
--          --pgsql-host=… --pgsql-db=…
-- Options (default): --tables (1), --table-size (10000), --workers (2), --seed (1),
--   --create-secondary (on), --reset (off: existing tables are an error), --pgsql-host
--   (localhost), --pgsql-port (5432), --pgsql-user (postgres), --pgsql-password, --pgsql-db
--   (postgres), --dialect (postgresql) | yugabytedb: keys and index before the rows.
--   For yugabytedb: --sharding (hash) | range, --tablets (0: the database decides) of each table
--   and index, --sequence-cache (0: 1000; elsewhere the database decides), --slice-rows (5000000):
--   rows that are counted in one statement, where rows can be sliced.
-- Writes one JSON object per line: phase "load" about once a second (parts_done, parts,
-- rows, bytes, rows_per_s, bytes_per_s, elapsed_s, eta_s), "keys" (tables_done, tables),
-- "done"; a failure is {"phase":"failed","message":…}, a line on standard error, status 1.
-- Ends with ANALYZE, unless --analyze=off, and an exact count of every table. A part (up to
-- 250,000 rows) is one transaction, but on YugabyteDB, whose COPY commits by itself; k is
-- uniform, as with --rand-type=uniform. Transient failures are tried again (lib/loader.lua), each
-- with a line {"phase":"retry",…}. After an interruption, a call with the same options continues:
-- until the end, a table sbtest_parts holds which parts are complete.
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. here .. "/../lib/?.lua;" .. package.path

local clock = require("clock")
local dialects = require("dialects")
local loader = require("loader")
local parts = require("parts")
local rows = require("rows")
local seeds = require("seeds")
local tables = require("tables")
local workers = require("workers")

local C_GROUPS = 10
local PAD_GROUPS = 5
local TABLES = 1024  -- that have seeds of their own
local PARTS = 65536  -- of a table, likewise
local opt, dialect, layout

local function add_index(conn, t)
   if not opt.create_secondary then return end
   conn:exec(tables.create_index(dialect, t, layout))
end

local function create(conn, t)
   if opt.reset then conn:exec("DROP TABLE IF EXISTS sbtest" .. t) end
   conn:exec(tables.create(dialect, t, layout))
   local cache = tables.cache_sequence(dialect, t, opt.sequence_cache)
   if cache then conn:exec(cache) end
   if dialect.keys_first then add_index(conn, t) end
end

-- Creates all tables, or finds those of an interrupted load (then true): bookkeeping comes last.
local function ensure_tables(conn)
   local options = string.format(
      "tables=%d table_size=%d seed=%d dialect=%s secondary=%s sharding=%s tablets=%d",
      opt.tables, opt.table_size, opt.seed, opt.dialect, tostring(opt.create_secondary),
      opt.sharding, opt.tablets)
   local begun = conn:exec("SELECT obj_description(to_regclass('sbtest_parts'), 'pg_class')")[1][1]
   if begun and not opt.reset then
      if begun == options then return true end
      error("another load was begun here (" .. begun .. "); --reset drops it", 0)
   end
   conn:exec("DROP TABLE IF EXISTS sbtest_parts")
   for t = 1, opt.tables do create(conn, t) end
   conn:exec("CREATE TABLE sbtest_parts (t int, first int, PRIMARY KEY (t, first))")
   conn:exec("COMMENT ON TABLE sbtest_parts IS '" .. options .. "'")
end

local function copy_part(conn, part, share)
   local table_seed = seeds.combined(opt.seed, part.t, TABLES)
   math.randomseed(seeds.combined(table_seed, math.floor(part.first / parts.ROWS), PARTS))
   conn:copy_start(string.format("COPY sbtest%d (id, k, c, pad) FROM STDIN", part.t))
   rows.start(function(data, n, count)
      conn:copy_data(data, n)
      share.rows = share.rows + count
      share.bytes = share.bytes + n
   end)
   for id = part.first, part.last do
      rows.int(id)
      rows.int(math.random(opt.table_size))
      rows.digit_groups(C_GROUPS)
      rows.digit_groups(PAD_GROUPS)
      rows.end_row()
   end
   rows.flush()
   conn:copy_end()
end

local function remove_part(conn, part)
   for _, ids in ipairs(tables.ids(dialect, layout, part.first, part.last)) do
      conn:exec("DELETE FROM sbtest" .. part.t .. " WHERE " .. ids)
   end
end

local function finish_table(conn, t)
   if not dialect.keys_first then
      if not loader.has_key(conn, "sbtest" .. t) then
         conn:exec(string.format("ALTER TABLE sbtest%d ADD PRIMARY KEY (id)", t))
      end
      add_index(conn, t)
   end
   local last_id = math.max(opt.table_size, 1)
   conn:exec(string.format("SELECT setval('sbtest%d_id_seq', %d, true)", t, last_id))
   if opt.analyze and not dialect.analyze_in_turn then conn:exec("ANALYZE sbtest" .. t) end
end

local function count(session, t)
   local function slices(n) return tables.slices(dialect, layout, n) end
   loader.check_counts(opt.table_size, opt.slice_rows, slices, function(conditions)
      local found = session:count("sbtest" .. t, conditions)
      if found ~= opt.table_size then
         return string.format("sbtest%d has %d rows instead of %d", t, found, opt.table_size)
      end
   end)
end

local function finish_tables()
   local n = math.min(opt.workers, opt.tables)
   local phase = {name = "keys", units = "tables", count = opt.tables, effort = opt.tables}
   workers.run(n, phase, function(index, share)
      local session = loader.session(opt, dialect, index)
      for t = index + 1, opt.tables, n do
         session:run(function(conn) finish_table(conn, t) end)
         count(session, t)
         share.units = share.units + 1
         share.effort = share.effort + 1
      end
   end)
   local session = loader.session(opt, dialect, 0)
   for t = 1, opt.analyze and dialect.analyze_in_turn and opt.tables or 0 do
      session:run(function(conn) conn:exec("ANALYZE sbtest" .. t) end)
   end
   session:run(function(conn) conn:exec("DROP TABLE IF EXISTS sbtest_parts") end)
end

workers.main(function()
   opt = workers.options(arg, {
      tables = 1, table_size = 10000, workers = 2, seed = 1, create_secondary = true, reset = false,
      analyze = true, slice_rows = loader.SLICE_ROWS, sharding = "hash", tablets = 0,
      sequence_cache = 0, dialect = "postgresql",
      pgsql_host = "localhost", pgsql_port = 5432, pgsql_user = "postgres", pgsql_password = "",
      pgsql_db = "postgres"})
   dialect = dialects.named(opt.dialect)
   layout = {sharding = opt.sharding, tablets = opt.tablets, rows = opt.table_size}
   if opt.sharding ~= "hash" and opt.sharding ~= "range" then
      error("--sharding is hash or range", 0)
   end
   local started_us = clock.now_us()
   local conn = loader.connect(opt, dialect, 0)
   local resumed = ensure_tables(conn)
   local list = parts.left(conn, "sbtest_parts", opt.tables, opt.table_size, resumed)
   local source = {kept = "sbtest_parts", copy = copy_part, remove = remove_part}
   parts.load(list, source, opt, dialect)
   finish_tables()
   workers.say{phase = "done", tables = opt.tables, rows = opt.tables * opt.table_size,
               elapsed_s = (clock.now_us() - started_us) / 1e6}
end)
