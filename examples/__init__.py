"""Examples, each a folder with its own application and README."""
