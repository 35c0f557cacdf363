-- Writes rows as COPY text straight into a byte buffer: no Lua string per row or column,
-- so that loading is limited by the database and memory does not grow.
--
-- start(chunk) first; then one call per column and end_row() per row; flush() at the end.
-- chunk(bytes, n, rows) gets whole rows. Draws from math.random: seed it for repeatable
-- rows. Random text is cut from a pool of random characters at random positions; the pool
-- is 1 MiB, larger than the blocks that databases compress, so that such text does not
-- compress better than freshly drawn text.
local ffi = require("ffi")

local POOL_BYTES = 1048576
local CHUNK_BYTES = 262144
local ROW_BYTES = 4096
local LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
local TAB = 9
local NEWLINE = 10
local POINT = 46
local DASH = 45
local ZERO = 48
local GROUP = 12
local rnd, floor = math.random, math.floor

local letter_pool = ffi.new("uint8_t[?]", POOL_BYTES)
local digit_pool = ffi.new("uint8_t[?]", POOL_BYTES)
local buffer = ffi.new("uint8_t[?]", CHUNK_BYTES + ROW_BYTES)
local at = 0
local count = 0
local put_chunk = nil

math.randomseed(1)
for i = 0, POOL_BYTES - 1 do
   letter_pool[i] = LETTERS:byte(rnd(#LETTERS))
   digit_pool[i] = i % GROUP == GROUP - 1 and DASH or ZERO + rnd(0, 9)
end

local rows = {}

function rows.start(chunk)
   at = 0
   count = 0
   put_chunk = chunk
end

function rows.flush()
   if at > 0 then put_chunk(buffer, at, count) end
   at = 0
   count = 0
end

function rows.end_row()
   buffer[at - 1] = NEWLINE
   count = count + 1
   if at >= CHUNK_BYTES then rows.flush() end
end

local function tab()
   buffer[at] = TAB
   at = at + 1
end

-- Digits of a whole number, with leading zeros up to the width.
local function put_digits(v, width)
   local n = 1
   local rest = floor(v / 10)
   while rest > 0 do rest, n = floor(rest / 10), n + 1 end
   if n < width then n = width end
   for i = at + n - 1, at, -1 do
      rest = floor(v / 10)
      buffer[i] = ZERO + v - rest * 10
      v = rest
   end
   at = at + n
end

function rows.int(v, width)
   put_digits(v, width or 1)
   tab()
end

-- A decimal fraction from a whole number: 1234 with two places is 12.34.
function rows.decimal(v, places)
   local unit = 10 ^ places
   local whole = floor(v / unit)
   put_digits(whole, 1)
   buffer[at] = POINT
   at = at + 1
   put_digits(v - whole * unit, places)
   tab()
end

-- May hold several columns, separated by tabs.
function rows.text(s)
   ffi.copy(buffer + at, s, #s)
   at = at + #s
   tab()
end

-- Random letters and digits. Returns how many.
function rows.letters(shortest, longest)
   local n = rnd(shortest, longest)
   ffi.copy(buffer + at, letter_pool + rnd(0, POOL_BYTES - n), n)
   at = at + n
   tab()
   return n
end

-- A random number with that many digits, leading zeros included.
function rows.number(length)
   put_digits(rnd(0, 10 ^ length - 1), length)
   tab()
end

-- Groups of eleven random digits, separated by dashes (sysbench's filling).
function rows.digit_groups(groups)
   local n = groups * GROUP - 1
   ffi.copy(buffer + at, digit_pool + GROUP * rnd(0, floor(POOL_BYTES / GROUP) - groups), n)
   at = at + n
   tab()
end

-- Overwrites part of the column just written with s, from_end characters before its end.
function rows.overwrite(from_end, s)
   ffi.copy(buffer + at - 1 - from_end, s, #s)
end

return rows
