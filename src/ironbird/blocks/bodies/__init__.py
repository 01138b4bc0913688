"""S_body: rigid bodies."""
