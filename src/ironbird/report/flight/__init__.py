"""The page of one flight, and the pieces it is made of."""
