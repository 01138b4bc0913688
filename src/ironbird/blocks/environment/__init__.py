"""S_env: earth, air, wind, ground."""
