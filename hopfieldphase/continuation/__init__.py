"""Follow minima and other solutions through a parameter: sweeps, branches, curves."""
