"""Transport of bytes between programs, and faults in it: cables, sockets, serial lines, the router."""
