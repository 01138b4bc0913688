"""Flight controller boards: sensor chips on their buses, wire faults, microcontrollers."""
