"""S_data and S_prod: ideal sensor values, and the errors of real products."""
