"""Python: interpreters, packages, test runners, servers; and machine learning, which speaks it."""

from __future__ import annotations

_TRAIN = "training: *train*.py, *finetune*.py, *pretrain*.py"

PYTHON: dict[str, str] = {
    # -- Python. `python -m X` is looked through to X.
    "python": f"""
        ~ -c -W -X
        default: .
        quick: --version, -V
        {_TRAIN}
        server: manage.py runserver
        long: manage.py test, manage.py migrate, setup.py *
        session: manage.py shell, manage.py dbshell
    """,
    "pypy": "= python",
    "py": "= python",
    "ipython": "= python",
    "pip": """
        long: .
        quick: --version, list, show, freeze, check, config *, cache *
        medium: index *, search
        extended: wheel, download
    """,
    "pipx": """
        long: .
        quick: list
    """,
    "ensurepip": "long: .",
    "venv": "medium: .",
    "virtualenv": "medium: .",
    "uv": """
        ~ --directory --project --config-file --cache-dir --color
        long: .
        quick: --version, pip list, pip freeze, pip show, python list, tree, version, cache dir
    """,
    "uvx": "long: .",
    "poetry": """
        long: .
        quick: --version, show, env *, check, config, version
    """,
    "pdm": "long: .",
    "rye": "long: .",
    "hatch": "long: .",
    "pipenv": "long: .",
    "conda": """
        long: .
        quick: --version, info, list, activate, deactivate
        extended: create, env create, update, env update, build
    """,
    "mamba": "= conda",
    "micromamba": "= conda",
    "pixi": "long: .",
    "pytest": """
        long+ci: .
        medium: --version, --collect-only, --co
        server: --looponfail
    """,
    "py.test": "= pytest",
    "pytest-watch": "server: .",
    "ptw": "= pytest-watch",
    "unittest": "long: .",
    "nose2": "long: .",
    "tox": "extended: .",
    "nox": "extended: .",
    "coverage": """
        quick: .
        long: run, html, xml
    """,
    "ruff": """
        medium: .
        server: server, --watch
    """,
    "black": "medium: .",
    "isort": "medium: .",
    "flake8": "medium: .",
    "pylint": "long: .",
    "mypy": "long: .",
    "dmypy": "long: .",
    "pyright": """
        long: .
        server: --watch, -w
    """,
    "pyre": "long: .",
    "bandit": "medium: .",
    "pre-commit": """
        long: .
        quick: --version
    """,
    "twine": "long: .",
    "build": "long: .",
    "sphinx-build": "long: .",
    "sphinx-autobuild": "server: .",
    "mkdocs": """
        long: .
        server: serve
    """,
    "http.server": "server: .",
    "uvicorn": "server: .",
    "gunicorn": "server: .",
    "hypercorn": "server: .",
    "daphne": "server: .",
    "waitress-serve": "server: .",
    "granian": "server: .",
    "flask": """
        ~ -A --app
        default: .
        server: run
        long: db *
        session: shell
    """,
    "fastapi": "server: run, dev",
    "streamlit": """
        server: run, hello
        quick: --version
    """,
    "gradio": "server: .",
    "chainlit": "server: run",
    "celery": """
        ~ -A --app
        medium: .
        server: worker, beat, flower, events
    """,
    "rq": "server: worker",
    "dramatiq": "server: .",
    "jupyter": """
        server: notebook, lab, server, console
        quick: --version, --paths, kernelspec *
        extended: nbconvert --execute, execute
        medium: nbconvert
    """,
    "jupyter-lab": "server: .",
    "jupyter-notebook": "server: .",
    "django-admin": """
        default: .
        server: runserver
    """,
    "alembic": """
        medium: .
        extended: upgrade, downgrade
    """,
    "scrapy": "extended: crawl",
    "airflow": """
        medium: .
        server: standalone, webserver, scheduler, triggerer
        extended: db *
    """,
    "dbt": """
        long: .
        server: docs serve
        extended: run, build, snapshot
    """,
    "dvc": "extended: .",
    # -- machine learning
    "llamafactory-cli": """
        training: train
        server: webui, api, webchat, chat
        extended: export, eval
    """,
    "torchrun": "training: .",
    "accelerate": """
        training: launch
        quick: env, config
    """,
    "deepspeed": "training: .",
    "axolotl": "training: .",
    "horovodrun": "training: .",
    "tensorboard": "server: .",
    "mlflow": """
        medium: .
        server: ui, server
        training: run
    """,
    "wandb": """
        medium: .
        training: agent
    """,
    "ray": """
        medium: .
        training: submit, job submit
    """,
    "yolo": """
        long: .
        training: +train, +mode=train
    """,
    "huggingface-cli": "extended: .",
    "hf": "= huggingface-cli",
    "vllm": "server: serve",
    "ollama": """
        default: .
        server: serve
        extended: pull, create, push
        quick: list, ps, show
    """,
    "llama-server": "server: .",
    "nvidia-smi": """
        quick: .
        server: -l, --loop, dmon, pmon
    """,
}
