-- The Delivery transaction (specification 5.11, clause 2.7): the oldest order of each district of a
-- warehouse is delivered, and its customer owes what it costs.
local recorder = require("recorder")
local schema = require("schema")

local DISTRICTS = schema.DISTRICTS

-- Columns that are read here, by the statements of statements.lua that return them.
local OLDEST_ORDER = {order = 0}
local DELIVERED = {d_id = 0, c_id = 1}  -- deliver_orders
local LINES = {d_id = 0, cents = 1}  -- deliver_lines

local delivery = {}

function delivery.draw(terminal, input)
   input.w_id = terminal.w
   input.carrier_id = math.random(10)
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

function delivery.execute(conn, prepared, input)
   local count = take_orders(conn, prepared, input)
   if count == 0 then
      conn:run(prepared.commit)
      return recorder.COMMITTED
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
   if not all_there then schema.missing_row("order to deliver") end
   read_deliveries(conn, input, delivered, lines, count)
   conn:send(prepared.deliver_customers, w_id, districts, input.customers, input.amounts)
   conn:run(prepared.commit)
   return recorder.COMMITTED
end

return delivery
