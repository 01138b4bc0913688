"""The interface under test: a vehicle on the bench, and what a control system must offer to fly it."""
