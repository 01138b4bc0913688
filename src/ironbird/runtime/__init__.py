"""Running compiled models: run states, stepping, parameter events and logs."""
