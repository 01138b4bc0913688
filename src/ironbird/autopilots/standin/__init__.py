"""Stand-ins: the reference autopilot in a separate process, behind the protocol of PX4 or of ArduPilot.

They allow to try and test a link without a foreign binary: the same estimator, navigator and control laws as in a
flight with control `reference`, fed only with what comes over the link. Not done: parameters, missions from a ground
station, any MAVLink but that of the simulator link; depth, and a battery over PX4's link.
"""
