"""For people with their own traffic: import it, compare two runs, look at a result, select in one's own program."""

import base  # noqa: F401 (first, for Ctrl-C during the other imports)
