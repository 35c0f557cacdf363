-- The initial rows (specification 5.11, clause 4.3.3), as COPY text.
--
-- A warehouse's rows depend on (seed, warehouse) only. Dates are one fixed instant:
-- nothing compares them, and the same seed gives the same bytes.
local random = require("random")
local rows = require("rows")
local schema = require("schema")
local seeds = require("seeds")

local generate = {}
local DATE = "2024-01-01 00:00:00"
local WAREHOUSES = 1048576  -- more than any load has: each has a seed, and items have that of 0
local rnd = math.random
local int = rows.int
local decimal = rows.decimal
local text = rows.text
local end_row = rows.end_row
local letters = rows.letters
local number = rows.number

-- 26 to 50 characters, in one of ten rows with "ORIGINAL" somewhere in them.
local function item_data()
   local n = letters(26, 50)
   if rnd(10) == 1 then rows.overwrite(rnd(8, n), "ORIGINAL") end
end

local function address()
   letters(10, 20)
   letters(10, 20)
   letters(10, 20)
   letters(2, 2)
   int(rnd(0, 9999) * 100000 + 11111, 9)
end

local make = {}

function make.warehouse(w)
   int(w)
   letters(6, 10)
   address()
   decimal(rnd(0, 2000), 4)
   text("300000.00")
   end_row()
end

function make.district(w)
   for d = 1, schema.DISTRICTS do
      int(w)
      int(d)
      letters(6, 10)
      address()
      decimal(rnd(0, 2000), 4)
      text("30000.00")
      int(schema.CUSTOMERS + 1)
      end_row()
   end
end

local function customer(w, d, c, c_last)
   int(w)
   int(d)
   int(c)
   letters(8, 16)
   text("OE")
   text(random.last_name(c <= 1000 and c - 1 or random.last_name_number(c_last)))
   address()
   number(16)
   text(DATE)
   text(rnd(10) == 1 and "BC" or "GC")
   text("50000.00")
   decimal(rnd(0, 5000), 4)
   text("-10.00\t10.00\t1\t0")
   letters(300, 500)
   end_row()
end

function make.customer(w, _, constants)
   for d = 1, schema.DISTRICTS do
      for c = 1, schema.CUSTOMERS do customer(w, d, c, constants.last) end
   end
end

function make.history(w)
   for d = 1, schema.DISTRICTS do
      for c = 1, schema.CUSTOMERS do
         int(c)
         int(d)
         int(w)
         int(d)
         int(w)
         text(DATE)
         text("10.00")
         letters(12, 24)
         end_row()
      end
   end
end

function make.stock(w)
   for i = 1, schema.ITEMS do
      int(w)
      int(i)
      int(rnd(10, 100))
      for _ = 1, 10 do letters(24, 24) end
      text("0\t0\t0")
      item_data()
      end_row()
   end
end

-- counts[d][o]: lines of the order; order_line is written from it later.
function make.orders(w, counts)
   local customers = {}
   for d = 1, schema.DISTRICTS do
      for i = 1, schema.CUSTOMERS do customers[i] = i end
      for i = schema.CUSTOMERS, 2, -1 do
         local j = rnd(i)
         customers[i], customers[j] = customers[j], customers[i]
      end
      for o = 1, schema.CUSTOMERS do
         local lines = rnd(5, schema.MAX_LINES)
         counts[d][o] = lines
         counts.total = counts.total + lines
         int(w)
         int(d)
         int(o)
         int(customers[o])
         text(DATE)
         if o < schema.FIRST_NEW_ORDER then int(rnd(1, 10)) else text("\\N") end
         int(lines)
         int(1)
         end_row()
      end
   end
end

function make.new_order(w)
   for d = 1, schema.DISTRICTS do
      for o = schema.FIRST_NEW_ORDER, schema.CUSTOMERS do
         int(w)
         int(d)
         int(o)
         end_row()
      end
   end
end

local function order_line(w, d, o, number_in_order)
   int(w)
   int(d)
   int(o)
   int(number_in_order)
   int(rnd(1, schema.ITEMS))
   int(w)
   text(o < schema.FIRST_NEW_ORDER and DATE or "\\N")
   int(5)
   if o < schema.FIRST_NEW_ORDER then text("0.00") else decimal(rnd(1, 999999), 2) end
   letters(24, 24)
   end_row()
end

function make.order_line(w, counts)
   for d = 1, schema.DISTRICTS do
      for o = 1, schema.CUSTOMERS do
         for n = 1, counts[d][o] do order_line(w, d, o, n) end
      end
   end
end

-- The tables of one warehouse in the order in which they must be written.
generate.order = {"warehouse", "district", "customer", "history", "stock", "orders", "new_order",
                  "order_line"}

-- Generates the rows of a warehouse: for each table calls begin(table), then
-- chunk(bytes, n, rows) as often as needed, then finish(). Returns the number of order lines.
function generate.warehouse(w, seed, constants, begin, chunk, finish)
   math.randomseed(seeds.combined(seed, w, WAREHOUSES))
   rows.start(chunk)
   local counts = {total = 0}
   for d = 1, schema.DISTRICTS do counts[d] = {} end
   for _, name in ipairs(generate.order) do
      begin(name)
      make[name](w, counts, constants)
      rows.flush()
      finish()
   end
   return counts.total
end

function generate.items(seed, begin, chunk, finish)
   math.randomseed(seeds.combined(seed, 0, WAREHOUSES))
   rows.start(chunk)
   begin("item")
   for i = 1, schema.ITEMS do
      int(i)
      int(rnd(1, 10000))
      letters(14, 24)
      decimal(rnd(100, 10000), 2)
      item_data()
      end_row()
   end
   rows.flush()
   finish()
end

return generate
