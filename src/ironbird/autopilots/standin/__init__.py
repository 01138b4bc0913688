"""Stand-ins: the reference autopilot in a process of its own, behind the protocol of PX4 or of ArduPilot.

They let anyone try a link without a foreign binary, and test it: the same estimator, navigator and control laws as in a
flight with control `reference`, fed with what comes over the wire and nothing else. Not done: parameters, missions from
a ground station, any MAVLink but that of the simulator link; depth, and a battery over PX4's link.
"""
