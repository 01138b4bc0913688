"""S_act: actuators, from commands to motion or force."""
