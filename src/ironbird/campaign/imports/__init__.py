"""Import of test cases from other tools."""
