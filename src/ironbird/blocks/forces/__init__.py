"""S_fm: forces and moments on the body."""
