-- TPC-C-derived workload for sysbench: five transactions over the data set of load.lua.
--   sysbench /workloads/tpcc/tpcc.lua --db-driver=pgsql --pgsql-host=… --pgsql-db=…
--            --threads=8 --time=60 --report-interval=1 run
-- Options (default), besides lib/loop.lua's (--out, --record, --arrival-rate,
-- --max-attempts, --isolation, --seed):
--   --think (none)      none: no pauses, every transaction draws its warehouse, so that all
--                       are reached whatever the number of threads;
--                       spec: keying and think times; ten terminals per warehouse, each
--                       served by any of --threads connections that is free
--   --weights (45,43,4,4,4)  cards of new_order, payment, order_status, delivery and
--                       stock_level in a terminal's deck, which is shuffled and dealt
--                       again and again: exact shares, and less noise between runs than
--                       independent draws. Clause 5.2.4.2 asks for such draws, or for a
--                       deck of sets of 23 cards (--weights=10,10,1,1,1)
--   --batches (auto)    on: statements that need no result of each other travel together; off:
--                       each by itself; auto: as lib/dialects.lua has it for the database
--   --warehouses (0)    if not 0: the run ends at once unless the data set has that many
--   --db-ps-mode (auto) disable: statements are parsed at every execution
-- Reads scale and C constants of the data set from its table tpcc_facts. Not TPC-C: not
-- audited, not compliant, comparable only with itself. Facts: specification 5.11.
local here = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = here .. "/../lib/?.lua;" .. here .. "/?.lua;" .. package.path

local dialects = require("dialects")
local loop = require("loop")
local pq = require("pq")
local random = require("random")
local schema = require("schema")
local seeds = require("seeds")
local terminals = require("terminals")
local transactions = require("transactions")

local DISTRICTS = schema.DISTRICTS
local NO_THREAD = 65535  -- a number that no thread has, for random numbers of the whole run
local types = {}
for i, t in ipairs(transactions.types) do types[i] = t.name end

sysbench.cmdline.options = loop.add_options{
   batches = {"Whether statements travel together: on, off, auto", "auto"},
   think = {"none, or spec for keying and think times", "none"},
   warehouses = {"Warehouses that the data set must have (0: any)", 0},
   weights = {"Cards of each transaction type in the deck", "45,43,4,4,4"},
}
sysbench.cmdline.commands = {}

