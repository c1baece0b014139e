"""Makes a fleet deletable in any state: asked by a custom resource, and by the event of a stack that is going."""
