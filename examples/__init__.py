"""Things to try the tool with."""
