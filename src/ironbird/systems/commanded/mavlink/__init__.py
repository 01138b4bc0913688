"""The reference autopilot speaks MAVLink as PX4 does: ground stations and their libraries work with it unchanged."""
