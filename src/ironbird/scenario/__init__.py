"""Many vehicles in one world, on one clock."""
