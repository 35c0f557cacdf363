-- The five transactions of specification 5.11, clauses 2.4 to 2.8: the three short ones here,
-- the others in new_order.lua and delivery.lua.
--
-- Each has draw(input) for the terminal's input and execute(input) for one attempt with
-- it, which returns an outcome of lib/recorder.lua or raises.
-- Statements that do not need each other's results are sent before one flush, as one batch where
-- the database is good for it; statements over an order's lines take arrays. Money is counted in
-- cents, rates in ten-thousandths.
--
-- Read committed keeps all consistency conditions: counters change by UPDATE … SET
-- x = x + …, whose RETURNING is read instead of an earlier SELECT, and Delivery locks the
-- order it takes. All transactions lock in one order (customer, district, warehouse; stock
-- by warehouse and item), so that there are no deadlocks.
local ffi = require("ffi")
local delivery = require("delivery")
local new_order = require("new_order")
local random = require("random")
local recorder = require("recorder")
local schema = require("schema")
local statements = require("statements")

local DISTRICTS = schema.DISTRICTS
local MAX_LINES = schema.MAX_LINES
local COMMITTED = recorder.COMMITTED
local rnd = math.random

-- Columns that are read here, by the statements of statements.lua that return them.
local CUSTOMER = {c_id = 0, credit = 1}  -- customer_by_id, customer_by_name
local DISTRICT_ORDER = {next_order = 0}

local transactions = {}

local function draw_customer(terminal, input)
   input.by_name = rnd(100) <= 60
   input.c_id = random.customer(terminal.c_customer)
   input.last_name = random.last_name(random.last_name_number(terminal.c_last))
end

-- The row in the middle, rounded up, among the customers of that name by first name.
local function middle_row(conn, customers)
   local count = conn:rows(customers)
   if count == 0 then schema.missing_row("customer") end
   return math.floor((count + 1) / 2) - 1
end

-- Returns the result.
local function send_customer(conn, prepared, input, w_id, d_id)
   if input.by_name then
      return conn:send(prepared.customer_by_name, w_id, d_id, input.last_name)
   end
   return conn:send(prepared.customer_by_id, w_id, d_id, input.c_id)
end

-- Payment ---------------------------------------------------------------------------

local function draw_payment(terminal, input)
   input.w_id = terminal.w
   input.d_id = rnd(DISTRICTS)
   input.c_w_id = input.w_id
   input.c_d_id = input.d_id
   if terminal.warehouses > 1 and rnd(100) <= 15 then
      input.c_w_id = random.another_warehouse(terminal.warehouses, input.w_id)
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
   if conn:rows(warehouse) == 0 then schema.missing_row("warehouse or district") end
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
   if conn:rows(order) == 0 then schema.missing_row("order of the customer") end
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
   if conn:rows(district) == 0 then schema.missing_row("district") end
   local next_order = conn:int(district, 0, DISTRICT_ORDER.next_order)
   conn:send(prepared.low_stock, input.w_id, input.d_id, next_order - 20, next_order,
             input.threshold)
   conn:run(prepared.commit)
   return COMMITTED
end

-- In the order of the types in recorder.json. Keying and mean think times in seconds
-- are those of clause 5.2.5.7.
transactions.types = {
   {name = "new_order", keying_s = 18, think_s = 12,
    draw = new_order.draw, execute = new_order.execute},
   {name = "payment", keying_s = 3, think_s = 12,
    draw = draw_payment, execute = execute_payment},
   {name = "order_status", keying_s = 2, think_s = 10,
    draw = draw_order_status, execute = execute_order_status},
   {name = "delivery", keying_s = 2, think_s = 5,
    draw = delivery.draw, execute = delivery.execute},
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
