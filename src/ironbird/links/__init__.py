"""Control systems outside the kernel: PX4, ArduPilot, flight controllers on a cable, programs of one's own."""
