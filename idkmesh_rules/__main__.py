"""`python -m idkmesh_rules` is `idkrules`."""

import sys

from idkmesh_rules.cli import main

sys.exit(main())
