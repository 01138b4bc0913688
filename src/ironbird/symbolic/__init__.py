"""Pure CasADi helpers that blocks share."""
