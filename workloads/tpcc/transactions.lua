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

local ITEMS = schema.ITEMS
local DISTRICTS = schema.DISTRICTS
local MAX_LINES = schema.MAX_LINES
local COMMITTED = 0
local ROLLED_BACK = 1
local rnd = math.random

-- Columns that are read here, by the statements of statements.lua that return them.
local PRICED = {item = 0, cents = 1}  -- items
local NEXT_ORDER = {order = 0}
local STOCK = {w_id = 0, item = 1, district_info = 3}  -- update_stock
local CUSTOMER = {c_id = 0, credit = 1}  -- customer_by_id, customer_by_name
local OLDEST_ORDER = {order = 0}
local DELIVERED = {d_id = 0, c_id = 1}  -- deliver_orders
local LINES = {d_id = 0, cents = 1}  -- deliver_lines
local DISTRICT_ORDER = {next_order = 0}

local transactions = {}

-- Raised if a row that must exist does not: the data set is broken, a retry would not help.
local function missing(what)
   error({sqlstate = "P0002", message = "no such row: " .. what}, 0)
end

local function draw_customer(terminal, input)
   input.by_name = rnd(100) <= 60
   input.c_id = random.customer(terminal.c_customer)
   input.last_name = random.last_name(random.last_name_number(terminal.c_last))
end

local function another_warehouse(terminal, w)
   local other = rnd(terminal.warehouses - 1)
   return other < w and other or other + 1
end

-- The row in the middle, rounded up, among the customers of that name by first name.
local function middle_row(conn, customers)
   local count = conn:rows(customers)
   if count == 0 then missing("customer") end
   return math.floor((count + 1) / 2) - 1
end

-- Returns the result.
local function send_customer(conn, prepared, input, w_id, d_id)
   if input.by_name then
      return conn:send(prepared.customer_by_name, w_id, d_id, input.last_name)
   end
   return conn:send(prepared.customer_by_id, w_id, d_id, input.c_id)
end

-- New-Order -------------------------------------------------------------------------

-- Sorted by warehouse and item: the order in which stock rows are locked.
local function sort_lines(input)
   for i = 1, input.valid_lines - 1 do
      local w = input.w_ids[i]
      local item = input.items[i]
      local quantity = input.quantities[i]
      local j = i - 1
      while j >= 0 and (input.w_ids[j] > w or (input.w_ids[j] == w and input.items[j] > item)) do
         input.w_ids[j + 1], input.items[j + 1], input.quantities[j + 1] =
            input.w_ids[j], input.items[j], input.quantities[j]
         j = j - 1
      end
      input.w_ids[j + 1] = w
      input.items[j + 1] = item
      input.quantities[j + 1] = quantity
   end
end

local function draw_new_order(terminal, input)
   local n = rnd(5, MAX_LINES)
   input.w_id = terminal.w
   input.d_id = rnd(DISTRICTS)
   input.c_id = random.customer(terminal.c_customer)
   input.lines = n
   input.all_local = 1
   input.rollback = rnd(100) == 1
   for i = 0, n - 1 do
      local w = input.w_id
      if terminal.warehouses > 1 and rnd(100) == 1 then
         w = another_warehouse(terminal, w)
         input.all_local = 0
      end
      input.w_ids[i] = w
      input.items[i] = random.item(terminal.c_item)
      input.quantities[i] = rnd(10)
   end
   -- An item number that no item has, on the last line, which is the only one that is not valid.
   if input.rollback then input.items[n - 1] = ITEMS + 1 end
   input.valid_lines = input.rollback and n - 1 or n
   sort_lines(input)
end

