"""The forms in which an outcome is told, a module for each."""
