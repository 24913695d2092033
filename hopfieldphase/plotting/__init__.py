"""Labelled datasets in, Matplotlib axes out."""
