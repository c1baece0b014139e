"""A discrete simulator (one-minute ticks, seconds as ints) of the AWS services that move a fleet's capacity.

It reads alarms, sizes, schedules and handler settings out of a template and runs the handlers' own code.
"""
