"""The notifications of the app server that need no state: method → phase, sign of life or not, words.

A phase of None is "whatever it was doing": housekeeping that is worth a line but says nothing of the turn.
"""

from __future__ import annotations

from unhang.agents.base.phrases import labelled, update_of
from unhang.agents.base.update import preview
from unhang.core.values import items_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.agents.base.phrases import Phrase
    from unhang.agents.base.update import AgentUpdate
    from unhang.core.values import Message

_HOOK = "A Codex hook"


def _plan(params: Message) -> str:
    steps = items_of(params, "plan", most=100)
    texts = [f"[{text_of(each, 'status', most=60)}] {text_of(each, 'step', most=200)}" for each in steps]
    return f"Plan: {preview('; '.join(texts))}"


# Realtime conversations (speech) have their own section: unhang never starts one, but a thread may be shared.
PLAIN: dict[str, Phrase] = {
    "thread/readState/changed": (None, False, "Read state changed."),
    "thread/archived": ("idle", False, "The thread was archived."),
    "thread/deleted": ("warning", False, "The thread was deleted."),
    "thread/unarchived": (None, False, "The thread was taken out of the archive."),
    "thread/closed": ("idle", False, "The thread was closed."),
    "thread/reverted": ("warning", False, "The thread was reverted."),
    "thread/name/updated": (None, False, labelled("The thread is called", "threadName")),
    "thread/attachment/updated": (None, False, "An attachment changed."),
    "thread/goal/updated": (None, False, "The goal changed."),
    "thread/goal/cleared": (None, False, "The goal was cleared."),
    "thread/prediction/updated": (None, False, "A prediction came."),
    "thread/queue/changed": (None, False, "The queue of messages changed."),
    "thread/project/updated": (None, False, "The thread's project changed."),
    "thread/environment/connected": (None, False, "An environment was connected."),
    "thread/environment/disconnected": ("warning", False, "An environment was disconnected."),
    "thread/settings/updated": (None, False, "The thread's settings changed."),
    "project/changed": (None, False, "A project changed."),
    "skills/changed": (None, False, "The skills changed."),
    "app/list/updated": (None, False, "The list of apps changed."),
    "fs/changed": (None, False, "Watched files changed."),
    "hook/started": ("running", True, f"{_HOOK} has started."),
    "hook/completed": ("running", True, f"{_HOOK} has ended."),
    "turn/diff/updated": ("editing", True, "The changes so far were updated."),
    "turn/plan/updated": ("thinking", True, _plan),
    "turn/moderationMetadata": (None, False, "Moderation data came."),
    "item/autoApprovalReview/started": ("running", True, "A reviewer looks at what Codex wants to do."),
    "item/autoApprovalReview/completed": ("running", True, "A reviewer has decided about what Codex wants to do."),
    "autoApprovalReview/strictReviewRequired": ("warning", False, "Everything must be reviewed from here on."),
    "process/exited": ("running", True, "A process of the client has ended."),
    "item/fileChange/patchUpdated": ("editing", True, "The patch grows."),
    "item/mcpToolCall/progress": ("running", True, labelled("The tool says", "message")),
    "item/reasoning/summaryPartAdded": ("thinking", True, "Codex is thinking."),
    "serverRequest/resolved": (None, False, "A request was answered."),
    "mcpServer/oauthLogin/completed": (None, False, labelled("An MCP server's login has ended", "error", "name")),
    "mcpServer/startupStatus/updated": ("starting", False, labelled("An MCP server is starting", "error", "name")),
    "mcpServer/event/stream/notification": (None, False, "An MCP server sent an event."),
    "account/updated": (None, False, "The account changed."),
    "account/gatewayOAuth/changed": ("warning", False, "The login at the gateway changed."),
    "account/rateLimits/updated": ("metering", False, "Rate limits were reported."),
    "account/login/completed": (None, False, labelled("The login has ended", "error")),
    "remoteControl/status/changed": ("starting", False, labelled("Remote control", "status")),
    "externalAgentConfig/import/progress": (None, False, "Settings of another agent are being imported."),
    "externalAgentConfig/import/completed": (None, False, "Settings of another agent were imported."),
    "model/rerouted": ("warning", False, labelled("The request went to another model", "toModel")),
    "model/verification": (None, False, "The model was verified."),
    "model/safetyBuffering/updated": (None, False, "The answer is held back for a safety check."),
    "modelProvider/authRecoveryStarted": ("warning", False, labelled("Logging in again", "message")),
    "modelProvider/authRecoveryCompleted": (None, False, labelled("Logged in again", "message")),
    "warning": ("warning", False, labelled("Codex warns", "message")),
    "guardianWarning": ("warning", False, labelled("Codex warns", "message")),
    "deprecationNotice": ("warning", False, labelled("Deprecated", "summary")),
    "configWarning": ("warning", False, labelled("Codex's configuration", "summary")),
    "fuzzyFileSearch/sessionUpdated": (None, False, "A file search has news."),
    "fuzzyFileSearch/sessionCompleted": (None, False, "A file search has ended."),
    "thread/realtime/started": (None, False, "A conversation by voice has begun."),
    "thread/realtime/itemAdded": (None, False, "The conversation by channel goes on."),
    "thread/realtime/item/started": (None, False, "The conversation by channel goes on."),
    "thread/realtime/item/transcript/delta": (None, False, "The conversation by channel goes on."),
    "thread/realtime/item/completed": (None, False, "The conversation by channel goes on."),
    "thread/realtime/transcript/delta": (None, False, "The conversation by channel goes on."),
    "thread/realtime/transcript/done": (None, False, "The conversation by channel goes on."),
    "thread/realtime/outputAudio/delta": (None, False, "The conversation by channel goes on."),
    "thread/realtime/sdp": (None, False, "The conversation by channel goes on."),
    "thread/realtime/error": ("warning", False, labelled("The conversation by channel failed", "message")),
    "thread/realtime/closed": (None, False, "The conversation by voice has ended."),
    "windows/worldWritableWarning": ("warning", False, "Some folders can be written by everybody."),
    "windowsSandbox/setupCompleted": (None, False, "The sandbox was set up."),
}


def stateless_update(method: str, params: Message, current: str) -> AgentUpdate | None:
    """Return what such a message means; None: it is not one of these."""
    known = PLAIN.get(method)
    return None if known is None else update_of(known, params, method, current)
