"""Labelled data: the only builder of xarray objects, and the only reader and writer of their files."""
