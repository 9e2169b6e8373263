"""Start the program from a checkout: ``python main.py``."""

import sys

from instruction_counts import cli

if __name__ == "__main__":
    sys.exit(cli.main())
