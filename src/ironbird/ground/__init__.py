"""The built-in ground station: what it receives, how it requests, and the script by which it has a mission flown."""
