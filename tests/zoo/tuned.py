"""The two thirds on which the rules may be tuned."""

from __future__ import annotations

from tests.zoo.tuned_alive import ALIVE
from tests.zoo.tuned_commons import COMMONS
from tests.zoo.tuned_hung import HUNG

TUNED = HUNG + ALIVE + COMMONS
