"""RflySim's network interface (ports, structs, modes): programs written for CopterSim fly Ironbird's vehicles."""
