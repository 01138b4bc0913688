"""Control of a vehicle from a program over MAVLink: PX4, ArduPilot, the reference autopilot, simulated or not."""
