"""`python -m timefem.cli`."""

import sys

from . import main

sys.exit(main())
