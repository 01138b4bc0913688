"""Scenarios: several vehicles in one world, on one clock."""
