"""All tables but the commonest, joined once."""

from __future__ import annotations

from unhang.core.policy.tables.agents import AGENTS
from unhang.core.policy.tables.compiled import COMPILED
from unhang.core.policy.tables.operations import OPERATIONS
from unhang.core.policy.tables.python import PYTHON
from unhang.core.policy.tables.scripted import SCRIPTED
from unhang.core.policy.tables.web import WEB

OTHERS: dict[str, str] = {**PYTHON, **COMPILED, **SCRIPTED, **WEB, **OPERATIONS, **AGENTS}
