-- Terminals with keying and think times (specification 5.11, clauses 5.2.4 and 5.2.5).
--
-- Ten terminals per warehouse. All wait in one heap, ordered by the instant at which their next
-- transaction is due, in memory that sysbench's threads share (lib/shared.lua). A free thread,
-- that is a free database connection, takes the earliest; so a terminal waits only while all
-- connections are busy, as at a connection pool. That wait is recorded as queueing.
-- A thread takes its terminal before it is due and sleeps until then. Who brings a terminal
-- back takes the earliest at once; so none in the heap is due before one that a sleeper holds,
-- and none that is due waits while a thread sleeps.
-- Every terminal starts at a random point of its cycle of keying and thinking, so that
-- load and mix are those of the steady state from the first second; if all started with
-- keying, load would oscillate in the first minute (a fifth too high in its second quarter).
local ffi = require("ffi")
local clock = require("clock")
local shared = require("shared")
local DISTRICTS = require("schema").DISTRICTS

-- due_us: since begin_us. left: cards of its deck that a terminal has still to play. heap: the
-- numbers of the terminals that no thread has taken, `free` of them.
ffi.cdef[[
typedef struct { double due_us; int32_t card, left; } tb_terminal;
typedef struct {
   int64_t lock[8];
   double begin_us;
   int32_t count, free, cards;
   tb_terminal *terminals;
   int32_t *heap;
   uint8_t *decks;
} tb_pool;
]]

local LONGEST_THINK = 10
local ADDRESS = "TIERBENCH_TERMINALS"
local STRUCT = "tb_pool"

local terminals = {}

-- Decks: arrays from 0 of cards, a card being the number of a type.
function terminals.fill(deck, weights)
   local n = 0
   for card, weight in ipairs(weights) do
      for _ = 1, weight do
         deck[n] = card
         n = n + 1
      end
   end
   return n
end

-- The next card of a deck of n, of which `left` are unplayed, and how many are then; a deck that
-- was played to its end is shuffled.
function terminals.deal(deck, n, left)
   if left == 0 then
      left = n
      for i = n - 1, 1, -1 do
         local j = math.random(0, i)
         deck[i], deck[j] = deck[j], deck[i]
      end
   end
   return deck[left - 1], left - 1
end

local function deal(pool, i)
   local terminal = pool.terminals[i]
   terminal.card, terminal.left =
      terminals.deal(pool.decks + i * pool.cards, pool.cards, terminal.left)
   return terminal.card
end

-- Think times are exponential and cut at ten times their mean.
local function think_s(mean_s)
   return math.min(-math.log(1 - math.random()), LONGEST_THINK) * mean_s
end

-- Draws what a terminal does when the run begins: keying or thinking, each as likely as its
-- share of the cycle. Returns the card and the seconds until it is played.
local function first_card(types, weights, pool, number)
   local cycle_s = 0
   for i, t in ipairs(types) do cycle_s = cycle_s + weights[i] * (t.keying_s + t.think_s) end
   local at_s = math.random() * cycle_s
   for i, t in ipairs(types) do
      if at_s < weights[i] * t.keying_s then return i, math.random() * t.keying_s end
      at_s = at_s - weights[i] * t.keying_s
      if at_s < weights[i] * t.think_s then
         local card = deal(pool, number)
         return card, think_s(t.think_s) + types[card].keying_s
      end
      at_s = at_s - weights[i] * t.think_s
   end
   return deal(pool, number), 0
end

local function earlier(pool, i, j)
   return pool.terminals[pool.heap[i]].due_us < pool.terminals[pool.heap[j]].due_us
end

local function swap(heap, i, j) heap[i], heap[j] = heap[j], heap[i] end

local function push(pool, number)
   local at = pool.free
   pool.heap[at] = number
   pool.free = at + 1
   while at > 0 do
      local parent = math.floor((at - 1) / 2)
      if not earlier(pool, at, parent) then break end
      swap(pool.heap, at, parent)
      at = parent
   end
end

-- The earliest, or nil.
local function pop(pool)
   if pool.free == 0 then return nil end
   local number = pool.heap[0]
   local at = 0
   pool.free = pool.free - 1
   pool.heap[0] = pool.heap[pool.free]
   while true do
      local child = 2 * at + 1
      if child + 1 < pool.free and earlier(pool, child + 1, child) then child = child + 1 end
      if child >= pool.free or not earlier(pool, child, at) then break end
      swap(pool.heap, at, child)
      at = child
   end
   return number
end

-- How many terminals the part `part` of `parts` has.
function terminals.of_part(warehouses, part, parts)
   return math.floor((DISTRICTS * warehouses + parts - part) / parts)
end

-- Once, before the threads start. Of several programs that share the load, each draws for all
-- terminals and has every parts-th of them.
function terminals.create(warehouses, types, weights, part, parts)
   local count = DISTRICTS * warehouses
   local cards = terminals.fill({}, weights)
   local pool = shared.create(ADDRESS, STRUCT)
   pool.count = count
   pool.cards = cards
   pool.terminals = shared.array(count, ffi.sizeof("tb_terminal"))
   pool.heap = shared.array(count, 4)
   pool.decks = shared.array(count, cards)
   for i = 0, count - 1 do
      terminals.fill(pool.decks + i * cards, weights)
      local card, wait_s = first_card(types, weights, pool, i)
      pool.terminals[i].card = card
      pool.terminals[i].due_us = wait_s * 1e6
      if i % parts == part - 1 then push(pool, i) end
   end
end

-- A thread's view of the terminals, as lib/loop.lua wants a schedule. The first one made sets the
-- instant at which the run begins.
function terminals.schedule(types)
   local pool = shared.find(ADDRESS, STRUCT)
   local schedule = {}
   local taken = nil  -- the number of the terminal that this thread has taken
   local function locked(f, ...) return shared.locked(pool.lock, f, ...) end

   -- Without end where other threads have all that are left.
   function schedule.due_us()
      taken = taken or locked(pop, pool)
      return taken and pool.begin_us + pool.terminals[taken].due_us or math.huge
   end

   -- Warehouse, district and card of the terminal whose turn it is.
   function schedule.current()
      return math.floor(taken / DISTRICTS) + 1, taken % DISTRICTS + 1, pool.terminals[taken].card
   end

   function schedule.done(now_us)
      local terminal = pool.terminals[taken]
      local pause_s = think_s(types[terminal.card].think_s) + types[deal(pool, taken)].keying_s
      terminal.due_us = now_us - pool.begin_us + pause_s * 1e6
      locked(push, pool, taken)
      taken = nil
   end

   -- Of those that are overdue when the run is over, each is counted by one thread only: what
   -- is counted leaves the heap.
   function schedule.overdue(now_us)
      return locked(function()
         if taken then push(pool, taken) end
         taken = nil
         for n = 0, pool.count do
            local earliest = pop(pool)
            if not earliest or pool.begin_us + pool.terminals[earliest].due_us >= now_us then
               if earliest then push(pool, earliest) end
               return n
            end
         end
      end)
   end

   locked(function() if pool.begin_us == 0 then pool.begin_us = clock.now_us() end end)
   return schedule
end

return terminals
