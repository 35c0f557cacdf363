-- A loader's connections, among them one that outlives transient failures: work is done again on
-- a new one.
local clock = require("clock")
local dialects = require("dialects")
local pq = require("pq")
local workers = require("workers")

-- yugabyte/tpcc tries again twice. Pauses of 2, 4, 8, 16 and 32 s are longer than the minute after
-- which YugabyteDB gives up a node whose heartbeats are missing.
local ATTEMPTS = 6
local FIRST_PAUSE_S = 2

-- SLICE_ROWS: rows that one statement counts (see check_counts).
local loader = {SLICE_ROWS = 5000000}
local Session = {}
Session.__index = Session

-- To the host whose turn it is, set up for loading.
function loader.connect(opt, dialect, index)
   local conn = pq.connect(pq.address(opt, index))
   for _, statement in ipairs(dialect.load_session) do conn:exec(statement) end
   return conn
end

-- Connects when it is first needed; each new attempt goes to the next host.
function loader.session(opt, dialect, index)
   local function connect(attempt) return loader.connect(opt, dialect, index + attempt - 1) end
   return setmetatable({connect = connect, pause_s = FIRST_PAUSE_S}, Session)
end

-- Runs work(conn, attempt) and returns its result. After a transient failure it runs again, on a
-- new connection; work must know what the failed attempt may have left. Raises the last failure.
function Session:run(work)
   for attempt = 1, ATTEMPTS do
      local ok, result = pcall(function()
         self.conn = self.conn or self.connect(attempt)
         return work(self.conn, attempt)
      end)
      if ok then return result end
      if attempt == ATTEMPTS or not dialects.transient(result) then error(result, 0) end
      if self.conn then self.conn:close() end
      self.conn = nil
      workers.say{phase = "retry", attempt = attempt, message = tostring(result)}
      clock.sleep_us(self.pause_s * 2 ^ (attempt - 1) * 1e6)
   end
end

-- A check by counts is exact, but one statement over a large table may take longer than a statement
-- may, or than a database keeps history. So rows beyond a slice are counted by several statements,
-- each tried again by itself. slices(n) gives conditions that select every row once; counted(where)
-- gives what is wrong, nil if nothing is. What slices find wrong is said and counted again in one
-- statement, which decides.
function loader.check_counts(rows, rows_of_a_slice, slices, counted)
   local count = math.ceil(rows / rows_of_a_slice)
   if count > 1 then
      local wrong_in_slices = counted(slices(count))
      if not wrong_in_slices then return end
      workers.say{phase = "retry", attempt = 1, message = wrong_in_slices}
   end
   local wrong = counted({"true"})
   if wrong then error(wrong, 0) end
end

-- Value of `column` → rows that have it, by one statement for each of `conditions`.
function Session:count_by(column, name, conditions)
   local counts = {}
   for _, condition in ipairs(conditions) do
      local sql = string.format("SELECT %s, count(*) FROM %s WHERE %s GROUP BY 1", column, name,
                                condition)
      for _, row in ipairs(self:run(function(conn) return conn:exec(sql) end)) do
         local value = tonumber(row[1])
         counts[value] = (counts[value] or 0) + tonumber(row[2])
      end
   end
   return counts
end

-- All rows of the table, by one statement for each of `conditions`.
function Session:count(name, conditions)
   local rows = 0
   for _, condition in ipairs(conditions) do
      local sql = string.format("SELECT count(*) FROM %s WHERE %s", name, condition)
      rows = rows + tonumber(self:run(function(conn) return conn:exec(sql) end)[1][1])
   end
   return rows
end

-- Whether the table has its primary key.
function loader.has_key(conn, name)
   local sql = "SELECT 1 FROM pg_constraint WHERE contype = 'p' AND conrelid = '%s'::regclass"
   return conn:exec(sql:format(name))[1] ~= nil
end

return loader
