"""S_data and S_prod: ideal sensor values, and what real products make of them."""
