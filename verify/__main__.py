"""`python3 verify CERTIFICATE`, from a checkout."""

import sys

from rtether_verify.command import main

sys.exit(main())
