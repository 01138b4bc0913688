"""Export of models as code: C, libraries, FMUs, programs. Each exporter is a folder and a line of the registry."""
