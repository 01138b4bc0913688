"""Static libraries for Cortex-M4F microcontrollers."""
