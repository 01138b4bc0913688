"""The test bench of [ProVANT]: a tilt-rotor controlled by a board that requests sensor values over a serial line."""
