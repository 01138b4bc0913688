"""Models from records: parameters of a vehicle, of its motors and of its sensors, each with its uncertainty."""
