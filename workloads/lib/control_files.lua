-- Files by which whoever started a load controls its threads:
--   --begins-file    when the load begins and, unless --ends-file says so, ends; in Unix seconds
--   --ends-file      when the load ends, in Unix seconds; written when the measured window begins
--   --sessions-file  how many threads of a closed loop go on
-- Each appears at once with all that it says. Its instants become those of the monotonic clock when
-- it is read: a wall clock that is set later moves no end.
local clock = require("clock")

local LONGEST_WAIT_US = 120e6
local BEGIN_POLL_US = 5e3
local END_POLL_US = 1e6
local SESSIONS_POLL_US = 2e5

local control_files = {}
local Control = {}
Control.__index = Control

-- The control of one thread. thread_number: among all programs that share the load.
-- deadline_us: the instant at which the thread stops at the latest; nil while there is none.
function control_files.new(opt, thread_number)
   return setmetatable({opt = opt, thread_number = thread_number, deadline_us = nil,
                        ends_by_file = false, next_end_poll_us = 0, next_sessions_poll_us = 0,
                        most_sessions = nil}, Control)
end

-- The file's contents, opened; nil if it is not there yet, or if the option names none.
local function opened(path)
   if path == "" then return nil end
   return io.open(path)
end

-- The monotonic instant of a moment in Unix seconds.
local function monotonic_us(unix_s)
   local unix_us_at_zero = tonumber(clock.unix_ns()) * 1e-3 - clock.now_us()
   return unix_s * 1e6 - unix_us_at_zero
end

local function end_by_file(self, unix_s)
   self.ends_by_file = true
   self.deadline_us = monotonic_us(unix_s)
end

local function await_begins_file(self)
   local started_us = clock.now_us()
   while true do
      local file = opened(self.opt.begins_file)
      if file then return file end
      if clock.now_us() - started_us > LONGEST_WAIT_US then
         error("was not told when to begin: no " .. self.opt.begins_file, 0)
      end
      clock.sleep_us(BEGIN_POLL_US)
   end
end

-- Returns when the load begins, which is now unless --begins-file will say when. All threads wait
-- here, connected. Raises a text if the file does not come.
function Control:begin()
   if self.opt.time > 0 then self.deadline_us = clock.now_us() + self.opt.time * 1e6 end
   if self.opt.begins_file == "" then return end
   local file = await_begins_file(self)
   local begins_s, ends_s = file:read("*n", "*n")
   file:close()
   if ends_s then end_by_file(self, ends_s) end
   local begins_us = monotonic_us(begins_s)
   while clock.now_us() < begins_us do clock.sleep_until_us(begins_us) end
end

-- Whether a file has ended the run. Without one sysbench ends it, after --time.
function Control:has_ended()
   local now_us = clock.now_us()
   if not self.ends_by_file and now_us >= self.next_end_poll_us then
      self.next_end_poll_us = now_us + END_POLL_US
      local file = opened(self.opt.ends_file)
      if file then
         end_by_file(self, file:read("*n"))
         file:close()
      end
   end
   return self.ends_by_file and now_us >= self.deadline_us
end

-- Whether the deadline is over, by a file or by --time.
function Control:is_late(now_us)
   return self.deadline_us ~= nil and now_us >= self.deadline_us
end

-- Whether this thread may begin a transaction, by --sessions-file; if not, it asks again at
-- next_sessions_poll_us. Each thread looks itself: that takes microseconds, and one that looked for
-- all could be busy.
function Control:admits()
   local now_us = clock.now_us()
   if now_us >= self.next_sessions_poll_us then
      self.next_sessions_poll_us = now_us + SESSIONS_POLL_US
      local file = opened(self.opt.sessions_file)
      if file then
         self.most_sessions = file:read("*n")
         file:close()
      end
   end
   return self.most_sessions == nil or self.thread_number < self.most_sessions
end

return control_files
