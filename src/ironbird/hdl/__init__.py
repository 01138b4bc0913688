"""Chips as hardware: Amaranth cores from the register tables, Verilog, simulation, place and route."""
