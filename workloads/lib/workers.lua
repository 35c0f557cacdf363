-- Parallel loading: forked processes share a page of counters with their parent, which
-- prints progress as one JSON object per line and stops them all if one fails.
local ffi = require("ffi")
local clock = require("clock")
local json = require("json")

ffi.cdef[[
typedef struct { double rows, bytes, units, effort; char problem[1000]; } tb_share;
void *mmap(void *at, size_t n, int protection, int flags, int fd, long offset);
int fork(void);
int waitpid(int pid, int *status, int options);
int kill(int pid, int signal);
void _exit(int status);
]]

local C = ffi.C
local READ_WRITE = 3
local SHARED_ANONYMOUS = 0x21
local DIE_WITH_PARENT = 1
local NO_HANG = 1
local SIGKILL = 9
local SIGTERM = 15
local PROGRESS_US = 1e6
local POLL_US = 2e4

local workers = {}

local function total(shares, n, what)
   local sum = 0
   for i = 0, n - 1 do sum = sum + shares[i][what] end
   return sum
end

function workers.say(object)
   io.stdout:write(json(object), "\n")
   io.stdout:flush()
end

local function rounded(x) return math.floor(x * 100) / 100 end

-- Prints one line of progress, with the phase's own word for its units; rows and bytes
-- only if the phase moves any.
local function progress(phase, shares, n, started_us)
   local elapsed_s = (clock.now_us() - started_us) / 1e6
   local rows = total(shares, n, "rows")
   local bytes = total(shares, n, "bytes")
   local line = {phase = phase.name, elapsed_s = rounded(elapsed_s)}
   line[phase.units .. "_done"] = total(shares, n, "units") + (phase.already or 0)
   line[phase.units] = phase.count
   if rows > 0 then
      line.rows = rows
      line.rows_per_s = math.floor(rows / elapsed_s)
      line.bytes = bytes
      line.bytes_per_s = math.floor(bytes / elapsed_s)
   end
   local done = math.min((rows + total(shares, n, "effort")) / math.max(phase.effort, 1), 1)
   if done > 0 then line.eta_s = rounded(elapsed_s / done - elapsed_s) end
   workers.say(line)
end

local function start(n, shares, work)
   local pids = {}
   io.stdout:flush()
   for i = 0, n - 1 do
      local pid = C.fork()
      if pid < 0 then error("cannot fork", 0) end
      if pid == 0 then
         C.prctl(DIE_WITH_PARENT, SIGKILL)
         local ok, problem = pcall(work, i, shares[i])
         if not ok then ffi.copy(shares[i].problem, tostring(problem):sub(1, 999)) end
         C._exit(ok and 0 or 1)
      end
      pids[pid] = i
   end
   return pids
end

-- Waits until all processes have ended; the first failure ends the others.
local function attend(pids, shares, tick)
   local status = ffi.new("int[1]")
   local problem = nil
   while next(pids) do
      local pid = C.waitpid(-1, status, NO_HANG)
      if pid > 0 and pids[pid] then
         local share = shares[pids[pid]]
         pids[pid] = nil
         if status[0] ~= 0 and not problem then
            problem = ffi.string(share.problem)
            if problem == "" then problem = "a worker ended with status " .. status[0] end
            for other in pairs(pids) do C.kill(other, SIGTERM) end
         end
      else
         clock.sleep_us(POLL_US)
      end
      tick()
   end
   return problem
end

-- Runs work(index, share) in n processes; work adds to share.rows, .bytes, .units and
-- .effort. phase: name, units (the word), count, already (done before), and effort: the
-- sum of rows and effort at the end, from which the time left is estimated.
-- Raises the first worker's error.
function workers.run(n, phase, work)
   local page = C.mmap(nil, n * ffi.sizeof("tb_share"), READ_WRITE, SHARED_ANONYMOUS, -1, 0)
   local shares = ffi.cast("tb_share *", page)
   local started_us = clock.now_us()
   local printed_us = started_us
   local problem = attend(start(n, shares, work), shares, function()
      if clock.now_us() - printed_us < PROGRESS_US then return end
      printed_us = clock.now_us()
      progress(phase, shares, n, started_us)
   end)
   if problem then error(problem, 0) end
   progress(phase, shares, n, started_us)
end

-- Command lines of the form --name=value or --name value. definitions: name -> default;
-- its type is the option's type. Dashes and underscores in names are the same.
function workers.options(argv, definitions)
   local opt = {}
   for name, default in pairs(definitions) do opt[name] = default end
   local i = 1
   while i <= #argv do
      local name, value = argv[i]:match("^%-%-([%w_-]+)=?(.*)$")
      name = name and name:gsub("-", "_")
      if not name or definitions[name] == nil then error("unknown option: " .. argv[i], 0) end
      if not argv[i]:find("=", 1, true) and type(definitions[name]) ~= "boolean" then
         i = i + 1
         value = argv[i] or error("--" .. name .. " needs a value", 0)
      end
      if type(definitions[name]) == "number" then
         opt[name] = tonumber(value)
            or error("--" .. name .. " takes a number, not '" .. value .. "'", 0)
      elseif type(definitions[name]) == "boolean" then
         opt[name] = value == "" or value == "on" or value == "true" or value == "1"
      else
         opt[name] = value
      end
      i = i + 1
   end
   return opt
end

-- Runs main() of a loader: a failure becomes one JSON line, one line of text and status 1
-- (130 when interrupted).
function workers.main(main)
   local ok, problem = pcall(main)
   if ok then os.exit(0) end
   workers.say{phase = "failed", message = tostring(problem)}
   io.stderr:write("FATAL: ", tostring(problem), "\n")
   os.exit(tostring(problem):find("interrupted!", 1, true) and 130 or 1)
end

return workers
