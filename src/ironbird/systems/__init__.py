"""Control systems under test, one folder each, independent of each other."""
