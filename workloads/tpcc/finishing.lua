-- What follows the rows of the TPC-C-derived data set: keys, statistics, counting, foreign keys.
local loader = require("loader")
local schema = require("schema")
local workers = require("workers")

-- Rough shares of the work after loading, for equal parts per process and the time left.
local KEYS = {order_line = 30, stock = 12, customer = 12, orders = 7, history = 2, item = 1,
              new_order = 1, district = 0, warehouse = 0, total = 65}
local FOREIGN_KEYS = {order_line = 30, stock = 12, orders = 4, history = 4, customer = 1,
                      new_order = 1, district = 0, item = 0, warehouse = 0, total = 52}
local KEYS_SHARE = 0.8  -- the others are for counting

local finishing = {}
local Finishing = {}
Finishing.__index = Finishing

-- opt: the options of load.lua; dialect: of lib/dialects.lua.
function finishing.new(opt, dialect)
   return setmetatable({opt = opt, dialect = dialect}, Finishing)
end

local function count_items(conn)
   local n = tonumber(conn:exec("SELECT count(*) FROM item")[1][1])
   if n ~= schema.ITEMS then
      error(string.format("item has %d rows instead of %d", n, schema.ITEMS), 0)
   end
end

-- Warehouse → rows that the table must have for it.
local function expected_rows(conn, t)
   local expected = {}
   local loaded = "SELECT w_id, order_lines FROM tpcc_loaded WHERE w_id > 0 AND complete"
   for _, row in ipairs(conn:exec(loaded)) do
      expected[tonumber(row[1])] = t.rows or tonumber(row[2])
   end
   return expected
end

-- The first difference in words; nil if there is none.
local function difference(t, counts, expected)
   for w, n in pairs(counts) do
      if n ~= expected[w] then
         return string.format("%s has %d rows for warehouse %d instead of %s (changed by a run? "
                              .. "--reset loads afresh)", t.name, n, w, tostring(expected[w]))
      end
   end
   for w in pairs(expected) do
      if not counts[w] then return string.format("%s has no rows for warehouse %d", t.name, w) end
   end
end

-- Every warehouse has the rows that the specification (for order lines: the generator) gives it,
-- and there is no other warehouse.
function Finishing:count_by_warehouse(session, t)
   local expected = session:run(function(conn) return expected_rows(conn, t) end)
   local total = 0
   for _, rows in pairs(expected) do total = total + rows end
   local function slices(n) return self.dialect.slices(t.key, t.range, n) end
   loader.check_counts(total, self.opt.slice_rows, slices, function(conditions)
      return difference(t, session:count_by(t.warehouse, t.name, conditions), expected)
   end)
end

function Finishing:finish_table(conn, t, share, effort)
   local dialect = self.dialect
   if not dialect.keys_first then
      if t.key and not loader.has_key(conn, t.name) then
         conn:exec(schema.add_key(dialect, t))
      end
      for _, sql in ipairs(schema.create_indexes(dialect, t, 0)) do
         conn:exec(sql)
      end
   end
   share.effort = effort + KEYS_SHARE * KEYS[t.name]
   if self.opt.analyze and not dialect.analyze_in_turn then conn:exec("ANALYZE " .. t.name) end
end

local function shares_of_tables(n, weights)
   local tables = {unpack(schema.tables)}
   local parts = {}
   for i = 1, n do parts[i] = {weight = 0} end
   -- The heaviest table goes first, each to the part that has least until then.
   table.sort(tables, function(a, b) return weights[a.name] > weights[b.name] end)
   for _, t in ipairs(tables) do
      local least = parts[1]
      for _, part in ipairs(parts) do if part.weight < least.weight then least = part end end
      least[#least + 1] = t
      least.weight = least.weight + weights[t.name]
   end
   return parts
end

-- Adds keys and statistics to all tables and counts their rows, several at a time.
function Finishing:tables()
   local opt = self.opt
   local dialect = self.dialect
   local parts = shares_of_tables(math.min(opt.workers, #schema.tables), KEYS)
   local phase = {name = "keys", units = "tables", count = #schema.tables, effort = KEYS.total}
   workers.run(#parts, phase, function(index, share)
      local session = loader.session(opt, dialect, index)
      for _, t in ipairs(parts[index + 1]) do
         local effort = share.effort
         session:run(function(conn) self:finish_table(conn, t, share, effort) end)
         if t.warehouse then
            self:count_by_warehouse(session, t)
         else
            session:run(count_items)
         end
         share.effort = effort + KEYS[t.name]
         share.units = share.units + 1
      end
   end)
   if not (opt.analyze and dialect.analyze_in_turn) then return end
   local session = loader.session(opt, dialect, 0)
   for _, t in ipairs(schema.tables) do
      session:run(function(conn) conn:exec("ANALYZE " .. t.name) end)
   end
end

local function add_foreign_key(conn, sql)
   local name = sql:match("CONSTRAINT (%S+)")
   local there = conn:exec("SELECT 1 FROM pg_constraint WHERE conname = '" .. name .. "'")
   if not there[1] then conn:exec(sql) end
end

-- Each key locks its table, then that to which it refers. No table refers to one that refers to it,
-- so at worst one waits for another. Where changes of the catalog conflict there is one worker.
function Finishing:foreign_keys()
   local opt = self.opt
   local dialect = self.dialect
   local parts = shares_of_tables(dialect.analyze_in_turn and 1 or opt.workers, FOREIGN_KEYS)
   local phase = {name = "foreign keys", units = "tables", count = #schema.tables,
                  effort = FOREIGN_KEYS.total}
   workers.run(#parts, phase, function(index, share)
      local session = loader.session(opt, dialect, index)
      for _, t in ipairs(parts[index + 1]) do
         for _, sql in ipairs(schema.foreign_keys(t)) do
            session:run(function(conn) add_foreign_key(conn, sql) end)
         end
         share.effort = share.effort + FOREIGN_KEYS[t.name]
         share.units = share.units + 1
      end
   end)
end

return finishing
