"""Attention maps beyond the Tsallis family, in one contract: see `contract.Attention`."""
