"""Flight controllers on a cable: serial or UDP, in real time."""
