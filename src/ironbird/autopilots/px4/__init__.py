"""PX4: parameters for every kind of vehicle, messages of its simulator interface, its program."""
