-- The binary form of those parameters and results that the load generators use.
--
-- Parameter types, one letter each: i int4, I int4[] ({n=, [0..n-1]}), t text,
-- T text[] ({n=, ptr=const char*[], len=int[]}). No Lua string is made per value, and nothing is
-- allocated per statement.
local ffi = require("ffi")
local bit = require("bit")

local INT4 = 23
local TEXT = 25
local INT4_ARRAY = 1007
local TEXT_ARRAY = 1009
local OIDS = {i = INT4, t = TEXT, I = INT4_ARRAY, T = TEXT_ARRAY}
local MAX_PARAMS = 9
local ARENA_BYTES = 65536
local BINARY = 1
local ARRAY_HEAD_BYTES = 20
local INT_BYTES = 4
local i32 = ffi.typeof("int32_t *")
local chars = ffi.typeof("const char *")

local codec = {}

-- The object identifiers of the types, for libpq.
function codec.oids(types)
   if #types > MAX_PARAMS then
      error(string.format("a statement has %d parameters: at most %d work", #types, MAX_PARAMS), 0)
   end
   local oids = ffi.new("unsigned[?]", math.max(#types, 1))
   for i = 1, #types do oids[i - 1] = assert(OIDS[types:sub(i, i)], "unknown parameter type") end
   return oids
end

-- Returns buffers for the parameters of one statement. args: the values to encode, from 1; they
-- stay there until the next statement, so that strings to which only C points are not collected.
function codec.new_parameters()
   return {values = ffi.new("const char *[?]", MAX_PARAMS), lengths = ffi.new("int[?]", MAX_PARAMS),
           formats = ffi.new("int[?]", MAX_PARAMS), arena = ffi.new("uint8_t[?]", ARENA_BYTES),
           args = {}}
end

-- Raises for what is no whole number of 32 bits: it would be stored as another number.
local function put_i32(p, v)
   if bit.tobit(v) ~= v then error(string.format("%.15g is no int4", v), 0) end
   ffi.cast(i32, p)[0] = bit.bswap(v)
end

-- Raises unless so many bytes fit between a pointer and the arena's end.
local function need(p, arena_end, bytes)
   if arena_end - p < bytes then
      error("the parameters of a statement have more than " .. ARENA_BYTES .. " bytes", 0)
   end
end

-- The binary form of a one-dimensional array: dimensions, has-null flag, element type,
-- length, lower bound, then each element behind its length.
local function put_array_head(p, arena_end, oid, n)
   need(p, arena_end, ARRAY_HEAD_BYTES)
   put_i32(p, 1)
   put_i32(p + 4, 0)
   put_i32(p + 8, oid)
   put_i32(p + 12, n)
   put_i32(p + 16, 1)
   return p + ARRAY_HEAD_BYTES
end

local function put_ints(p, arena_end, a)
   p = put_array_head(p, arena_end, INT4, a.n)
   need(p, arena_end, 2 * INT_BYTES * a.n)
   for i = 0, a.n - 1 do
      put_i32(p, INT_BYTES)
      put_i32(p + INT_BYTES, a[i])
      p = p + 2 * INT_BYTES
   end
   return p
end

local function put_texts(p, arena_end, a)
   p = put_array_head(p, arena_end, TEXT, a.n)
   for i = 0, a.n - 1 do
      need(p, arena_end, INT_BYTES + a.len[i])
      put_i32(p, a.len[i])
      ffi.copy(p + INT_BYTES, a.ptr[i], a.len[i])
      p = p + INT_BYTES + a.len[i]
   end
   return p
end

local function put_int(p, arena_end, v)
   need(p, arena_end, INT_BYTES)
   put_i32(p, v)
   return p + INT_BYTES
end

local PUT = {i = put_int, I = put_ints, T = put_texts}

-- Encodes parameters.args for libpq; their types are st[1] to st[st.n]. Text is not copied. Raises
-- a text if they do not fit.
function codec.encode(st, parameters)
   local args = parameters.args
   local values = parameters.values
   local lengths = parameters.lengths
   local p = parameters.arena + 0
   local arena_end = p + ARENA_BYTES
   for i = 1, st.n do
      local kind = st[i]
      local v = args[i]
      local from = p
      if kind == "t" then
         values[i - 1] = v
         lengths[i - 1] = #v
      else
         p = PUT[kind](p, arena_end, v)
         values[i - 1] = ffi.cast(chars, from)
         lengths[i - 1] = p - from
      end
      parameters.formats[i - 1] = BINARY
   end
end

-- The int4 at a pointer into a result.
function codec.int(pointer)
   return bit.bswap(ffi.cast(i32, pointer)[0])
end

return codec
