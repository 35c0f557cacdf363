-- Tables t = 1…N whose rows are loaded in parts, in parallel and each once: `source.kept`, a table
-- with the columns t and first, holds which parts are complete, so an interrupted load goes on.
local loader = require("loader")
local workers = require("workers")

local parts = {ROWS = 250000}

-- Parts still to load. `may_have_rows`: of an earlier attempt, whose COPY committed by itself.
function parts.left(conn, kept, tables, rows, resumed)
   local list = {}
   local complete = {}
   for _, row in ipairs(conn:exec("SELECT t, first FROM " .. kept)) do
      complete[row[1] .. " " .. row[2]] = true
   end
   for t = 1, tables do
      for first = 1, rows, parts.ROWS do
         local last = math.min(first + parts.ROWS - 1, rows)
         if not complete[t .. " " .. first] then
            list[#list + 1] = {t = t, first = first, last = last, may_have_rows = resumed}
         end
      end
   end
   return list
end

local function load_surely(session, source, dialect, part, share)
   local loaded = share.rows
   local bytes = share.bytes
   session:run(function(conn, attempt)
      local key = string.format("(%d, %d)", part.t, part.first)
      if attempt > 1 then
         local complete = "SELECT 1 FROM " .. source.kept .. " WHERE (t, first) = " .. key
         if conn:exec(complete)[1] then return end
         share.rows = loaded
         share.bytes = bytes
      end
      if dialect.transactional_copy then
         conn:exec("BEGIN")
      elseif part.may_have_rows or attempt > 1 then
         source.remove(conn, part)
      end
      source.copy(conn, part, share)
      conn:exec("INSERT INTO " .. source.kept .. " VALUES " .. key)
      if dialect.transactional_copy then conn:exec("COMMIT") end
   end)
   share.units = share.units + 1
end

-- Loads them by --workers, each of which takes neighbours, so that few tables are copied by two at
-- once, and the rows of the others lie in order. `source`: `copy(conn, part, share)` loads the rows
-- of one and counts them in `share`, `remove(conn, part)` takes away what an earlier attempt left.
function parts.load(list, source, opt, dialect)
   local n = math.min(opt.workers, #list)
   if n == 0 then return end
   local phase = {name = "load", units = "parts", count = #list, effort = 0}
   for _, part in ipairs(list) do phase.effort = phase.effort + part.last - part.first + 1 end
   workers.run(n, phase, function(index, share)
      local session = loader.session(opt, dialect, index)
      for i = math.floor(index * #list / n) + 1, math.floor((index + 1) * #list / n) do
         load_surely(session, source, dialect, list[i], share)
      end
   end)
end

return parts
