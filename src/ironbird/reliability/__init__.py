"""How likely a vehicle fails: lives of its parts, fault tree and FMEA, Monte Carlo with importance sampling."""
