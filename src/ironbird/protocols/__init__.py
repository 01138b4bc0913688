"""Bytes and values: MAVLink, plans, parameters, logs of autopilots, structures of RflySim. No process, no rig."""
