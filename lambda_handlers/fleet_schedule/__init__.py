"""Pauses a fleet outside its hours, gives it its sizes back, and raises it ahead of need."""
