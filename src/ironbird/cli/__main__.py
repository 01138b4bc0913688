"""`python -m ironbird.cli`."""

from ironbird.cli.main import main

main()
