"""RflySim's network interface: its ports, structs and modes, so that programs written for CopterSim fly our vehicles."""
