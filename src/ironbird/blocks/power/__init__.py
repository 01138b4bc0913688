"""Energy supply."""
