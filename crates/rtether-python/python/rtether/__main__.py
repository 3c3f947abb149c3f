"""`python -m rtether` is the command."""

import sys

from . import main

sys.exit(main())
