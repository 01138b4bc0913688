"""MAVLink 2: layouts of messages, the numbers in them, and the codec."""
