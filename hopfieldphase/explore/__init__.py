"""Labelled data in, one page for the browser out."""
