"""AWS on a simulated clock, as unkind as its documentation allows: groups, metrics, alarms, queues and functions."""
