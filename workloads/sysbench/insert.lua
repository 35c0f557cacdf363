-- Insert: a transaction is BEGIN, --statements (10) inserts of one row, COMMIT, each a
-- round trip of its own, over the tables sbtest1…N of sysbench's oltp_common, whose
-- secondary index on k is kept up to date with every row.
-- The key comes from the table's own sequence: it goes on after the loaded rows, differs
-- between threads and repetitions, and is right again on a restored data set. So tables
-- that "prepare" made with --auto-inc=off cannot be used.
-- Options: as point_select.lua. Commands: prepare, run, cleanup.
local here = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = here .. "/../lib/?.lua;" .. here .. "/?.lua;" .. package.path

local function row()
   return sysbench.rand.default(1, sysbench.opt.table_size), get_c_value(), get_pad_value()
end

local SQL = "INSERT INTO sbtest%u (k, c, pad) VALUES ($1, $2, $3)"

require("common").define("insert", SQL, "itt", row)
