"""RflySim's network interface: its ports, structs and modes, programs written for CopterSim fly Ironbird's vehicles."""
