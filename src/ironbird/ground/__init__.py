"""The built-in ground station: receiving, handshakes, and the script by which it flies a mission."""
