"""S_env: environment of the vehicle: earth, air, wind, water and ground."""
