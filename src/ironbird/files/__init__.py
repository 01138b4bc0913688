"""Files that people write: the place of every key, and problems in words; files that we write, whole and harmless."""
