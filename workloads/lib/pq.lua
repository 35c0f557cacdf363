-- Connections to PostgreSQL for the load generators: libpq through LuaJIT's FFI.
--
-- Why not sysbench 1.0.20's own driver: it copies the SQLSTATE of a failed result
-- without a check, so a lost connection (which has none) ends in a segmentation fault
-- and unwritten records; it keeps the previous value if NULL is bound; a text
-- parameter of 256 bytes overruns its buffer. Here errors are complete, and independent
-- statements are sent together (libpq's pipeline mode), which saves round trips and most
-- of the client's CPU time.
--
-- Use: conn = pq.connect{...}; st = conn:prepare(sql, types); result = conn:send(st, …) any
-- number of times; conn:flush() sends them as one batch and waits; conn:rows(result),
-- conn:int(result, row, col), conn:bytes(result, row, col) read a result (rows and columns count
-- from 0) until the next send. With start_pipeline(false) each send is a batch of its own and
-- waits; flush() then only says that its results may go.
-- Parameter types and the binary form of values: pq_codec.lua. Results are binary: values
-- for int() must be cast to int4 in SQL; text is bytes.
-- A failure raises {sqlstate=, message=, lost=true|nil}. lost: the connection is gone. What a
-- statement asks of this module and it does not have (a 33rd result, a row that is not there, NULL
-- as a number, an array that is too long) raises a text.
-- conn.while_waiting, if it is set, is called for each second for which an answer does not come.
local ffi = require("ffi")
local codec = require("pq_codec")
local lib = require("pq_library")
local pq_address = require("pq_address")

local CONNECTION_OK = 0
local IDLE = 0
local TUPLES_OK = 2
local COMMAND_OK = 1
local COPY_IN = 4
local FATAL = 7
local SYNC = 10
local SQLSTATE_FIELD = 67
local PRIMARY_FIELD = 77
local MAX_BATCH = 32  -- results that a transaction may keep
local INT4_BYTES = 4
local POLL_IN = 1
local WAIT_MS = 1000

local pq = {}
local Connection = {}
Connection.__index = Connection

pq.address = pq_address.of_options

local Failure = {__tostring = function(e) return e.sqlstate .. ": " .. e.message end}

local function new_failure(sqlstate, message, lost)
   return setmetatable({sqlstate = sqlstate, message = message:gsub("%s+$", ""), lost = lost},
                       Failure)
end

function pq.connect(address)
   local c = lib.PQconnectdb(pq_address.conninfo(address))
   if c == nil or lib.PQstatus(c) ~= CONNECTION_OK then
      local message = c == nil and "out of memory" or ffi.string(lib.PQerrorMessage(c))
      lib.PQfinish(c)
      error(new_failure("08001", "cannot connect: " .. message, true), 0)
   end
   return setmetatable({
      c = ffi.gc(c, lib.PQfinish), statements = 0, batches = true, queued = 0, kept = 0,
      sent = 0, first_kept = 0,  -- results: how many so far, and which is the first that is kept
      complete = false,
      parameters = codec.new_parameters(), results = ffi.new("PGresult *[?]", MAX_BATCH),
      answer = ffi.new("tb_pollfd[1]", {{fd = lib.PQsocket(c), events = POLL_IN}}),
   }, Connection)
end

function Connection:close()
   self:clear()
   if self.c then lib.PQfinish(ffi.gc(self.c, nil)) end
   self.c = nil
end

-- Lets sysbench's own report count every statement (0 other, 1 read, 2 write), if this
-- runs inside sysbench.
function Connection:report_queries_as(thread_id)
   if pcall(ffi.cdef, "void sb_counter_inc(int thread_id, int type);") then
      if pcall(function() return ffi.C.sb_counter_inc end) then self.thread_id = thread_id end
   end
end

function Connection:failure(result)
   local lost = lib.PQstatus(self.c) ~= CONNECTION_OK or nil
   local state = result ~= nil and lib.PQresultErrorField(result, SQLSTATE_FIELD) or nil
   local text = result ~= nil and lib.PQresultErrorField(result, PRIMARY_FIELD) or nil
   if text == nil then text = lib.PQerrorMessage(self.c) end
   return new_failure(state ~= nil and ffi.string(state) or "08006", ffi.string(text), lost)
end

-- The beginning of a statement, for a message.
local function shortened(sql)
   local text = sql:sub(1, 200):gsub("%s+", " ")
   return text
end

-- Runs plain SQL outside of pipeline mode (set-up, loading) and returns its rows as
-- tables of strings; NULL is nil.
function Connection:exec(sql)
   local r = lib.PQexec(self.c, sql)
   local status = r == nil and FATAL or lib.PQresultStatus(r)
   if status ~= TUPLES_OK and status ~= COMMAND_OK and status ~= COPY_IN then
      local failure = self:failure(r)
      failure.message = failure.message .. " (in: " .. shortened(sql) .. ")"
      lib.PQclear(r)
      error(failure, 0)
   end
   local rows = {}
   for i = 0, lib.PQntuples(r) - 1 do
      rows[i + 1] = {}
      for j = 0, lib.PQnfields(r) - 1 do
         if lib.PQgetisnull(r, i, j) == 0 then
            rows[i + 1][j + 1] = ffi.string(lib.PQgetvalue(r, i, j))
         end
      end
   end
   lib.PQclear(r)
   return rows
end

-- COPY … FROM STDIN: copy_start, copy_data for every chunk, copy_end.
function Connection:copy_start(sql)
   return self:exec(sql)
end

function Connection:copy_data(data, n)
   if lib.PQputCopyData(self.c, data, n) ~= 1 then error(self:failure(nil), 0) end
end

function Connection:copy_end()
   if lib.PQputCopyEnd(self.c, nil) ~= 1 then error(self:failure(nil), 0) end
   local failure
   while true do
      local r = lib.PQgetResult(self.c)
      if r == nil then break end
      if lib.PQresultStatus(r) ~= COMMAND_OK and not failure then failure = self:failure(r) end
      lib.PQclear(r)
   end
   if failure then error(failure, 0) end
end

local KINDS = {select = 1, insert = 2, update = 2, delete = 2, with = 2}

-- unprepared: the statement is parsed at every execution (sysbench's --db-ps-mode=disable).
function Connection:prepare(sql, types, unprepared)
   types = types or ""
   self.statements = self.statements + 1
   local oids = codec.oids(types)
   local st = {name = "tb" .. self.statements, sql = sql, n = #types, oids = oids,
               unprepared = unprepared, kind = KINDS[sql:match("%a+"):lower()] or 0}
   for i = 1, #types do st[i] = types:sub(i, i) end
   if not unprepared then
      local r = lib.PQprepare(self.c, st.name, sql, #types, oids)
      local failure = (r == nil or lib.PQresultStatus(r) ~= COMMAND_OK) and self:failure(r)
      lib.PQclear(r)
      if failure then
         failure.message = failure.message .. " (preparing: " .. shortened(sql) .. ")"
         error(failure, 0)
      end
   end
   return st
end

function Connection:start_pipeline(batches)
   if lib.PQenterPipelineMode(self.c) ~= 1 then error(self:failure(nil), 0) end
   self.batches = batches
end

function Connection:clear()
   for i = 0, self.kept - 1 do lib.PQclear(self.results[i]) end
   self.kept = 0
end

local function fail(self, failure, lost)
   failure.lost = failure.lost or lost
   self.complete = true
   error(failure, 0)
end

-- Waits until there is something to get, or the connection is gone, which who gets it finds out.
local function wait_for_answer(self)
   while lib.PQisBusy(self.c) == 1 do
      local answers = ffi.C.poll(self.answer, 1, WAIT_MS)
      if answers > 0 and lib.PQconsumeInput(self.c) ~= 1 then return end
      if answers == 0 and self.while_waiting then self.while_waiting() end
   end
end

-- Ends the batch that is queued and waits for its results, which are kept behind those of the
-- same transaction's earlier sends. After the first failing statement the server skips the
-- rest of a batch: a COMMIT behind it is not executed.
local function receive(self)
   local c = self.c
   local n = self.queued
   local failure = nil
   self.queued = 0
   if lib.PQpipelineSync(c) ~= 1 then fail(self, self:failure(nil)) end
   for _ = 1, n do
      wait_for_answer(self)
      local r = lib.PQgetResult(c)
      if r == nil then fail(self, failure or self:failure(nil), true) end
      assert(self.kept < MAX_BATCH, "send has refused more")
      self.results[self.kept] = r
      self.kept = self.kept + 1
      local status = lib.PQresultStatus(r)
      if status ~= TUPLES_OK and status ~= COMMAND_OK then
         failure = failure or self:failure(r)
      end
      lib.PQgetResult(c)
   end
   wait_for_answer(self)
   local r = lib.PQgetResult(c)
   local lost = nil
   if r == nil or lib.PQresultStatus(r) ~= SYNC then
      failure = failure or self:failure(r)
      lost = true
   end
   lib.PQclear(r)
   if failure then fail(self, failure, lost) end
end

-- Queues one execution with its arguments, at most nine, which libpq copies before this returns.
-- Returns the result, which is there after the next flush.
function Connection:send(st, ...)
   if self.complete then
      self:clear()
      self.complete = false
   end
   if self.kept + self.queued >= MAX_BATCH then
      error("a transaction keeps more than " .. MAX_BATCH .. " results: " .. shortened(st.sql), 0)
   end
   local p = self.parameters
   local args = p.args
   args[1], args[2], args[3], args[4], args[5], args[6], args[7], args[8], args[9] = ...
   codec.encode(st, p)
   local sent
   if st.unprepared then
      sent = lib.PQsendQueryParams(self.c, st.sql, st.n, st.oids, p.values, p.lengths, p.formats, 1)
   else
      sent = lib.PQsendQueryPrepared(self.c, st.name, st.n, p.values, p.lengths, p.formats, 1)
   end
   if sent ~= 1 then error(self:failure(nil), 0) end
   if self.kept + self.queued == 0 then self.first_kept = self.sent end
   local result = self.sent
   self.sent = self.sent + 1
   self.queued = self.queued + 1
   if self.thread_id then ffi.C.sb_counter_inc(self.thread_id, st.kind) end
   if not self.batches then receive(self) end
   return result
end

-- Sends what is queued and waits for all of it.
function Connection:flush()
   if self.queued > 0 then receive(self) end
   self.complete = true
end

function Connection:run(st, ...)
   self:send(st, ...)
   self:flush()
end

function Connection:in_transaction()
   return lib.PQtransactionStatus(self.c) ~= IDLE
end

-- A result that a send returned, of the last batch, or of the transaction's batches until now.
local function kept_result(self, result)
   local place = result - self.first_kept
   if place < 0 or place >= self.kept then
      error(string.format("result %d was asked for, and those from %d to %d are kept", result,
                          self.first_kept, self.first_kept + self.kept - 1), 0)
   end
   return self.results[place]
end

function Connection:rows(result)
   return lib.PQntuples(kept_result(self, result))
end

-- Rows that the statement inserted, updated or deleted.
function Connection:affected(result)
   return tonumber(ffi.string(lib.PQcmdTuples(kept_result(self, result)))) or 0
end

-- Raises that a value is not what was asked for, which says more of the schema than of the load.
local function unexpected(r, result, row, col, wanted)
   local found
   if row < 0 or row >= lib.PQntuples(r) or col < 0 or col >= lib.PQnfields(r) then
      found = string.format("it has %d rows of %d columns", lib.PQntuples(r), lib.PQnfields(r))
   elseif lib.PQgetisnull(r, row, col) == 1 then
      found = "it is NULL"
   else
      found = string.format("it has %d bytes", lib.PQgetlength(r, row, col))
   end
   error(string.format("%s was expected in result %d, row %d, column %d: %s", wanted, result, row,
                       col, found), 0)
end

function Connection:int(result, row, col)
   local r = kept_result(self, result)
   if lib.PQgetlength(r, row, col) ~= INT4_BYTES then unexpected(r, result, row, col, "an int4") end
   return codec.int(lib.PQgetvalue(r, row, col))
end

-- A pointer valid until the next send, and the length.
function Connection:bytes(result, row, col)
   local r = kept_result(self, result)
   local value = lib.PQgetvalue(r, row, col)
   if value == nil then unexpected(r, result, row, col, "a value") end
   return value, lib.PQgetlength(r, row, col)
end

function Connection:text(result, row, col)
   local bytes, length = self:bytes(result, row, col)
   return ffi.string(bytes, length)
end

return pq
