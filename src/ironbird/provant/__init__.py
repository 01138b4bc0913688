"""The bench of [ProVANT]: a tilt-rotor under a board that asks for its sensors over a serial line."""
