"""Trained attention, with PyTorch (``pip install 'hopfieldphase[learn]'``)."""
