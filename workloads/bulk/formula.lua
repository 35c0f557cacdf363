-- The rows of the bulk workloads: 100 bytes of COPY text each, that follow from their id alone. So
-- who reads rows knows what they must hold, without another copy of them.
--
--   id    12 digits: number of a block of BLOCK ids, 0 to 999, and a place in it from 1 on
--   k     10 digits: next(id), a scrambled order, so that an index on k must sort
--   pad   75 digits: seven numbers of ten digits and one of five, each the next of the one before
--
-- next(n) is n * 48271 modulo 2^31 - 1 (Park and Miller's minimal standard generator): in SQL
-- n % 2147483647 * 48271 % 2147483647. Whole numbers below 2^53 are exact here.
-- Digits compress to about half: a database that compresses writes less than it is given.
local ffi = require("ffi")

local MODULUS = 2147483647
local MULTIPLIER = 48271
local ZERO = 48
local TAB = 9
local NEWLINE = 10
local ID_AT = 0
local K_AT = 13
local PAD_AT = 24
local PAD_END = 99
local IDS = 1e12  -- more have no 12 digits
local floor = math.floor
local format = string.format

local formula = {ROW_BYTES = 100, BLOCK = 1000000000}

-- For n below MODULUS. 2^31 is 1 modulo MODULUS, so what a product has above 31 bits is added to
-- these; a division takes longer.
local function next_of(n)
   local product = n * MULTIPLIER
   local high = floor(product * 2^-31)
   local sum = product - high * 2^31 + high
   return sum < MODULUS and sum or sum - MODULUS
end

local function after(id) return next_of(id % MODULUS) end

-- All numbers of four digits: a row is put together from these, which takes a fifth of the time.
local four_digits = ffi.new("uint32_t[10000]")
for i = 0, 9999 do ffi.copy(four_digits + i, format("%04d", i), 4) end

local function put_4(at, value) ffi.cast("uint32_t *", at)[0] = four_digits[value] end

local function put_8(at, value)
   local high = floor(value / 10000)
   put_4(at, high)
   put_4(at + 4, value - high * 10000)
end

local function put_10(at, value)
   local high = floor(value / 1e8)
   local tens = floor(high / 10)
   at[0] = ZERO + tens
   at[1] = ZERO + high - tens * 10
   put_8(at + 2, value - high * 1e8)
end

-- Seven numbers, written out: a loop within that over the rows takes LuaJIT three times as long.
local function put_pad(at, n)
   n = next_of(n)
   put_10(at, n)
   n = next_of(n)
   put_10(at + 10, n)
   n = next_of(n)
   put_10(at + 20, n)
   n = next_of(n)
   put_10(at + 30, n)
   n = next_of(n)
   put_10(at + 40, n)
   n = next_of(n)
   put_10(at + 50, n)
   n = next_of(n)
   put_10(at + 60, n)
   local last = next_of(n) % 100000
   at[70] = ZERO + floor(last / 10000)
   put_4(at + 71, last % 10000)
end

local function put_row(at, id)
   local high = floor(id / 1e8)
   local k = after(id)
   put_4(at + ID_AT, high)
   put_8(at + ID_AT + 4, id - high * 1e8)
   put_10(at + K_AT, k)
   put_pad(at + PAD_AT, k)
   at[K_AT - 1] = TAB
   at[PAD_AT - 1] = TAB
   at[PAD_END] = NEWLINE
   return k
end

-- Memory for so many rows.
function formula.buffer(rows) return ffi.new("uint8_t[?]", rows * formula.ROW_BYTES) end

-- Writes the rows with ids from first to last. Returns their bytes, and their checksum: the sum of
-- all k as a whole number of 64 bits. Raises if an id has more than 12 digits.
function formula.fill(buffer, first, last)
   if last >= IDS then error(string.format("id %.0f has more than 12 digits", last), 0) end
   local at = ffi.cast("uint8_t *", buffer)
   local sum = 0LL
   for id = first, last do
      sum = sum + put_row(at, id)
      at = at + formula.ROW_BYTES
   end
   return (last - first + 1) * formula.ROW_BYTES, sum
end

-- What formula.QUERY must find: the sum of k and the sum of the first numbers of pad.
function formula.sums(first, last)
   local sum_of_k = 0LL
   local sum_of_pad = 0LL
   for id = first, last do
      local k = after(id)
      sum_of_k = sum_of_k + k
      sum_of_pad = sum_of_pad + after(k)
   end
   return sum_of_k, sum_of_pad
end

-- For a table, and the first and the last id of a range.
formula.QUERY = "SELECT count(*), min(id), max(id), sum(k), sum(left(pad, 10)::bigint) "
   .. "FROM bulk%d WHERE id BETWEEN %d AND %d"

-- A sum as SQL writes it.
function formula.text(sum) return (tostring(sum):gsub("LL$", "")) end

return formula
