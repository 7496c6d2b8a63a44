"""Version control, containers, clusters, clouds, infrastructure as code and databases."""

from __future__ import annotations

OPERATIONS: dict[str, str] = {
    # a commit is no quick thing: it runs the project's hooks, which may run its tests
    "git": """
        ~ -C -c --git-dir --work-tree --namespace
        medium: .
        quick: status, log, show, diff, branch, tag, config, remote, rev-parse, rev-list, ls-files, describe
        quick: blame, help
        quick: add, reset, stash, restore, switch, init, mv, rm, shortlog, reflog, cat-file
        quick: merge-base, symbolic-ref
        quick: check-ignore, for-each-ref, name-rev, notes, show-ref, hash-object, update-ref, --version
        quick: apply, cherry
        medium: checkout, merge, rebase, cherry-pick, revert, grep, worktree, am, format-patch, archive
        medium: clean, ls-remote
        long: commit, clone, fetch, pull, push, submodule, lfs, gc, repack, remote update, remote prune, bisect run
        long: fsck, prune
        extended: filter-branch, filter-repo, lfs migrate, svn clone, clone --mirror
        server: daemon, instaweb
    """,
    "gh": """
        medium: .
        server: run watch, pr checks --watch, codespace ssh
        long: repo clone, release download, release upload, run download, pr checkout, repo sync
        quick: --version, auth status
    """,
    "glab": """
        medium: .
        server: ci view, ci trace
        long: repo clone
    """,
    "hub": "medium: .",
    "git-lfs": "long: .",
    "hg": """
        medium: .
        long: clone, pull, push
        server: serve
    """,
    "svn": """
        medium: .
        long: checkout, co, update, up, export
    """,
    "jj": """
        quick: .
        long: git clone, git fetch, git push
    """,
    "dolt": "medium: .",
    "gitleaks": "long: .",
    "trufflehog": "extended: .",
    # -- containers
    "docker": """
        ~ -H --host -c --context --config -l --log-level -f@compose --file -p@compose --project-name --profile
        medium: .
        quick: ps, images, version, info, inspect, port, container ls, image ls, network ls, volume ls
        quick: --version, -v
        quick: compose ps, compose config, compose version, compose ls, context *, rm, rmi, stop, kill
        quick: start, cp
        medium: logs, system df, compose stop, compose logs, compose rm
        long: run, pull, push, login, exec, create, compose exec, compose run, compose pull, compose start
        long: compose restart
        long: compose down, system prune, save, load, import, export, commit, compose up -d
        long: compose up --detach, run -d
        long: compose create, run --detach, image prune, volume prune
        extended: build, buildx *, compose build, compose up -d --build, image build
        extended: compose up --detach --build, buildx build
        extended: compose up --wait, compose push
        server: run -p, run -P, run --publish
        long: run -d -p, run -d -P, run -d --publish, run --detach -p, run --detach --publish
        server: compose up, compose up --build, logs -f, logs --follow, compose logs -f
        server: compose logs --follow, events, attach
        server: stats, compose watch, compose attach, compose events, compose up --watch
        quick: stats --no-stream
    """,
    "podman": "= docker",
    "nerdctl": "= docker",
    "docker-compose": """
        ~ -f --file -p --project-name --profile --env-file
        medium: .
        quick: ps, config, version, ls, --version
        long: exec, run, pull, down, start, restart, up -d, up --detach
        extended: build, up -d --build, up --detach --build, up --wait
        server: up, up --build, logs -f, logs --follow, events, watch
    """,
    "podman-compose": "= docker-compose",
    "buildah": "extended: .",
    "skopeo": "long: .",
    "kaniko": "extended: .",
    "dive": "session: .",
    "trivy": "extended: .",
    "grype": "extended: .",
    "syft": "extended: .",
    "hadolint": "quick: .",
    "lima": "extended: .",
    "limactl": "extended: .",
    "colima": "extended: .",
    "vagrant": """
        extended: .
        quick: status, global-status
        session: ssh
    """,
    "multipass": "extended: .",
    "qemu-img": "extended: .",
    "packer": """
        extended: .
        medium: validate, fmt
    """,
    # -- clusters
    "kubectl": """
        ~ -n --namespace --context --kubeconfig --cluster --user -c --container -l --selector -o --output
        medium: .
        quick: get, describe, version, config *, api-resources, explain, cluster-info, top, auth *
        long: apply, delete, rollout *, wait, drain, run, exec, cp, debug
        server: logs -f, logs --follow, port-forward, proxy, get -w, get --watch, attach, edit
    """,
    "oc": "= kubectl",
    "k": "= kubectl",
    "k3s": """
        medium: .
        server: server, agent
    """,
    "helm": """
        medium: .
        long: install, upgrade, dependency *, pull, push, uninstall, repo update, rollback, test
        extended: install --wait, upgrade --wait
        quick: list, ls, version, status, template, lint
    """,
    "helmfile": "extended: .",
    "kustomize": "medium: .",
    "kind": """
        extended: create *
        long: .
        quick: get *, version
    """,
    "minikube": """
        long: .
        extended: start
        quick: status, ip, version
        server: tunnel, mount, dashboard
    """,
    "k3d": "extended: .",
    "skaffold": """
        extended: .
        server: dev, debug
    """,
    "tilt": """
        server: up
        extended: ci
    """,
    "argocd": """
        medium: .
        extended: app sync, app wait
    """,
    "flux": "long: .",
    "stern": "server: .",
    "kubetail": "server: .",
    "istioctl": "long: .",
    "eksctl": "extended: .",
    "nomad": """
        medium: .
        server: agent, alloc logs -f, monitor
    """,
    "consul": """
        medium: .
        server: agent, watch, monitor
    """,
    "vault": """
        medium: .
        server: server
    """,
    # -- clouds and infrastructure as code
    "terraform": """
        ~ -chdir
        long: .
        quick: version, fmt, validate, output, show, state list, workspace *, providers
        long: init, plan, refresh, import
        extended: apply, destroy
        session: console
    """,
    "tofu": "= terraform",
    "terragrunt": "extended: .",
    "pulumi": """
        extended: .
        quick: version, whoami, stack ls, config
        server: logs -f, watch
    """,
    "cdk": """
        extended: .
        medium: ls, list, doctor
        server: watch
    """,
    "cdktf": "extended: .",
    "sam": """
        extended: .
        server: local start-api, local start-lambda, logs --tail, sync --watch
        medium: validate
    """,
    "serverless": """
        extended: .
        server: offline, logs -t, logs --tail
    """,
    "sls": "= serverless",
    "sst": """
        extended: .
        server: dev
    """,
    "ansible": "long: .",
    "ansible-playbook": "extended: .",
    "ansible-galaxy": "long: .",
    "ansible-lint": "medium: .",
    "salt": "extended: .",
    "chef-client": "extended: .",
    "puppet": "extended: .",
    "aws": """
        ~ --profile --region --output --query --endpoint-url
        medium: .
        extended: s3 cp, s3 sync, s3 mv, s3 rm, cloudformation deploy, ecs wait, cloudformation wait *
        extended: rds wait *, ec2 wait *
        server: logs tail --follow, ssm start-session
        quick: sts get-caller-identity, configure *, --version
    """,
    "gcloud": """
        medium: .
        extended: builds *, app deploy, run deploy, container clusters *, functions deploy
        server: logging tail, beta logging tail, compute start-iap-tunnel
        quick: config *, auth list, --version
    """,
    "gsutil": "extended: .",
    "bq": "long: .",
    "az": """
        long: .
        server: webapp log tail, group wait
        extended: deployment *, aks create, acr build
        quick: account *, --version
    """,
    "azcopy": "extended: .",
    "doctl": "medium: .",
    "heroku": """
        medium: .
        server: logs --tail, logs -t, local
        session: run bash, ps:exec
        long: run
    """,
    "flyctl": """
        medium: .
        extended: deploy, launch
        server: logs, proxy
        session: ssh console
    """,
    "fly": "= flyctl",
    "railway": """
        medium: .
        extended: up
        server: logs
    """,
    "supabase": """
        long: .
        extended: start, db reset
        server: functions serve
    """,
    # -- databases
    "psql": """
        ~ -h -p -U -d -f -c -v
        medium: .
        long: -f, --file
    """,
    "pg_dump": "extended: .",
    "pg_dumpall": "extended: .",
    "pg_restore": "extended: .",
    "pg_basebackup": "extended: .",
    "pg_isready": "quick: .",
    "pg_ctl": "medium: .",
    "pgbench": "extended: .",
    "createdb": "quick: .",
    "dropdb": "medium: .",
    "initdb": "long: .",
    "postgres": "server: .",
    "mysql": "medium: .",
    "mariadb": "= mysql",
    "mysqldump": "extended: .",
    "mysqladmin": "medium: .",
    "mysqld": "server: .",
    "sqlite": "medium: .",
    "duckdb": "medium: .",
    "redis-cli": """
        quick: .
        server: monitor, MONITOR, subscribe, SUBSCRIBE, psubscribe, --latency, --stat
    """,
    "redis-server": """
        server: .
        quick: --version
        medium: --daemonize=yes
    """,
    "mongosh": "medium: .",
    "mongo": "= mongosh",
    "mongod": """
        server: .
        medium: --fork
    """,
    "mongodump": "extended: .",
    "mongorestore": "extended: .",
    "clickhouse-client": "medium: .",
    "cqlsh": "medium: .",
    "influx": "medium: .",
    "elasticsearch": "server: .",
    "etcd": "server: .",
    "etcdctl": """
        quick: .
        server: watch
    """,
    "kafka-console-consumer": """
        server: .
        medium: --max-messages
    """,
    "kcat": """
        server: .
        medium: -L, -e, -P
    """,
    "rabbitmq-server": "server: .",
    "nats": """
        medium: .
        server: sub, subscribe, reply
    """,
    "nats-server": "server: .",
    "minio": "server: server",
    "flyway": "extended: .",
    "liquibase": "extended: .",
    "nginx": """
        medium: .
        quick: -t, -v, -V, -s
        server: -g
    """,
    "caddy": """
        server: run, file-server, reverse-proxy
        quick: version, validate, fmt, start, stop, reload
    """,
    "traefik": "server: .",
    "prometheus": "server: .",
    "grafana-server": "server: .",
    "haproxy": """
        server: .
        quick: -c
    """,
    # -- load and measurement
    "ab": "extended: .",
    "wrk": "extended: .",
    "hey": "extended: .",
    "k6": "extended: run",
    "locust": """
        server: .
        extended: --headless
    """,
    "siege": "extended: .",
    "hyperfine": "extended: .",
    "sysbench": "extended: .",
    "fio": "extended: .",
}
