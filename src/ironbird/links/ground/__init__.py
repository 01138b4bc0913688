"""A ground station of our own: what it hears, how it asks, and the script by which it has a mission flown."""
