"""`python3 -m rtether_verify CERTIFICATE`."""

import sys

from rtether_verify.command import main

sys.exit(main())
