"""Pages of the app: one file each, one line in the registry."""
