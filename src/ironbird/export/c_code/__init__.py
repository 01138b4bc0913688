"""Plain C99 of a part of a vehicle."""
