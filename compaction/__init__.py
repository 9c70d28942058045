"""Is a change to the compaction summariser safe? README.md says how to ask."""

import base  # noqa: F401 (first, for Ctrl-C during the other imports)
