"""Replay: what a program got in a flight is given to it, or to another build, again; their own logs are compared."""
