"""Which faults the tests of the release function would miss: mutmut changes one thing at a time and runs them."""
