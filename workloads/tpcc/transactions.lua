-- The five transactions of specification 5.11, clauses 2.4 to 2.8.
--
-- Each has draw(input) for the terminal's input and execute(input) for one attempt with
-- it, which returns an outcome (0 committed, 1 rolled back on purpose) or raises.
-- Statements that do not need each other's results are sent before one flush, as one batch where
-- the database is good for it; statements over an order's lines take arrays. Money is counted in
-- cents, rates in ten-thousandths.
--
-- Read committed keeps all consistency conditions: counters change by UPDATE … SET
-- x = x + …, whose RETURNING is read instead of an earlier SELECT, and Delivery locks the
-- order it takes. All transactions lock in one order (customer, district, warehouse; stock
-- by warehouse and item), so that there are no deadlocks.
local ffi = require("ffi")
local random = require("random")
local schema = require("schema")
local statements = require("statements")

local ITEMS, DISTRICTS, MAX_LINES = schema.ITEMS, schema.DISTRICTS, schema.MAX_LINES
local COMMITTED, ROLLED_BACK = 0, 1
local rnd = math.random

local transactions = {}

-- Raised if a row that must exist does not: the data set is broken, a retry would not help.
local function missing(what)
   error({sqlstate = "P0002", message = "no such row: " .. what}, 0)
end

local function draw_customer(terminal, input)
   input.by_name = rnd(100) <= 60
   input.c = random.customer(terminal.c_customer)
   input.last = random.last_name(random.last_name_number(terminal.c_last))
end

local function another_warehouse(terminal, w)
   local other = rnd(terminal.warehouses - 1)
   return other < w and other or other + 1
end

-- The row in the middle, rounded up, among the customers of that name by first name.
local function middle(conn, i)
   local n = conn:rows(i)
   if n == 0 then missing("customer") end
   return math.floor((n + 1) / 2) - 1
end

local function send_customer(conn, s, input, w, d)
   if input.by_name then
      conn:send(s.customer_by_name, w, d, input.last)
   else
      conn:send(s.customer_by_id, w, d, input.c)
   end
end

-- New-Order -------------------------------------------------------------------------

-- Sorted by warehouse and item: the order in which stock rows are locked.
local function sort_lines(input)
   for i = 1, input.valid - 1 do
      local w, item, quantity = input.w_ids[i], input.items[i], input.quantities[i]
      local j = i - 1
      while j >= 0 and (input.w_ids[j] > w or (input.w_ids[j] == w and input.items[j] > item)) do
         input.w_ids[j + 1], input.items[j + 1], input.quantities[j + 1] =
            input.w_ids[j], input.items[j], input.quantities[j]
         j = j - 1
      end
      input.w_ids[j + 1], input.items[j + 1], input.quantities[j + 1] = w, item, quantity
   end
end

local function draw_new_order(terminal, input)
   local n = rnd(5, MAX_LINES)
   input.w, input.d = terminal.w, rnd(DISTRICTS)
   input.c, input.n, input.all_local = random.customer(terminal.c_customer), n, 1
   input.rollback = rnd(100) == 1
   for i = 0, n - 1 do
      local w = input.w
      if terminal.warehouses > 1 and rnd(100) == 1 then
         w, input.all_local = another_warehouse(terminal, w), 0
      end
      input.w_ids[i], input.items[i], input.quantities[i] = w, random.item(terminal.c_item), rnd(10)
   end
   -- An item number that no item has, on the last line, which is the only one that is not valid.
   if input.rollback then input.items[n - 1] = ITEMS + 1 end
   input.valid = input.rollback and n - 1 or n
   sort_lines(input)
end

-- Sends the stock update of one round. A statement changes a row once, so a repeated
-- (warehouse, item), neighbours after sorting, has to wait for the next round.
local function send_stock(conn, s, input, round)
   local w_ids, items, quantities = input.round_w, input.round_items, input.round_quantities
   local n, seen, later = 0, 0, false
   for i = 0, input.valid - 1 do
      local repeated = i > 0 and input.items[i] == input.items[i - 1]
         and input.w_ids[i] == input.w_ids[i - 1]
      seen = repeated and seen + 1 or 1
      if seen > round then later = true end
      if seen == round then
         w_ids[n], items[n], quantities[n] = input.w_ids[i], input.items[i], input.quantities[i]
         n = n + 1
      end
   end
   w_ids.n, items.n, quantities.n = n, n, n
   conn:send(s.update_stock, input.w, input.d, w_ids, items, quantities)
   return later
end

local function read_prices(conn, input, i)
   local prices, priced = input.prices, 0
   for k in pairs(prices) do prices[k] = nil end
   for row = 0, conn:rows(i) - 1 do prices[conn:int(i, row, 0)] = conn:int(i, row, 1) end
   for line = 0, input.n - 1 do
      if prices[input.items[line]] then priced = priced + 1 end
   end
   return priced
