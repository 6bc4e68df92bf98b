"""Where autograd graphs come from, what they cost, and what keeps them."""
