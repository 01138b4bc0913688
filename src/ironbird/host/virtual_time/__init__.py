"""Virtual time: unmodified programs of this computer under a clock that Ironbird controls, one thread at a time."""
