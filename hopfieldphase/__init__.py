"""Statistical mechanics of modern Hopfield models and attention: phase diagrams one can trust."""

__version__ = "0.1.0"
