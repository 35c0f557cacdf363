"""Which tier to buy: what takes part, what is proven of it, what it costs."""
