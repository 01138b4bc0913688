"""Router between serial lines, UDP, TCP, pseudo-terminals and files, with filters, rate limits and link faults."""
