"""Logs of flights, real or simulated, as a table on the terminal and as a page."""
