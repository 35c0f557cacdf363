-- Point-select: a transaction is BEGIN, --statements (10) selects of one row by its
-- primary key, COMMIT, each a round trip of its own, over the tables sbtest1…N of
-- sysbench's oltp_common. Draws keys as --rand-type says: give --rand-type=uniform, or
-- sysbench's default reads a hot percent of the rows and hardly ever the disk.
-- Options: --tables, --table-size, --skip-trx (no BEGIN and COMMIT, every statement
-- commits by itself), --statements, sysbench's --rand-…, and lib/loop.lua's (--out,
-- --record, --arrival-rate, --max-attempts, --isolation, --seed).
-- Commands: prepare (sysbench's loader; load.lua is faster), run, cleanup.
local here = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = here .. "/../lib/?.lua;" .. here .. "/?.lua;" .. package.path

local function key()
   return sysbench.rand.default(1, sysbench.opt.table_size)
end

require("common").define("point_select", "SELECT c FROM sbtest%u WHERE id=$1", "i", key)
