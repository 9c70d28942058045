"""Is a change to the compaction summariser safe? README.md says how to ask."""
