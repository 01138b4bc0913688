"""Sensor and actuator chips at the level of bytes and pins: register tables, state machines, buses, boards.

One file a chip: a table of registers and a class with the chip's behaviour, written in the subset of Python that
`ironbird.boards.chips.translate` turns into C. So the register model in Python and the pin-level model in C are one
text. Each transaction carries its simulation time in ns: chips have no clock of their own.
"""
