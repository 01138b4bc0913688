"""Files that people write: the place of every key, and problems in words; files that are written, whole and safe."""