end

-- Copies every line's district information from the results of the stock updates, which
-- live only until the next send.
local function read_stock(conn, input, first, rounds)
   local updated = 0
   for i = first, first + rounds - 1 do
      for row = 0, conn:rows(i) - 1 do
         local w, item = conn:int(i, row, 0), conn:int(i, row, 1)
         local p, n = conn:bytes(i, row, 3)
         for line = 0, input.n - 1 do
            if input.items[line] == item and input.w_ids[line] == w then
               ffi.copy(input.info[line], p, n)
               input.infos.len[line] = n
            end
         end
         updated = updated + 1
      end
   end
   if updated ~= input.valid then missing("stock") end
end

local function send_lines(conn, s, input, order)
   local numbers, amounts, n = input.numbers, input.amounts, input.valid
   for i = 0, n - 1 do amounts[i] = input.quantities[i] * input.prices[input.items[i]] end
   input.w_ids.n, input.items.n, input.quantities.n, numbers.n, amounts.n, input.infos.n =
      n, n, n, n, n, n
   conn:send(s.insert_order_lines, input.w, input.d, order, numbers, input.items, input.w_ids,
             input.quantities, amounts, input.infos)
end

-- A transaction that will be rolled back processes all its valid lines first (clause 2.4.2.3).
local function execute_new_order(conn, s, input)
   input.items.n = input.n
   conn:send(s.begin)
   conn:send(s.new_order_customer, input.w, input.d, input.c)
   conn:send(s.items, input.items)
   conn:send(s.next_order, input.w, input.d)
   conn:flush()
   if conn:rows(1) == 0 then missing("customer or warehouse") end
   if conn:rows(3) == 0 then missing("district") end
   local order = conn:int(3, 0, 0)
   if read_prices(conn, input, 2) ~= input.valid then missing("item") end

   conn:send(s.insert_order, input.w, input.d, order, input.c, input.n, input.all_local)
   conn:send(s.insert_new_order, input.w, input.d, order)
   local rounds = 1
   while send_stock(conn, s, input, rounds) do rounds = rounds + 1 end
   conn:flush()
   read_stock(conn, input, 2, rounds)
   send_lines(conn, s, input, order)
   conn:run(input.rollback and s.rollback or s.commit)
   return input.rollback and ROLLED_BACK or COMMITTED
end

-- Payment ---------------------------------------------------------------------------

local function draw_payment(terminal, input)
   input.w, input.d = terminal.w, rnd(DISTRICTS)
   input.c_w, input.c_d = input.w, input.d
   if terminal.warehouses > 1 and rnd(100) <= 15 then
      input.c_w, input.c_d = another_warehouse(terminal, input.w), rnd(DISTRICTS)
   end
   input.cents = rnd(100, 500000)
   draw_customer(terminal, input)
end

local function execute_payment(conn, s, input)
   conn:send(s.begin)
   send_customer(conn, s, input, input.c_w, input.c_d)
   conn:flush()
   local row = middle(conn, 1)
   local c = conn:int(1, row, 0)
   if conn:text(1, row, 1) == "BC" then
      local note = string.format("%d %d %d %d %d %.2f|", c, input.c_d, input.c_w, input.d, input.w,
                                 input.cents / 100)
      conn:send(s.pay_bad_credit, input.c_w, input.c_d, c, input.cents, note)
   else
      conn:send(s.pay, input.c_w, input.c_d, c, input.cents)
   end
   conn:send(s.pay_warehouse, input.w, input.d, input.c_w, input.c_d, c, input.cents)
   conn:run(s.commit)
   if conn:rows(1) == 0 then missing("warehouse or district") end
   return COMMITTED
end

-- Order-Status ----------------------------------------------------------------------

local function draw_order_status(terminal, input)
   input.w, input.d = terminal.w, rnd(DISTRICTS)
   draw_customer(terminal, input)
end

local function execute_order_status(conn, s, input)
   conn:send(s.begin)
   send_customer(conn, s, input, input.w, input.d)
   conn:flush()
   conn:send(s.last_order, input.w, input.d, conn:int(1, middle(conn, 1), 0))
   conn:run(s.commit)
   if conn:rows(0) == 0 then missing("order of the customer") end
   return COMMITTED
end

-- Delivery --------------------------------------------------------------------------

local function draw_delivery(terminal, input)
   input.w = terminal.w
   input.carrier = rnd(10)
end

