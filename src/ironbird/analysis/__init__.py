"""Analysis of models: operating points, trim, linear models, modes, frequency responses."""
