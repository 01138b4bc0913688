"""Exporter of trained policies as C."""
