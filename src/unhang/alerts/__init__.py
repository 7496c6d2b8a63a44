"""Alerts: a process of its own reads what was recorded and tells it where the user's alerts.toml says.

jobs/start, sessions   start the deliverer, where there are rules
keeper, recovery       leave a mark that there is news (store/alert_news.py)
deliverer.py           reads the news, asks core/alerts/ledger.py what to send, keeps the state
targets.py             sends one message: desktop, terminal, ntfy, webhook, Slack, a command, Apprise
deliveries.py          what became of each message
links.py               signed addresses that answer an alert once, at the page that pages.py knows to be served
"""
