"""The interface under test: a vehicle on the bench, and the interface that a control system implements to fly it."""
