"""Lanes on other machines, by Dask: the controller's part, and what its workers run."""