local function parse_weights()
   local weights = {}
   for word in sysbench.opt.weights:gmatch("[^,]+") do
      if not word:match("^%d+$") then error("--weights takes whole numbers", 0) end
      weights[#weights + 1] = tonumber(word)
   end
   if #weights ~= #types then error("--weights takes " .. #types .. " numbers", 0) end
   return weights
end

-- Reads scale and constants of the loaded data set. C_LAST for running is legal for them and
-- the same in all threads, as it depends on the data set and --seed only.
local function read_facts(conn)
   local ok, rows = pcall(conn.exec, conn, "SELECT name, value FROM tpcc_facts")
   if not ok and rows.sqlstate == "42P01" then
      error("the database holds no TPC-C-derived data set: load it first", 0)
   end
   if not ok then error(rows, 0) end
   local facts = {}
   for _, row in ipairs(rows) do facts[row[1]] = tonumber(row[2]) or row[2] end
   local loaded = conn:exec("SELECT count(*) FROM tpcc_loaded WHERE complete AND w_id > 0")
   local complete = tonumber(loaded[1][1])
   if complete ~= facts.warehouses then
      error(string.format("only %d of %d warehouses are loaded", complete, facts.warehouses), 0)
   end
   local expected = sysbench.opt.warehouses
   if expected ~= 0 and expected ~= facts.warehouses then
      error(string.format("the data set has %d warehouses, not %d", facts.warehouses, expected), 0)
   end
   facts.c_last_run = random.run_constant(facts.c_last, sysbench.opt.seed)
   return facts
end

local BATCHES = {on = true, ["1"] = true, off = false, ["0"] = false}

local function batches(facts)
   local asked = sysbench.opt.batches
   if asked == "auto" then return dialects.named(facts.dialect).batches end
   if BATCHES[asked] == nil then error("--batches is on, off or auto", 0) end
   return BATCHES[asked]
end

-- Which of the programs that share the load this is, and of how many.
local function which_part()
   local part, parts = sysbench.opt.part:match("^(%d+)/(%d+)$")
   part = tonumber(part)
   parts = tonumber(parts)
   if not part or part < 1 or part > parts then error("--part is such as 2/3", 0) end
   return part, parts
end

local function check_options(facts)
   local opt = sysbench.opt
   if opt.think ~= "none" and opt.think ~= "spec" then error("--think is none or spec", 0) end
   if opt.think == "none" then return end
   if opt.arrival_rate > 0 then error("--think=spec and --arrival-rate exclude each other", 0) end
   local most = terminals.of_part(facts.warehouses, which_part())
   if opt.threads > most then
      error(string.format("--think=spec has %d terminals per warehouse: at most --threads=%d for "
                          .. "%d warehouses", DISTRICTS, most, facts.warehouses), 0)
   end
end

function init()
   loop.protected(function()
      local weights = parse_weights()
      local conn = pq.connect(pq.address(sysbench.opt, 0))
      local facts = read_facts(conn)
      conn:close()
      check_options(facts)
      local opt = sysbench.opt
      local terminal_count = opt.threads
      if opt.think == "spec" then
         math.randomseed(seeds.thread(opt.seed, NO_THREAD))
         terminals.create(facts.warehouses, transactions.types, weights, which_part())
         terminal_count = terminals.of_part(facts.warehouses, which_part())
      end
      loop.describe(types, {think = opt.think, weights = weights, warehouses = facts.warehouses,
                            terminals = terminal_count, c_last_load = facts.c_last,
                            c_last_run = facts.c_last_run, data_seed = facts.seed,
                            batches = batches(facts)})
   end)
end

local function new_deck()
   local deck = {}
   local left = 0
   local cards = terminals.fill(deck, parse_weights())
   return function()
      local card
      card, left = terminals.deal(deck, cards, left)
      return card
   end
end

-- A terminal's warehouse and its district, which only Stock-Level uses, are set before each draw.
local function new_terminal(facts)
   return {warehouses = facts.warehouses, c_last = facts.c_last_run, c_customer = facts.c_customer,
           c_item = facts.c_item}
end

-- No think times: one terminal per thread, at home in all warehouses.
local function draws_freely(workload, facts, input)
   local deal = new_deck()
   local terminal = new_terminal(facts)
   function workload.draw()
      local card = deal()
      terminal.w = math.random(facts.warehouses)
      terminal.d = math.random(DISTRICTS)
      transactions.types[card].draw(terminal, input)
      return card - 1
   end
end

local function draws_for_terminals(workload, facts, input)
   local schedule
   local terminal = new_terminal(facts)
   function workload.new_schedule()
      schedule = terminals.schedule(transactions.types)
      return schedule
   end
   function workload.draw()
      local card
      terminal.w, terminal.d, card = schedule.current()
      transactions.types[card].draw(terminal, input)
      return card - 1
   end
end

local function new_workload(thread_id)
   local conn = loop.connect(thread_id)
   local facts = read_facts(conn)
   local input = transactions.new_input()
   for _, statement in ipairs(dialects.named(facts.dialect).run_session) do conn:exec(statement) end
   local prepared = transactions.prepare(conn, sysbench.opt.db_ps_mode == "disable")
   local workload = {conn = conn, batches = batches(facts)}
   function workload.execute(kind)
      return transactions.types[kind + 1].execute(conn, prepared, input)
   end
   local draws = sysbench.opt.think == "spec" and draws_for_terminals or draws_freely
   draws(workload, facts, input)
   return workload
end

local self

function thread_init(thread_id)
   self = loop.protected(function() return loop.new(thread_id, new_workload(thread_id), types) end)
end

function thread_run() loop.run(self) end

function thread_done() loop.protected(loop.done, self) end

function event() error("sysbench calls thread_run here, not event") end
