-- What differs between databases that speak PostgreSQL's protocol.
--   name
--   keys_first           keys and indexes come before the data
--   key(columns, range)  a key as CREATE TABLE and CREATE INDEX need it; range: the first column
--                        that is ordered, if the database shards by a hash of those before it;
--                        a column of an index may end in " DESC"
--   slices(key, range, n)  conditions that select every row of a table with that key in one of n
--                        parts, none of which reads the others' rows; one where that cannot be said
--   split(tablets)       clause that splits a table into tablets (0: the database decides)
--   copy_options         options of COPY that say how it commits
--   transactional_copy   whether COPY is part of the transaction around it
--   load_session         statements of a connection that loads
--   run_session          statements of a terminal's connection
--   batches              whether statements may travel together, before one Sync
--   analyze_in_turn      whether ANALYZE of one table conflicts with that of another
--   conflicts            texts of errors without an SQLSTATE of their own that may be tried again
local postgresql = {name = "postgresql", keys_first = false, transactional_copy = true,
                    copy_options = ""}

-- Keys and indexes are cheapest after the data. The memory is for one CREATE INDEX of
-- one worker; it is freed at the end of the session. Foreign keys are checked before there are
-- statistics: left to itself, the planner sorts a table to merge it with its parents, which takes
-- more than twice as long as to hash these. Where indexes are in order they are merged still.
postgresql.load_session = {"SET maintenance_work_mem = '128MB'", "SET enable_sort = off",
                           "SET enable_nestloop = off"}
postgresql.run_session = {}
postgresql.batches = true
function postgresql.key(columns) return "(" .. table.concat(columns, ", ") .. ")" end
function postgresql.split() return "" end
function postgresql.slices() return {"true"} end

-- Its SQLSTATEs alone say which errors may be tried again.
postgresql.conflicts = {}

-- YugabyteDB keeps a table in its primary key: it must be there before the data. The
-- warehouse (and district) is hashed to spread load, the rest is ordered for range
-- scans; COPY commits in batches of its own, so a warehouse may be left half loaded.
local yugabytedb = {name = "yugabytedb", keys_first = true, transactional_copy = false,
                    analyze_in_turn = true,  -- each changes the version of the one catalog
                    load_session = {}, copy_options = " WITH (ROWS_PER_TRANSACTION 20000)"}

-- Its planner has poor estimates of table sizes; joins with an order's lines must use
-- the key, never a scan of the table.
yugabytedb.run_session = {"SET enable_hashjoin = off", "SET enable_mergejoin = off"}

-- Inside a batch its servers repeat a statement after a conflict or a read restart wrongly (the
-- earlier ones' work is lost: yugabyte-db issue 21607) or, in later releases, not at all behind a
-- write (26934), so that an ordinary conflict would end the transaction.
yugabytedb.batches = false

function yugabytedb.key(columns, range)
   local hashed = {}
   local ordered = {}
   for i, column in ipairs(columns) do
      if i < range then
         hashed[#hashed + 1] = column
      else
         ordered[#ordered + 1] = column:find(" DESC$") and column or column .. " ASC"
      end
   end
   local hash = "(" .. table.concat(hashed, ", ") .. ") HASH"
   return "(" .. table.concat({hash, unpack(ordered)}, ", ") .. ")"
end

-- By the hash of the key: only its conditions reach a part of a table without reading all of it
-- (docs, yb_hash_code: pushed down when it takes all hashed columns). Hashes are 0 to 65535; the
-- first and the last part are open, because below 65536 there is no row for some releases, which
-- read that bound as 0 (yugabyte-db issue 23157).
local HASHES = 65536
function yugabytedb.slices(key, range, n)
   if not key then return {"true"} end
   local hash = "yb_hash_code(" .. table.concat({unpack(key, 1, range - 1)}, ", ") .. ")"
   local conditions = {}
   for i = 1, n do
      local bounds = {}
      if i > 1 then bounds[1] = hash .. " >= " .. math.floor((i - 1) * HASHES / n) end
      if i < n then bounds[#bounds + 1] = hash .. " < " .. math.floor(i * HASHES / n) end
      conditions[i] = n > 1 and table.concat(bounds, " AND ") or "true"
   end
   return conditions
end

function yugabytedb.split(tablets)
   return tablets > 0 and " SPLIT INTO " .. tablets .. " TABLETS" or ""
end

-- Texts under which it reports a conflict or a restart with SQLSTATE XX000.
yugabytedb.conflicts = {
   "restart read", "read restart", "operation failed. try again", "try again",
   "conflicts with higher priority transaction", "conflicts with committed transaction",
   "expired or aborted", "schema version mismatch", "catalog snapshot", "transaction aborted",
}

local SERIALIZATION_FAILURE = "40001"
local DEADLOCK = "40P01"
local INTERNAL_ERROR = "XX000"
local UNREACHABLE = {["57P01"] = true, ["57P02"] = true, ["57P03"] = true}
local by_name = {postgresql = postgresql, yugabytedb = yugabytedb}
local dialects = {}

-- Returns the dialect of that name; any other name is an error of the caller.
function dialects.named(name)
   return by_name[name] or error("--dialect is postgresql or yugabytedb", 0)
end

-- Whether the same transaction may succeed when it is tried again. Checks the texts of all
-- dialects: no database uses another's text of a conflict for anything else.
function dialects.retryable(failure)
   local sqlstate = failure.sqlstate
   local message = failure.message:lower()
   if sqlstate == SERIALIZATION_FAILURE or sqlstate == DEADLOCK then return true end
   if sqlstate ~= INTERNAL_ERROR then return false end
   for _, dialect in pairs(by_name) do
      for _, phrase in ipairs(dialect.conflicts) do
         if message:find(phrase, 1, true) then return true end
      end
   end
   return false
end

-- Whether a part of a load may succeed when it is loaded again: also after a lost connection, and
-- after what YugabyteDB reports while a node or the leader of a tablet is away.
function dialects.transient(failure)
   if type(failure) ~= "table" then return false end
   if failure.lost or UNREACHABLE[failure.sqlstate] or dialects.retryable(failure) then
      return true
   end
   local message = failure.message:lower()
   return message:find("timed out", 1, true) ~= nil or message:find("heartbeat", 1, true) ~= nil
end

return dialects
