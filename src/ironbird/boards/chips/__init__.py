"""Sensor and actuator chips at the level of bytes and pins: register tables, state machines, buses, boards.

One file a chip: a table of registers and a class with the chip's behaviour, written in the subset of Python that
`ironbird.boards.chips.translate` turns into C. So the register model in Python and the pin-level model in C are one
text. Time comes with the transaction (nanoseconds of simulation time): chips have no clock of their own.
"""
