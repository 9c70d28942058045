"""Building blocks for programs around a model: prompts, replies, retrieval, tools, scoring. README.md tells more."""