-- Sends the stock update of one round; returns the result, and whether lines are left. A
-- statement changes a row once, so a repeated (warehouse, item), neighbours after sorting, has to
-- wait for the next round.
local function send_stock(conn, prepared, input, round)
   local w_ids = input.round_w_ids
   local items = input.round_items
   local quantities = input.round_quantities
   local count = 0
   local seen = 0
   local lines_left = false
   for line = 0, input.valid_lines - 1 do
      local repeated = line > 0 and input.items[line] == input.items[line - 1]
         and input.w_ids[line] == input.w_ids[line - 1]
      seen = repeated and seen + 1 or 1
      if seen > round then lines_left = true end
      if seen == round then
         w_ids[count] = input.w_ids[line]
         items[count] = input.items[line]
         quantities[count] = input.quantities[line]
         count = count + 1
      end
   end
   w_ids.n = count
   items.n = count
   quantities.n = count
   local result = conn:send(prepared.update_stock, input.w_id, input.d_id, w_ids, items, quantities)
   return result, lines_left
end

-- Notes the price of each item; returns of how many lines it is known.
local function read_prices(conn, input, priced)
   local prices = input.prices
   local known_lines = 0
   for item in pairs(prices) do prices[item] = nil end
   for row = 0, conn:rows(priced) - 1 do
      prices[conn:int(priced, row, PRICED.item)] = conn:int(priced, row, PRICED.cents)
   end
   for line = 0, input.lines - 1 do
      if prices[input.items[line]] then known_lines = known_lines + 1 end
   end
   return known_lines
end

-- Copies the district information of each line of one item, which lives only until the next send.
local function copy_info(conn, input, stock, row)
   local w_id = conn:int(stock, row, STOCK.w_id)
   local item = conn:int(stock, row, STOCK.item)
   local info, length = conn:bytes(stock, row, STOCK.district_info)
   for line = 0, input.lines - 1 do
      if input.items[line] == item and input.w_ids[line] == w_id then
         ffi.copy(input.info[line], info, length)
         input.infos.len[line] = length
      end
   end
end

-- Reads the results of all rounds of stock updates.
local function read_stock(conn, input, first_round, last_round)
   local updated = 0
   for stock = first_round, last_round do
      local count = conn:rows(stock)
      for row = 0, count - 1 do copy_info(conn, input, stock, row) end
      updated = updated + count
   end
   if updated ~= input.valid_lines then missing("stock") end
end

local function send_lines(conn, prepared, input, order)
   local numbers = input.numbers
   local amounts = input.amounts
   local count = input.valid_lines
   for line = 0, count - 1 do
      amounts[line] = input.quantities[line] * input.prices[input.items[line]]
   end
   input.w_ids.n = count
   input.items.n = count
   input.quantities.n = count
   numbers.n = count
   amounts.n = count
   input.infos.n = count
   conn:send(prepared.insert_order_lines, input.w_id, input.d_id, order, numbers, input.items,
             input.w_ids, input.quantities, amounts, input.infos)
end

-- A transaction that will be rolled back processes all its valid lines first (clause 2.4.2.3).
local function execute_new_order(conn, prepared, input)
   input.items.n = input.lines
   conn:send(prepared.begin)
   local customer = conn:send(prepared.new_order_customer, input.w_id, input.d_id, input.c_id)
   local priced = conn:send(prepared.items, input.items)
   local district = conn:send(prepared.next_order, input.w_id, input.d_id)
   conn:flush()
   if conn:rows(customer) == 0 then missing("customer or warehouse") end
   if conn:rows(district) == 0 then missing("district") end
   local order = conn:int(district, 0, NEXT_ORDER.order)
   if read_prices(conn, input, priced) ~= input.valid_lines then missing("item") end

   conn:send(prepared.insert_order, input.w_id, input.d_id, order, input.c_id, input.lines,
             input.all_local)
   conn:send(prepared.insert_new_order, input.w_id, input.d_id, order)
   local first_round, lines_left = send_stock(conn, prepared, input, 1)
   local last_round = first_round
   local round = 1
   while lines_left do
      round = round + 1
      last_round, lines_left = send_stock(conn, prepared, input, round)
   end
   conn:flush()
   read_stock(conn, input, first_round, last_round)
   send_lines(conn, prepared, input, order)
   conn:run(input.rollback and prepared.rollback or prepared.commit)
   return input.rollback and ROLLED_BACK or COMMITTED
