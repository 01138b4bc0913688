"""Credibility of a simulation: indices of its agreement with a real record, with uncertainty."""
