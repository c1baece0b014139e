"""What an instance does before it goes: its work ends by itself or saves what it has, and nothing waits for longer.

A program of its own, ``accelerated-node drain``, so that it goes on when the one that measures has failed. It sees that
the instance is to go, does what ``decision.decide`` says, and stops nothing that measures or works.
"""
