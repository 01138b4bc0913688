"""The page of one flight, and the parts that it is composed of."""
