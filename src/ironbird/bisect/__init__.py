"""Bisection: which commit of a control system changed a flight."""
