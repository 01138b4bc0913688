"""Energy supply: battery, supply of the electronics, heating of the drives, damage by a crash."""
