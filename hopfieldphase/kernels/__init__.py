"""Every compiled loop, next to nothing else: each is tested against its plain NumPy twin."""
