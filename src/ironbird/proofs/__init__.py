"""Measurements of Ironbird itself: NASA check cases, determinism, estimators, speed."""
