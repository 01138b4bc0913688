"""Flight controller boards: sensor chips on their buses, wires that break, microcontrollers, chips as hardware."""
