-- Bulk scan: a transaction reads the next --batch ids (10000) of the tables bulk1…N in order:
-- count, least and greatest id, the sum of k and of the first numbers of pad, held against the
-- formula that made the rows. What differs ends the run. All threads take ranges from one sequence,
-- and the run ends when every row was read once, or when its time is over.
local here = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = here .. "/../lib/?.lua;" .. here .. "/?.lua;" .. package.path

local ffi = require("ffi")
local formula = require("formula")
local shared = require("shared")

ffi.cdef[[typedef struct { int64_t lock[8]; double taken; } tb_ranges;]]
local ADDRESS = "TIERBENCH_RANGES"
local STRUCT = "tb_ranges"
local work = {}

function work.mode(facts)
   local batch = sysbench.opt.batch
   if facts.rows % batch ~= 0 then
      error(string.format("%d rows of a table are not whole batches of %d", facts.rows, batch), 0)
   end
   return {batch = batch, bytes_per_transaction = batch * formula.ROW_BYTES, payload = "read",
           ends_with_work = true}
end

function work.share() shared.create(ADDRESS, STRUCT) end

-- What is wrong with a range; nil if nothing is.
local function difference(row, first, last)
   local sum_of_k, sum_of_pad = formula.sums(first, last)
   local expected = {tostring(last - first + 1), tostring(first), tostring(last),
                     formula.text(sum_of_k), formula.text(sum_of_pad)}
   for i, what in ipairs{"rows", "least id", "greatest id", "sum of k", "sum of pad"} do
      if row[i] ~= expected[i] then
         return string.format("ids %d to %d: %s is %s, not %s", first, last, what,
                              tostring(row[i]), expected[i])
      end
   end
end

function work.connected(conn, facts)
   local ranges = shared.find(ADDRESS, STRUCT)
   local workload = {}
   local batch = sysbench.opt.batch
   local ranges_per_table = facts.rows / batch
   local t = 0
   local first = 0

   function workload.draw()
      local range = shared.locked(ranges.lock, function()
         ranges.taken = ranges.taken + 1
         return ranges.taken - 1
      end)
      t = math.floor(range / ranges_per_table) + 1
      first = range % ranges_per_table * batch + 1
      return t <= facts.tables and 0 or nil
   end

   function workload.execute()
      local last = first + batch - 1
      local row = conn:exec(formula.QUERY:format(t, first, last))[1]
      local wrong = difference(row, first, last)
      if wrong then error("bulk" .. t .. " is not as it was loaded: " .. wrong, 0) end
      return 0
   end

   return workload
end

require("threads").define("scan", {batch = {"Ids of a range", 10000}}, work)
