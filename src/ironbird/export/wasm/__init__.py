"""A part of a vehicle as a WebAssembly module with a JavaScript interface."""