-- If another delivery took the oldest order while this one waited for its lock, the
-- statement returns nothing although orders are left: it is sent again, with a new
-- snapshot. In stricter isolation that is a serialization failure instead. queued: how
-- many statements are in the batch already.
local function oldest_order(conn, s, w, d, queued)
   for _ = 1, 100 do
      conn:send(s.oldest_order, w, d)
      conn:send(s.any_order, w, d)
      conn:flush()
      if conn:rows(queued) > 0 then return conn:int(queued, 0, 0) end
      if conn:rows(queued + 1) == 0 then return nil end
      queued = 0
   end
   error({sqlstate = "40001", message = "the oldest order was always taken by another delivery"}, 0)
end

-- Locks the oldest order of every district. Deliveries of a warehouse wait for each other
-- at the first one, the gate, at which they hold no lock, so there are no deadlocks.
local function take_orders(conn, s, input)
   local districts, orders, found, gate = input.districts, input.orders, input.found, 1
   conn:send(s.begin)
   found[1] = oldest_order(conn, s, input.w, 1, 1)
   while not found[gate] and gate < DISTRICTS do
      gate = gate + 1
      found[gate] = oldest_order(conn, s, input.w, gate, 0)
   end
   if gate < DISTRICTS then
      for d = gate + 1, DISTRICTS do conn:send(s.oldest_order, input.w, d) end
      conn:flush()
      for d = gate + 1, DISTRICTS do
         local i = d - gate - 1
         found[d] = conn:rows(i) > 0 and conn:int(i, 0, 0)
      end
   end
   local n = 0
   for d = 1, DISTRICTS do
      local order = found[d] or (d > gate and oldest_order(conn, s, input.w, d, 0))
      if order then
         districts[n], orders[n] = d, order
         n = n + 1
      end
   end
   districts.n, orders.n = n, n
   return n
end

local function execute_delivery(conn, s, input)
   local n = take_orders(conn, s, input)
   if n == 0 then
      conn:run(s.commit)
      return COMMITTED
   end
   conn:send(s.delete_new_orders, input.w, input.districts, input.orders)
   conn:send(s.deliver_orders, input.w, input.districts, input.orders, input.carrier)
   conn:send(s.deliver_lines, input.w, input.districts, input.orders)
   conn:flush()
   local done = conn:affected(0) == n and conn:rows(1) == n and conn:rows(2) == n
   if not done then missing("order to deliver") end
   local customers, amounts = input.customers, input.amounts
   for i = 0, n - 1 do input.customer_of[conn:int(1, i, 0)] = conn:int(1, i, 1) end
   for i = 0, n - 1 do
      local d = conn:int(2, i, 0)
      input.districts[i], customers[i], amounts[i] = d, input.customer_of[d], conn:int(2, i, 1)
   end
   customers.n, amounts.n = n, n
   conn:send(s.deliver_customers, input.w, input.districts, customers, amounts)
   conn:run(s.commit)
   return COMMITTED
end

-- Stock-Level -----------------------------------------------------------------------

local function draw_stock_level(terminal, input)
   input.w, input.d = terminal.w, terminal.d
   input.threshold = rnd(10, 20)
end

local function execute_stock_level(conn, s, input)
   conn:send(s.begin)
   conn:send(s.district_order, input.w, input.d)
   conn:flush()
   if conn:rows(1) == 0 then missing("district") end
   local next_order = conn:int(1, 0, 0)
   conn:send(s.low_stock, input.w, input.d, next_order - 20, next_order, input.threshold)
   conn:run(s.commit)
   return COMMITTED
end

-- In the order of the types in recorder.json. Keying and mean think times in seconds
-- are those of clause 5.2.5.7.
transactions.types = {
   {name = "new_order", keying_s = 18, think_s = 12, draw = draw_new_order,
    execute = execute_new_order},
   {name = "payment", keying_s = 3, think_s = 12, draw = draw_payment, execute = execute_payment},
   {name = "order_status", keying_s = 2, think_s = 10,
    draw = draw_order_status, execute = execute_order_status},
   {name = "delivery", keying_s = 2, think_s = 5, draw = draw_delivery, execute = execute_delivery},
   {name = "stock_level", keying_s = 2, think_s = 5,
    draw = draw_stock_level, execute = execute_stock_level},
}

-- Buffers that are reused for every transaction, so that none allocates.
function transactions.new_input()
   local input = {prices = {}, found = {}, customer_of = {}, info = {},
                  infos = {ptr = ffi.new("const char *[?]", MAX_LINES),
                           len = ffi.new("int[?]", MAX_LINES)}}
   for _, name in ipairs{"w_ids", "items", "quantities", "numbers", "amounts", "round_w",
                         "round_items", "round_quantities", "districts", "orders", "customers"} do
      input[name] = {n = 0}
   end
   for i = 0, MAX_LINES - 1 do
      input.info[i] = ffi.new("char[?]", 64)
      input.infos.ptr[i] = input.info[i]
      input.numbers[i] = i + 1
   end
   return input
end

transactions.prepare = statements.prepare

return transactions
