"""Python functions as short as the commands of the command line: each is a name of `import ironbird as ib`."""
