"""S_act: what turns commands into motion."""
