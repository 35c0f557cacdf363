-- Bulk load: a transaction is one COPY of --batch rows (10000) into one of the tables bulk1…N,
-- which load.lua left empty. Each thread goes from table to table, and its rows are a block of ids
-- of its own, so that no two threads write the same. A transaction begins with making its rows.
-- At the end each thread notes in bulk_expected what it committed; consistency.sql compares.
local here = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = here .. "/../lib/?.lua;" .. here .. "/?.lua;" .. package.path

local formula = require("formula")
local layout = require("layout")

local work = {}

function work.mode()
   return {batch = sysbench.opt.batch,
           bytes_per_transaction = sysbench.opt.batch * formula.ROW_BYTES, payload = "written"}
end

function work.connected(conn, facts, number)
   local batch = sysbench.opt.batch
   local workload = {}
   local buffer = formula.buffer(batch)
   local block = number + 1
   local copied = {}
   local t = 0
   local first = 0
   local batches = 0
   for i = 1, facts.tables do copied[i] = {rows = 0, total = 0LL} end
   -- Where COPY commits by itself, it does so once.
   local options = facts.dialect.copy_options ~= ""
      and " WITH (ROWS_PER_TRANSACTION " .. batch .. ")" or ""

   function workload.draw()
      first = block * formula.BLOCK + batches * batch + 1
      t = (number + batches) % facts.tables + 1
      batches = batches + 1
      return 0
   end

   function workload.execute()
      local bytes, total = formula.fill(buffer, first, first + batch - 1)
      conn:copy_start("COPY bulk" .. t .. " FROM STDIN" .. options)
      conn:copy_data(buffer, bytes)
      conn:copy_end()
      copied[t].rows = copied[t].rows + batch
      copied[t].total = copied[t].total + total
      return 0
   end

   function workload.finish()
      for i, copy in ipairs(copied) do
         if copy.rows > 0 then
            layout.expect(conn, i, block, copy.rows, formula.text(copy.total))
         end
      end
   end

   return workload
end

require("threads").define("copy", {batch = {"Rows of a COPY", 10000}}, work)
