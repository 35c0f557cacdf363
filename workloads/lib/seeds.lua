-- Numbers to seed with, made of the campaign's seed and the number of what is seeded. So each
-- thread draws something else than the others, and the same in each repetition.
local seeds = {}

local MOST_SEED = 99999999  -- with which all that is seeded has a number of its own
local FIRST_INEXACT = 2 ^ 53  -- from here on neighbours are one number for Lua
local THREADS = 65536

-- number: of what is seeded, from 0 to below `count`. Raises if neighbours would draw alike.
function seeds.combined(seed, number, count)
   local combined = seed * count + number
   if math.abs(combined) >= FIRST_INEXACT then
      error(string.format("--seed is too large, so threads would draw alike: give at most %d",
                          MOST_SEED), 0)
   end
   return combined
end

function seeds.thread(seed, number) return seeds.combined(seed, number, THREADS) end

return seeds
