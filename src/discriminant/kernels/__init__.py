"""The only compiled code: Numba functions from arrays to arrays.

Every kernel is compiled on first use, cached on disk, and releases the GIL, so that the engine's threads run
side by side. None starts threads of its own: results cannot depend on how many there are.
"""
