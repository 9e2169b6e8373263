"""The commands of ``runs`` that have modules of their own."""
