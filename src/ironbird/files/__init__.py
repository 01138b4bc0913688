"""Files that users write (with the place of every key and readable problems), and safe writing of whole files."""
