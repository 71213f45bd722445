"""``python -m postil`` is the command ``postil``."""

import sys

from postil.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
