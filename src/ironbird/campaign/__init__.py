"""Missions and flights."""
