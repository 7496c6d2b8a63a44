"""Ruby, PHP and the task runners that call anything."""

from __future__ import annotations

SCRIPTED: dict[str, str] = {
    # -- Ruby
    "ruby": """
        default: .
        quick: --version, -v
    """,
    "gem": "long: .",
    "bundle": """
        long: .
        quick: --version, list, show, check, config *
    """,
    "bundler": "= bundle",
    "rake": """
        long: .
        extended: db:migrate, assets:precompile, db:seed
    """,
    "rails": """
        medium: .
        server: server, s
        session: console, c, dbconsole
        long: test, db:*, assets:*, generate
    """,
    "rspec": "long: .",
    "rubocop": "medium: .",
    "guard": "server: .",
    "puma": "server: .",
    "unicorn": "server: .",
    "sidekiq": "server: .",
    "foreman": "server: start",
    "overmind": "server: start, s",
    "jekyll": """
        long: .
        server: serve, s, build --watch
    """,
    "irb": "session: .",
    # -- PHP
    "php": """
        ~ -d -c -r
        default: .
        quick: -v, --version, -l, -m, -i
        server: -S, artisan serve, artisan queue:work, artisan queue:listen, artisan horizon
        server: artisan schedule:work
        server: artisan reverb:start
        long: artisan test, artisan migrate*, artisan db:seed
        medium: artisan
        session: artisan tinker
    """,
    "composer": """
        long: .
        quick: --version, show, validate, dump-autoload
    """,
    "phpunit": "long: .",
    "pest": "long: .",
    "phpstan": "long: .",
    "psalm": "long: .",
    "php-cs-fixer": "medium: .",
    "symfony": """
        medium: .
        server: serve, server:start
    """,
    # -- task runners that call anything
    "just": """
        long: .
        quick: --list, -l
        server: dev, serve, watch
    """,
    "task": """
        long: .
        quick: --list, -l
        server: dev, serve, watch, --watch, -w
    """,
    "mise": "long: .",
    "invoke": "long: .",
    "earthly": "extended: .",
    "act": "extended: .",
}