end

-- Payment ---------------------------------------------------------------------------

local function draw_payment(terminal, input)
   input.w_id = terminal.w
   input.d_id = rnd(DISTRICTS)
   input.c_w_id = input.w_id
   input.c_d_id = input.d_id
   if terminal.warehouses > 1 and rnd(100) <= 15 then
      input.c_w_id = another_warehouse(terminal, input.w_id)
      input.c_d_id = rnd(DISTRICTS)
   end
   input.amount_cents = rnd(100, 500000)
   draw_customer(terminal, input)
end

local function execute_payment(conn, prepared, input)
   conn:send(prepared.begin)
   local customers = send_customer(conn, prepared, input, input.c_w_id, input.c_d_id)
   conn:flush()
   local row = middle_row(conn, customers)
   local c_id = conn:int(customers, row, CUSTOMER.c_id)
   if conn:text(customers, row, CUSTOMER.credit) == "BC" then
      local note = string.format("%d %d %d %d %d %.2f|", c_id, input.c_d_id, input.c_w_id,
                                 input.d_id, input.w_id, input.amount_cents / 100)
      conn:send(prepared.pay_bad_credit, input.c_w_id, input.c_d_id, c_id, input.amount_cents, note)
   else
      conn:send(prepared.pay, input.c_w_id, input.c_d_id, c_id, input.amount_cents)
   end
   local warehouse = conn:send(prepared.pay_warehouse, input.w_id, input.d_id, input.c_w_id,
                               input.c_d_id, c_id, input.amount_cents)
   conn:run(prepared.commit)
   if conn:rows(warehouse) == 0 then missing("warehouse or district") end
   return COMMITTED
end

-- Order-Status ----------------------------------------------------------------------

local function draw_order_status(terminal, input)
   input.w_id = terminal.w
   input.d_id = rnd(DISTRICTS)
   draw_customer(terminal, input)
end

local function execute_order_status(conn, prepared, input)
   conn:send(prepared.begin)
   local customers = send_customer(conn, prepared, input, input.w_id, input.d_id)
   conn:flush()
   local c_id = conn:int(customers, middle_row(conn, customers), CUSTOMER.c_id)
   local order = conn:send(prepared.last_order, input.w_id, input.d_id, c_id)
   conn:run(prepared.commit)
   if conn:rows(order) == 0 then missing("order of the customer") end
   return COMMITTED
end

-- Delivery --------------------------------------------------------------------------

local function draw_delivery(terminal, input)
   input.w_id = terminal.w
   input.carrier_id = rnd(10)
end

-- If another delivery took the oldest order while this one waited for its lock, the
-- statement returns nothing although orders are left: it is sent again, with a new
-- snapshot. In stricter isolation that is a serialization failure instead.
local function oldest_order(conn, prepared, w_id, d_id)
   for _ = 1, 100 do
      local oldest = conn:send(prepared.oldest_order, w_id, d_id)
      local any = conn:send(prepared.any_order, w_id, d_id)
      conn:flush()
      if conn:rows(oldest) > 0 then return conn:int(oldest, 0, OLDEST_ORDER.order) end
      if conn:rows(any) == 0 then return nil end
   end
   error({sqlstate = "40001", message = "the oldest order was always taken by another delivery"}, 0)
end

-- Locks the oldest orders of the districts from this one on, with one flush. `oldest` has nothing
-- of a district whose order another delivery took.
local function lock_rest(conn, prepared, input, first_d_id)
   local oldest = input.oldest
   local results = input.results
   for d_id = first_d_id, DISTRICTS do
      results[d_id] = conn:send(prepared.oldest_order, input.w_id, d_id)
   end
   conn:flush()
   for d_id = first_d_id, DISTRICTS do
      local result = results[d_id]
      oldest[d_id] = conn:rows(result) > 0 and conn:int(result, 0, OLDEST_ORDER.order)
   end
