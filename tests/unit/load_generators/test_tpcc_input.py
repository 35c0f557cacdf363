"""What the transactions of the TPC-C-derived load draw. Needs Debian's luajit."""

from __future__ import annotations

import json

from tests import lua_scripts

DRAWS = """
local json = require("json")
local transactions = require("transactions")
local terminal = {warehouses = 4, w = 2, d = 3, c_last = 1, c_customer = 1, c_item = 1}
local districts = {}
for number, kind in ipairs(transactions.types) do
   local input = transactions.new_input()
   districts[number] = {}
   for d_id = 1, 10 do districts[number][d_id] = 0 end
   for _ = 1, 2000 do
      kind.draw(terminal, input)
      assert(input.w_id == 2)
      if input.d_id then districts[number][input.d_id] = districts[number][input.d_id] + 1 end
   end
end
print(json(districts))
"""


def test_every_transaction_draws_its_district_but_a_stock_level_has_its_terminals() -> (
    None
):
    """Districts are drawn 2,000 times of ten, so each about 200 times."""
    done = lua_scripts.run(DRAWS, "tpcc")
    assert done.returncode == 0, done.stderr
    new_order, payment, order_status, delivery, stock_level = json.loads(done.stdout)
    for drawn in (new_order, payment, order_status):
        assert sum(drawn) == 2000 and min(drawn) > 100
    assert delivery == [0] * 10  # works on all districts
    assert stock_level == [0, 0, 2000, 0, 0, 0, 0, 0, 0, 0]
