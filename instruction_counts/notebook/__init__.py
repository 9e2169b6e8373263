"""IPython and Jupyter: the magic ``%icount``, on servers that stay open while the notebook does."""
