"""Numbers about models: operating points, trim, linear models, modes."""
