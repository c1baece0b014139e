"""Makes a fleet deletable in any state: a custom resource, created after the group and deleted first."""
