"""Start the program where its script is not on PATH: ``python -m instruction_counts``."""

import sys

from instruction_counts import cli

if __name__ == "__main__":
    sys.exit(cli.main())
