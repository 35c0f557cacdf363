-- The tables of the bulk workloads, bulk1…N, and what is known of them:
--   bulk_facts      name, value: tables, rows of each, dialect
--   bulk_tables     t_id: the numbers of the tables
--   bulk_expected   t, block, rows, total: rows that were committed, and the sum of their k
--   bulk_parts      t, first: parts of a load that are complete; dropped at its end
--   bulk_rows       a view of all rows, with t
local layout = {}

-- Rows are read in ranges of ids, so where the database shards it is by ranges, if there are rows;
-- empty tables are filled in many places at once, so there it is by hash.
local function key_of(dialect, rows, tablets)
   if not dialect.keys_first then return "", "" end
   if rows == 0 then return ", PRIMARY KEY " .. dialect.key({"id"}, 2), dialect.split(tablets) end
   local points = {}
   for i = 1, tablets - 1 do
      points[i] = string.format("(%d)", math.floor(i * rows / tablets) + 1)
   end
   local split = #points > 0 and " SPLIT AT VALUES (" .. table.concat(points, ", ") .. ")" or ""
   return ", PRIMARY KEY (id ASC)", split
end

function layout.create(conn, dialect, opt)
   local facts = {tables = opt.tables, rows = opt.rows, tablets = opt.tablets,
                  dialect = dialect.name}
   local numbers = {}
   local values = {}
   local selects = {}
   for t = 1, opt.tables do
      local key, split = key_of(dialect, opt.rows, opt.tablets)
      conn:exec(string.format("CREATE TABLE bulk%d (id bigint NOT NULL, k int NOT NULL, "
                              .. "pad char(75) NOT NULL%s)%s", t, key, split))
      numbers[t] = "(" .. t .. ")"
      selects[t] = string.format("SELECT %d AS t, id, k, pad FROM bulk%d", t, t)
   end
   for name, value in pairs(facts) do
      values[#values + 1] = string.format("('%s', '%s')", name, value)
   end
   conn:exec("CREATE TABLE bulk_tables (t_id int PRIMARY KEY)")
   conn:exec("INSERT INTO bulk_tables VALUES " .. table.concat(numbers, ", "))
   conn:exec("CREATE VIEW bulk_rows AS " .. table.concat(selects, " UNION ALL "))
   conn:exec("CREATE TABLE bulk_expected (t int, block int, rows bigint NOT NULL, "
             .. "total numeric NOT NULL, PRIMARY KEY (t, block))")
   conn:exec("CREATE TABLE bulk_parts (t int, first bigint, PRIMARY KEY (t, first))")
   conn:exec("CREATE TABLE bulk_facts (name text PRIMARY KEY, value text NOT NULL)")
   conn:exec("INSERT INTO bulk_facts VALUES " .. table.concat(values, ", "))
end

function layout.drop(conn, most)
   conn:exec("DROP VIEW IF EXISTS bulk_rows")
   conn:exec("DROP TABLE IF EXISTS bulk_facts, bulk_tables, bulk_expected, bulk_parts")
   for t = 1, most do conn:exec("DROP TABLE IF EXISTS bulk" .. t) end
end

-- Name → value; nil if there are none.
function layout.facts(conn)
   if not conn:exec("SELECT to_regclass('bulk_facts')")[1][1] then return nil end
   local facts = {}
   for _, row in ipairs(conn:exec("SELECT name, value FROM bulk_facts")) do
      facts[row[1]] = tonumber(row[2]) or row[2]
   end
   return facts
end

-- Notes rows that were committed.
function layout.expect(conn, t, block, rows, total)
   conn:exec(string.format("INSERT INTO bulk_expected VALUES (%d, %d, %d, %s)", t, block, rows,
                           total))
end

return layout
