"""Pages, plots and files made from results; nothing here runs a simulation."""
