"""For people with their own traffic: import it, compare two runs, look at a result, select in one's own program."""
