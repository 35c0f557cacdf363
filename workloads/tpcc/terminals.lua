-- Terminals with keying and think times (specification 5.11, clauses 5.2.4 and 5.2.5).
--
-- Ten terminals per warehouse, each bound to its warehouse and district. A thread (one
-- database connection) serves its share of them, however many: always the one that is
-- due next. With fewer threads than terminals, a terminal may find its thread busy, as it
-- may find a connection pool empty; that wait is in the latency and recorded as queueing.
-- Every terminal starts at a random point of its cycle of keying and thinking, so that
-- load and mix are those of the steady state from the first second; if all started with
-- keying, load would oscillate in the first minute (a fifth too high in its second quarter).
local clock = require("clock")
local DISTRICTS = require("schema").DISTRICTS

local LONGEST_THINK = 10

-- Think times are exponential and cut at ten times their mean.
local function think_s(mean_s)
   return math.min(-math.log(1 - math.random()), LONGEST_THINK) * mean_s
end

-- Draws what a terminal does when the run begins: keying or thinking, each as likely as its
-- share of the cycle. Returns the card and the seconds until it is played.
local function first_card(types, weights, deal)
   local cycle_s = 0
   for i, t in ipairs(types) do cycle_s = cycle_s + weights[i] * (t.keying_s + t.think_s) end
   local at_s = math.random() * cycle_s
   for i, t in ipairs(types) do
      if at_s < weights[i] * t.keying_s then return i, math.random() * t.keying_s end
      at_s = at_s - weights[i] * t.keying_s
      if at_s < weights[i] * t.think_s then
         local card = deal()
         return card, think_s(t.think_s) + types[card].keying_s
      end
      at_s = at_s - weights[i] * t.think_s
   end
   return deal(), 0
end

-- Restores the heap order (earliest first) below position i.
local function sift_down(heap, i)
   local moved = heap[i]
   while true do
      local child = 2 * i
      if child < #heap and heap[child + 1].due_us < heap[child].due_us then child = child + 1 end
      if child > #heap or heap[child].due_us >= moved.due_us then break end
      heap[i] = heap[child]
      i = child
   end
   heap[i] = moved
end

-- new_terminal(w, d): returns a terminal, which gets due_us and card here. new_deck():
-- returns a function that deals from a deck of its own. Returns a schedule for
-- lib/loop.lua; schedule.current is the terminal whose turn it is.
return function(thread_id, threads, warehouses, types, weights, new_terminal, new_deck)
   local heap, schedule = {}, {}
   local begin_us = clock.now_us()
   for i = thread_id, DISTRICTS * warehouses - 1, threads do
      local terminal = new_terminal(math.floor(i / DISTRICTS) + 1, i % DISTRICTS + 1)
      terminal.deal = new_deck()
      local card, wait_s = first_card(types, weights, terminal.deal)
      terminal.card, terminal.due_us = card, begin_us + wait_s * 1e6
      heap[#heap + 1] = terminal
   end
   for i = math.floor(#heap / 2), 1, -1 do sift_down(heap, i) end

   function schedule.due_us()
      schedule.current = heap[1]
      return heap[1].due_us
   end

   function schedule.done(now_us)
      local terminal = heap[1]
      local thinking_s = think_s(types[terminal.card].think_s)
      terminal.card = terminal.deal()
      terminal.due_us = now_us + (thinking_s + types[terminal.card].keying_s) * 1e6
      sift_down(heap, 1)
   end

   function schedule.overdue(now_us)
      local n = 0
      for _, terminal in ipairs(heap) do
         if terminal.due_us < now_us then n = n + 1 end
      end
      return n
   end

   return schedule
end
