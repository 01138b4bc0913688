"""Test cases of other tools."""
