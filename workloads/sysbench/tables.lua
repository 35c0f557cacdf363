-- The SQL that makes sysbench's tables sbtest1…N in a dialect of lib/dialects.lua. Where the
-- database shards, the layout decides; others ignore it:
--   sharding   "hash" (the default) or "range", of the primary key and of the index
--   tablets    of each table and index (0: the database decides); ranges are equally long
--   rows       of each table
local tables = {}

-- The key of one column, and the clause that splits what it orders.
local function sharded(dialect, column, layout)
   if dialect.name ~= "yugabytedb" or layout.sharding == "hash" then
      return dialect.key({column}, 2), dialect.split(layout.tablets)
   end
   local points = {}
   for i = 1, layout.tablets - 1 do
      points[i] = string.format("(%d)", math.floor(i * layout.rows / layout.tablets) + 1)
   end
   local split = #points > 0 and " SPLIT AT VALUES (" .. table.concat(points, ", ") .. ")" or ""
   return "(" .. column .. " ASC)", split
end

function tables.create(dialect, t, layout)
   local key = ""
   local split = ""
   if dialect.keys_first then
      key, split = sharded(dialect, "id", layout)
      key = ", PRIMARY KEY " .. key
   end
   return string.format([[CREATE TABLE sbtest%d (id serial, k integer DEFAULT 0 NOT NULL,
      c char(120) DEFAULT '' NOT NULL, pad char(60) DEFAULT '' NOT NULL%s)%s]], t, key, split)
end

-- Conditions that select every row in one of n parts (see dialects.lua); of ranges, the first and
-- the last are open, so that rows which should not be there are found too.
function tables.slices(dialect, layout, n)
   if dialect.name ~= "yugabytedb" or layout.sharding == "hash" then
      return dialect.slices({"id"}, 2, n)
   end
   local conditions = {}
   for i = 1, n do
      local from = math.floor((i - 1) * layout.rows / n)
      local to = math.floor(i * layout.rows / n)
      local least = i > 1 and "id > " .. from or "true"
      conditions[i] = least .. (i < n and " AND id <= " .. to or "")
   end
   return conditions
end

-- Conditions that together select the rows with ids from first to last, each by the key alone.
-- Where ids are hashed a range of them reads the whole table (yugabyte-db issue 23585), so they are
-- listed.
local LISTED = 1000
function tables.ids(dialect, layout, first, last)
   if dialect.name ~= "yugabytedb" or layout.sharding ~= "hash" then
      return {string.format("id BETWEEN %d AND %d", first, last)}
   end
   local conditions = {}
   for from = first, last, LISTED do
      local listed = {}
      for id = from, math.min(from + LISTED - 1, last) do listed[#listed + 1] = id end
      conditions[#conditions + 1] = "id IN (" .. table.concat(listed, ", ") .. ")"
   end
   return conditions
end

function tables.create_index(dialect, t, layout)
   local key, split = sharded(dialect, "k", layout)
   return string.format("CREATE INDEX IF NOT EXISTS k_%d ON sbtest%d %s%s", t, t, key, split)
end

-- Numbers that a session takes from the sequence of ids at a time; nil if the database decides.
-- YugabyteDB's fork of sysbench takes 1000: the sequence is a row that is replicated.
function tables.cache_sequence(dialect, t, cache)
   if cache == 0 and dialect.name == "yugabytedb" then cache = 1000 end
   if cache == 0 then return nil end
   return string.format("ALTER SEQUENCE sbtest%d_id_seq CACHE %d", t, cache)
end

return tables
