"""Names that several parts use."""

NAMESPACE = "AcceleratedFleet"
FLEET_TAG = "accelerated-fleet:id"
DRAIN_HOOK = "Drain"
