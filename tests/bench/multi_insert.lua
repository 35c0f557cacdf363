-- Ten inserts of one row and a COMMIT by sysbench's own driver: what our workload `insert` does,
-- and what upstream has no script for. Tables, options, BEGIN and COMMIT are upstream's.
require("oltp_common")

sysbench.cmdline.options.rows = {"Rows per transaction", 10}

local C, PAD = ("###########-"):rep(10):sub(1, -2), ("###########-"):rep(5):sub(1, -2)

function prepare_statements()
   local types = sysbench.sql.type
   prepare_begin()
   prepare_commit()
   for t = 1, sysbench.opt.tables do
      local insert = con:prepare("INSERT INTO sbtest" .. t .. " (k, c, pad) VALUES (?, ?, ?)")
      local values = {insert:bind_create(types.INT), insert:bind_create(types.CHAR, 120),
                      insert:bind_create(types.CHAR, 60)}
      insert:bind_param(unpack(values))
      stmt[t].insert, param[t].insert = insert, values
   end
end

function event()
   local t = sysbench.rand.uniform(1, sysbench.opt.tables)
   local values = param[t].insert
   begin()
   for _ = 1, sysbench.opt.rows do
      values[1]:set(sysbench.rand.default(1, sysbench.opt.table_size))
      values[2]:set_rand_str(C)
      values[3]:set_rand_str(PAD)
      stmt[t].insert:execute()
   end
   commit()
end
