"""Shared libraries of a part of a vehicle."""
