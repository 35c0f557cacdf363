-- What luacheck holds the Lua of workloads/ against: `make check`, where it is installed.
std = "luajit"
max_line_length = 100
-- sysbench gives its scripts this table, and calls these functions of theirs.
globals = {"sysbench", "init", "thread_init", "thread_run", "thread_done", "event"}
-- Of sysbench's own oltp_common, which common.lua loads.
read_globals = {"get_c_value", "get_pad_value"}
