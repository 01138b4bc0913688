"""Monitors of a run, which may stop it."""
