"""What moves near and between minima: stability of updates, fluctuations, sampling, escape."""
