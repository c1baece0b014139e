"""A hand-written AWS that is no kinder than the real one, for what the handlers ask of it.

It checks every call against botocore's own service models, pages, enforces limits by raising, keeps the
semantics of protection and capacity, matches metric dimensions exactly, and can be told to throttle, deny,
leave out or change its mind between two calls. Time is its own and only moves when somebody sleeps.
"""

from tests.handlers.fake_aws.calls import Call, refusal
from tests.handlers.fake_aws.time import START, Context, ManualClock
from tests.handlers.fake_aws.world import FakeAws

__all__ = ["START", "Call", "Context", "FakeAws", "ManualClock", "refusal"]
