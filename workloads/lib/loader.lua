-- A loader's connections, among them one that outlives transient failures: work is done again on
-- a new one.
local clock = require("clock")
local dialects = require("dialects")
local pq = require("pq")
local workers = require("workers")

-- yugabyte/tpcc tries again twice. Pauses of 2, 4, 8, 16 and 32 s are longer than the minute after
-- which YugabyteDB gives up a node whose heartbeats are missing.
local ATTEMPTS, FIRST_PAUSE_S = 6, 2

local loader = {}
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

-- Whether the table has its primary key.
function loader.has_key(conn, name)
   local sql = "SELECT 1 FROM pg_constraint WHERE contype = 'p' AND conrelid = '%s'::regclass"
   return conn:exec(sql:format(name))[1] ~= nil
end

return loader
