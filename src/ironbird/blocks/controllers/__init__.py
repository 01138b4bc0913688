"""S_ctrl: reference controllers."""
