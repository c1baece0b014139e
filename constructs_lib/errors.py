"""What the library raises when it is asked for something that cannot work.

::

    ValueError
    └── FleetError                        everything below; catch this one to catch all
        ├── ArgumentError                 a parameter of the wrong type, out of range or at odds with another
        ├── MissingExtraError             a package that only one of the distribution's extras brings is not there
        ├── UnknownInstanceTypeError      an instance type that the catalog has no facts about
        └── UnsupportedInstanceTypeError  a type with no accelerator, of a kind not supported yet, or that does
                                          not fit the other types of the fleet

Every message reads ``<where>: <parameter> must <rule>, got <value>; <cure>``, where ``<where>`` is the path
of the construct, or the name of the value object that was being made.
:func:`constructs_lib.validation.complaint` writes it.
"""

from __future__ import annotations


class FleetError(ValueError):
    """Base of every error that the library raises about what it was given."""


class ArgumentError(FleetError):
    """A parameter has the wrong type, is out of range or does not go together with another one."""


class MissingExtraError(FleetError):
    """What was asked for needs a package that one of the distribution's extras brings, and it is not installed."""


class UnknownInstanceTypeError(FleetError):
    """The catalog has no facts about this instance type, and nobody stated them."""


class UnsupportedInstanceTypeError(FleetError):
    """The instance type is known, but no fleet (or not this fleet) can be built from it."""
