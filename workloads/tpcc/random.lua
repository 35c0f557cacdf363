-- The random quantities of the specification (clauses 2.1.6 and 4.3.2) for the loader
-- and the terminals. Draws from LuaJIT's own generator, which is fast, the same on all
-- platforms and private to each thread: seed it with math.randomseed.
local bit = require("bit")
local schema = require("schema")

local random = {}
local A_LAST = 255
local A_CUSTOMER = 1023
local A_ITEM = 8191
local SYLLABLES = {[0] = "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION",
                   "EING"}

-- c: the constant C of the field, drawn once and the same for all terminals.
local function nurand(a, c, x, y)
   return (bit.bor(math.random(0, a), math.random(x, y)) + c) % (y - x + 1) + x
end

function random.customer(c) return nurand(A_CUSTOMER, c, 1, schema.CUSTOMERS) end
function random.item(c) return nurand(A_ITEM, c, 1, schema.ITEMS) end
function random.last_name_number(c) return nurand(A_LAST, c, 0, 999) end

-- Any of the warehouses but w.
function random.another_warehouse(warehouses, w)
   local other = math.random(warehouses - 1)
   return other < w and other or other + 1
end

local names = {}
for n = 0, 999 do
   local hundreds = math.floor(n / 100)
   local tens = math.floor(n / 10) % 10
   local ones = n % 10
   names[n] = SYLLABLES[hundreds] .. SYLLABLES[tens] .. SYLLABLES[ones]
end

function random.last_name(n) return names[n] end

function random.constants()
   return {last = math.random(0, A_LAST), customer = math.random(0, A_CUSTOMER),
           item = math.random(0, A_ITEM)}
end

-- A legal C_LAST for running against data loaded with c_load: their distance lies in
-- 65…119 and is neither 96 nor 112 (clause 2.1.6.1). pick: any whole number; selects one.
function random.run_constant(c_load, pick)
   local legal = {}
   for c = 0, A_LAST do
      local distance = math.abs(c - c_load)
      if distance >= 65 and distance <= 119 and distance ~= 96 and distance ~= 112 then
         legal[#legal + 1] = c
      end
   end
   return legal[pick % #legal + 1]
end

return random
