"""Whether a simulation can be believed: indices of its agreement with a real record, with uncertainty."""
