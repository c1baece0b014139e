"""The program that runs on each instance of a fleet: measures its accelerators and says what the machine does.

Standard library only, for the Python 3.9 and later that Amazon Linux 2023 and Ubuntu images bring. This directory is
shipped as it is; on the instance it is the package ``accelerated_node``.
"""
