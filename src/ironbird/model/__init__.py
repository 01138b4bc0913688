"""What a model is: signals, blocks, diagrams, their order and rates. No physics, no files, no clock."""
