"""The newest third: many languages with their own toolchains, written before the rules that they ask for.

Nothing was tuned on it. Change a label only when it is wrong, and say so beside it.
"""

from __future__ import annotations

from tests.zoo.third_adversary import ADVERSARY
from tests.zoo.third_compiled import COMPILED
from tests.zoo.third_rules import RULES
from tests.zoo.third_scripts import SCRIPTS
from tests.zoo.third_strangers import STRANGERS
from tests.zoo.third_system import SYSTEM

THIRD = COMPILED + SCRIPTS + SYSTEM + STRANGERS + ADVERSARY + RULES
