"""Files, folders, locks and processes of this machine."""
