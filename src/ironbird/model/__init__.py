"""Models: signals, blocks, diagrams, sample rates and evaluation order. No physics, no files, no clock."""
