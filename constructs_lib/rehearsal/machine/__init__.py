"""One instance on a simulated clock: what it does, and what its agent, node program and drain service make of it."""
