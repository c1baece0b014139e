"""The main job on an emulator on this machine: deploy, wake, release, destroy. Run as ``python -m demo``."""
