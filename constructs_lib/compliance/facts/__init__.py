"""What rules have in common: capacity, alarms, agents and roles, read out of a deployment; nothing here judges."""
