"""Virtual time: unmodified programs of this computer under a clock of ours, one thread at a time."""
