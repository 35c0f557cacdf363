-- The New-Order transaction (specification 5.11, clause 2.4).
--
-- A customer orders up to fifteen items, each from the stock of a warehouse. Stock rows are locked
-- by warehouse and item, in this order, so that there are no deadlocks.
local ffi = require("ffi")
local random = require("random")
local recorder = require("recorder")
local schema = require("schema")

local rnd = math.random

-- Columns that are read here, by the statements of statements.lua that return them.
local PRICED = {item = 0, cents = 1}  -- items
local NEXT_ORDER = {order = 0}
local STOCK = {w_id = 0, item = 1, district_info = 3}  -- update_stock

local new_order = {}

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

function new_order.draw(terminal, input)
   local n = rnd(5, schema.MAX_LINES)
   input.w_id = terminal.w
   input.d_id = rnd(schema.DISTRICTS)
   input.c_id = random.customer(terminal.c_customer)
   input.lines = n
   input.all_local = 1
   input.rollback = rnd(100) == 1
   for i = 0, n - 1 do
      local w = input.w_id
      if terminal.warehouses > 1 and rnd(100) == 1 then
         w = random.another_warehouse(terminal.warehouses, w)
         input.all_local = 0
      end
      input.w_ids[i] = w
      input.items[i] = random.item(terminal.c_item)
      input.quantities[i] = rnd(10)
   end
   -- An item number that no item has, on the last line, which is the only one that is not valid.
   if input.rollback then input.items[n - 1] = schema.ITEMS + 1 end
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
   if updated ~= input.valid_lines then schema.missing_row("stock") end
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
function new_order.execute(conn, prepared, input)
   input.items.n = input.lines
   conn:send(prepared.begin)
   local customer = conn:send(prepared.new_order_customer, input.w_id, input.d_id, input.c_id)
   local priced = conn:send(prepared.items, input.items)
   local district = conn:send(prepared.next_order, input.w_id, input.d_id)
   conn:flush()
   if conn:rows(customer) == 0 then schema.missing_row("customer or warehouse") end
   if conn:rows(district) == 0 then schema.missing_row("district") end
   local order = conn:int(district, 0, NEXT_ORDER.order)
   if read_prices(conn, input, priced) ~= input.valid_lines then schema.missing_row("item") end

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
   if input.rollback then
      conn:run(prepared.rollback)
      return recorder.ROLLED_BACK
   end
   conn:run(prepared.commit)
   return recorder.COMMITTED
end

return new_order
