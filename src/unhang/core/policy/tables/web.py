"""JavaScript and TypeScript: package managers, bundlers, frameworks, test runners.

`yarn X`, `pnpm X` and `bun X` of an unknown X run a script or a program of that name: `wrapper_commands.py` looks
through them, and through `npx`, to the names here.
"""

from __future__ import annotations

# What a script of package.json is called says what it does, in every project that has one.
_SCRIPTS = """
    default: run
    server: run dev, run start, run serve, run watch, run preview, run storybook, run develop, run dev:*
    server: run *:dev
    server: run start:*, run serve:*, run watch:*, run *:watch, run *:serve, run docs:dev, run *-watch
    server: run *-server
    server: run dev-*, run server
    long: run build, run compile, run bundle, run generate, run build:*, run *:build, run e2e, run prepare
    long: run release
    extended: run build:prod, run build:production, run dist, run package, run make, run electron:build
    extended: run release:*
    long+ci: run test, run test:*, run *:test, run tests, run unit, run coverage, run ci, run check
    long+ci: run test-*
    medium: run lint, run lint:*, run format, run format:*, run fmt, run typecheck, run type-check, run tsc
    medium: run types
    medium: run prettier, run clean, run check:*, run codegen
"""

WEB: dict[str, str] = {
    "node": """
        ~ -e --eval -p --print -r --require --import --loader
        default: .
        quick: -v, --version
        server: server.js, server.mjs, server.ts, --watch
    """,
    "nodejs": "= node",
    "deno": """
        default: .
        quick: --version, fmt, info
        medium: lint, check, cache
        long: test, install, compile
        server: serve, task dev, task start, --watch
        long: task build, task test
    """,
    "npm": f"""
        ~ --prefix -w --workspace -C
        long: .
        quick: --version, -v, ls, list, root, prefix, bin, config *, whoami, pkg *, help
        medium: view, info, outdated, search, dedupe, version, audit
        long+install: ci, install, i, add, update, rebuild, uninstall, link, publish, pack, audit fix
        long+ci: test, t, it, tst
        server: start, test --watch, test --watchAll, test --watch=true, t --watch
        {_SCRIPTS}
    """,
    "cnpm": "= npm",
    "yarn": f"""
        ~ --cwd
        long: .
        quick: --version, -v, list, why, config *, info, bin
        long+install: install, add, up, upgrade, remove, $, dedupe
        long+ci: test
        server: start, dev, serve, watch, test --watch
        {_SCRIPTS}
    """,
    "pnpm": f"""
        ~ -C --dir --filter -F
        long: .
        quick: --version, -v, list, ls, why, config *, root, bin
        medium: outdated, audit
        long+install: install, i, add, update, up, remove, rm, rebuild, fetch, deploy, prune
        long+ci: test, t
        server: start, dev, serve, watch, test --watch
        {_SCRIPTS}
    """,
    "bun": f"""
        ~ --cwd
        default: .
        quick: --version, -v
        long+install: install, i, add, update, remove, create, link
        long+ci: test
        long: build
        server: --watch, --hot, dev, start, test --watch
        {_SCRIPTS}
    """,
    "npx": "long: .",
    "bunx": "long: .",
    "nvm": "long: .",
    "fnm": "long: .",
    "volta": "long: .",
    "corepack": "medium: .",
    "node-gyp": "long: .",
    "ncu": "medium: .",
    "npm-check-updates": "= ncu",
    "concurrently": "server: .",
    "npm-run-all": "long: .",
    "run-p": "long: .",
    "run-s": "long: .",
    # -- compilers and bundlers
    "tsc": """
        long: .
        quick: --version, -v, --init, --showConfig
        server: -w, --watch
    """,
    "vue-tsc": "= tsc",
    "tsx": """
        default: .
        server: watch, --watch
    """,
    "ts-node": "default: .",
    "ts-node-dev": "server: .",
    "swc": """
        long: .
        server: -w, --watch
    """,
    "babel": "= swc",
    "esbuild": """
        medium: .
        server: --watch, --serve, --servedir
    """,
    "tsup": "= swc",
    "rollup": "= swc",
    "microbundle": """
        long: .
        server: watch
    """,
    "webpack": """
        long: .
        server: serve, watch, -w, --watch
        extended: --mode=production
    """,
    "webpack-dev-server": "server: .",
    "rspack": "= webpack",
    "parcel": """
        server: .
        long: build
        server: watch, serve
    """,
    "vite": """
        server: .
        quick: --version
        long: build
        medium: optimize
        server: build --watch, preview, dev, serve
    """,
    "turbo": """
        long: .
        server: dev, run dev, watch, start, run start
        long: build, test, lint, run build
    """,
    "nx": """
        long: .
        server: serve, run-many --target=serve, dev, watch, run *:serve, start
        quick: --version, graph --file, show *
    """,
    "lerna": "long: .",
    "rush": "long: .",
    "gulp": """
        long: .
        server: watch, serve, dev, $
    """,
    "grunt": """
        long: .
        server: watch, serve
    """,
    # -- frameworks
    "next": """
        server: .
        long: lint, info, telemetry
        extended: build, export
        server: dev, start
    """,
    "nuxt": """
        server: .
        extended: build, generate
        medium: prepare, typecheck
        server: dev, preview, start
    """,
    "nuxi": "= nuxt",
    "remix": """
        long: .
        server: dev, watch, vite:dev
    """,
    "react-router": "= remix",
    "astro": """
        long: .
        server: dev, preview, $
        medium: check
    """,
    "gatsby": """
        extended: .
        server: develop, serve
    """,
    "ng": """
        long: .
        server: serve, s, build --watch, test --watch
        long+ci: test, t
        extended: build --prod, build --configuration=production
        quick: version
    """,
    "vue-cli-service": """
        long: .
        server: serve, build --watch
    """,
    "react-scripts": """
        long: .
        server: start
        long+ci: test
        extended: build
    """,
    "expo": """
        long: .
        server: start, run:*
    """,
    "react-native": """
        extended: .
        server: start
    """,
    "eas": "extended: .",
    "ionic": """
        long: .
        server: serve
    """,
    "svelte-kit": "long: .",
    "svelte-check": """
        medium: .
        server: --watch
    """,
    "storybook": """
        server: dev, $
        extended: build
    """,
    "start-storybook": "server: .",
    "build-storybook": "extended: .",
    "electron": "server: .",
    "electron-builder": "extended: .",
    "electron-forge": """
        extended: .
        server: start
    """,
    "tauri": """
        extended: .
        server: dev
        quick: info
    """,
    "hexo": """
        long: .
        server: server, s
    """,
    "hugo": """
        long: .
        server: server, serve, --watch, -w
        quick: version, new
    """,
    "docusaurus": """
        extended: .
        server: start, serve
    """,
    "vitepress": """
        long: .
        server: dev, preview
    """,
    "eleventy": """
        long: .
        server: --serve, --watch
    """,
    "wrangler": """
        long: .
        server: dev, tail, pages dev
        quick: --version, whoami
    """,
    "vercel": """
        long: .
        server: dev
        quick: whoami, ls
    """,
    "netlify": """
        long: .
        server: dev, watch
    """,
    "firebase": """
        long: .
        extended: deploy
        server: serve, emulators:start
    """,
    "nest": """
        long: .
        server: start, start --watch
        quick: generate, g
    """,
    "strapi": """
        long: .
        server: develop, start, dev
    """,
    "create-react-app": "extended: .",
    "create-next-app": "extended: .",
    "create-vite": "long: .",
    # -- servers and watchers
    "nodemon": "server: .",
    "pm2": """
        medium: .
        server: logs, monit, log
        server: start --no-daemon
        quick: list, ls, status
        medium: logs --nostream
    """,
    "pm2-runtime": "server: .",
    "http-server": "server: .",
    "serve": "server: .",
    "live-server": "server: .",
    "browser-sync": "server: .",
    "json-server": "server: .",
    "localtunnel": "server: .",
    "lt": "= localtunnel",
    "chokidar": "server: .",
    "onchange": "server: .",
    "tailwindcss": """
        medium: .
        server: -w, --watch
    """,
    "sass": "= tailwindcss",
    "postcss": "= tailwindcss",
    # -- tests and linters
    "jest": """
        long+ci: .
        server: --watch, --watchAll
    """,
    "vitest": """
        long+ci: .
        long+ci: run
        server: watch, dev, --watch, -w, --ui
    """,
    "mocha": """
        long: .
        server: --watch, -w
    """,
    "ava": """
        long: .
        server: --watch, -w
    """,
    "karma": """
        server: start
        long: start --single-run, run
    """,
    "playwright": """
        extended: test, install
        medium: --version
        session: codegen, open, show-report
        session: test --ui, test --debug
        extended: .
    """,
    "cypress": """
        extended: run, install
        session: open
        quick: version, verify
    """,
    "eslint": "medium: .",
    "prettier": "medium: .",
    "stylelint": "medium: .",
    "biome": "medium: .",
    "oxlint": "medium: .",
    "standard": "medium: .",
    "knip": "medium: .",
    "prisma": """
        long: .
        session: studio
        server: dev, generate --watch
        quick: format, validate, --version
        extended: migrate deploy, migrate reset, db push
    """,
    "drizzle-kit": """
        long: .
        server: studio
    """,
    "lighthouse": "long: .",
    "size-limit": "long: .",
    "changeset": "medium: .",
    "semantic-release": "long: .",
    "husky": "quick: .",
    "lint-staged": "medium: .",
}
