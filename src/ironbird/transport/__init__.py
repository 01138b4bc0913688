"""What carries bytes between programs, and what breaks them: cables, sockets, serial lines, the router."""
