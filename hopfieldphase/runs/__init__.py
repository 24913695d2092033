"""Studies: what to compute, over which realizations, and the folder that holds the result."""
