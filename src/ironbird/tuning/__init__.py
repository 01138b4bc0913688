"""Tuning of control loops: step responses in lanes, margins from exact linear models, gains for a bandwidth."""