end

-- Locks the oldest order of every district. Deliveries of a warehouse wait for each other
-- at the first one, the gate, at which they hold no lock, so there are no deadlocks.
local function take_orders(conn, prepared, input)
   local districts = input.districts
   local orders = input.orders
   local oldest = input.oldest
   local gate = 1
   conn:send(prepared.begin)
   oldest[1] = oldest_order(conn, prepared, input.w_id, 1)
   while not oldest[gate] and gate < DISTRICTS do
      gate = gate + 1
      oldest[gate] = oldest_order(conn, prepared, input.w_id, gate)
   end
   if gate < DISTRICTS then lock_rest(conn, prepared, input, gate + 1) end
   local count = 0
   for d_id = 1, DISTRICTS do
      local order = oldest[d_id]
         or (d_id > gate and oldest_order(conn, prepared, input.w_id, d_id))
      if order then
         districts[count] = d_id
         orders[count] = order
         count = count + 1
      end
   end
   districts.n = count
   orders.n = count
   return count
end

-- Notes whose orders were delivered, and what each of them owes.
local function read_deliveries(conn, input, delivered, lines, count)
   local customers = input.customers
   local amounts = input.amounts
   for row = 0, count - 1 do
      local d_id = conn:int(delivered, row, DELIVERED.d_id)
      input.customer_of[d_id] = conn:int(delivered, row, DELIVERED.c_id)
   end
   for row = 0, count - 1 do
      local d_id = conn:int(lines, row, LINES.d_id)
      input.districts[row] = d_id
      customers[row] = input.customer_of[d_id]
      amounts[row] = conn:int(lines, row, LINES.cents)
   end
   customers.n = count
   amounts.n = count
end

local function execute_delivery(conn, prepared, input)
   local count = take_orders(conn, prepared, input)
   if count == 0 then
      conn:run(prepared.commit)
      return COMMITTED
   end
   local w_id = input.w_id
   local districts = input.districts
   local orders = input.orders
   local deleted = conn:send(prepared.delete_new_orders, w_id, districts, orders)
   local delivered = conn:send(prepared.deliver_orders, w_id, districts, orders, input.carrier_id)
   local lines = conn:send(prepared.deliver_lines, w_id, districts, orders)
   conn:flush()
   local all_there = conn:affected(deleted) == count and conn:rows(delivered) == count
      and conn:rows(lines) == count
   if not all_there then missing("order to deliver") end
   read_deliveries(conn, input, delivered, lines, count)
   conn:send(prepared.deliver_customers, w_id, districts, input.customers, input.amounts)
   conn:run(prepared.commit)
   return COMMITTED
end

-- Stock-Level -----------------------------------------------------------------------

local function draw_stock_level(terminal, input)
   input.w_id = terminal.w
   input.d_id = terminal.d
   input.threshold = rnd(10, 20)
end

local function execute_stock_level(conn, prepared, input)
   conn:send(prepared.begin)
   local district = conn:send(prepared.district_order, input.w_id, input.d_id)
   conn:flush()
   if conn:rows(district) == 0 then missing("district") end
   local next_order = conn:int(district, 0, DISTRICT_ORDER.next_order)
   conn:send(prepared.low_stock, input.w_id, input.d_id, next_order - 20, next_order,
             input.threshold)
   conn:run(prepared.commit)
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
   local input = {prices = {}, oldest = {}, results = {}, customer_of = {}, info = {},
                  infos = {ptr = ffi.new("const char *[?]", MAX_LINES),
                           len = ffi.new("int[?]", MAX_LINES)}}
   for _, name in ipairs{"w_ids", "items", "quantities", "numbers", "amounts", "round_w_ids",
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
