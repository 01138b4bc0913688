"""The command `ironbird`: one file per family of verbs."""
