"""Other programs on this computer: how they are started, guarded and ended, and the clock that they see."""
