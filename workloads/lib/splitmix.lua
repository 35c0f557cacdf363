-- SplitMix64 (Steele, Lea and Flood 2014): random numbers of which each use has its own, so that
-- how many one of them draws changes none of the others. LuaJIT's math.random is one for a whole
-- thread.
local bit = require("bit")
local ffi = require("ffi")

ffi.cdef[[
typedef struct { uint64_t state; } tb_splitmix;
]]

local splitmix = {}

-- seed: a whole number.
function splitmix.new(seed)
   local generator = ffi.new("tb_splitmix")
   generator.state = seed
   return generator
end

-- A number in [0, 1), from anything that has a uint64_t called state.
function splitmix.draw(generator)
   generator.state = generator.state + 0x9E3779B97F4A7C15ULL
   local z = generator.state
   z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
   z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
   return tonumber(bit.rshift(bit.bxor(z, bit.rshift(z, 31)), 11)) / 2 ^ 53
end

return splitmix
