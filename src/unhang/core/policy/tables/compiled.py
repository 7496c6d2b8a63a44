"""Rust, Go, the JVM, .NET, C, C++, Swift and the other compiled languages."""

from __future__ import annotations

COMPILED: dict[str, str] = {
    # -- Rust
    "cargo": """
        ~ --manifest-path --color --config -Z -C
        long: .
        quick: --version, -V, --list, search, tree, metadata, locate-project, pkgid, version, new, init
        quick: add, remove
        medium: fmt, clean, update, fetch
        extended: build --release, b --release, test --release, run --release, install, bench, build -r
        extended: publish, miri
        extended: llvm-cov, tarpaulin, mutants, fuzz
        server: watch, leptos watch, leptos serve, tauri dev, shuttle run
        extended: tauri build
    """,
    "rustc": "long: .",
    "rustup": """
        long: .
        quick: show, --version, which
    """,
    "rustfmt": "medium: .",
    "wasm-pack": "extended: .",
    "trunk": """
        long: .
        server: serve, watch
    """,
    "bacon": "server: .",
    "maturin": """
        long: .
        extended: build --release, publish
    """,
    # -- Go
    "go": """
        ~ -C
        long: .
        quick: version, env, fmt, list, doc, help
        medium: vet, mod tidy, mod download, generate
        default: run
        extended: test -race, test -bench
    """,
    "gofmt": "quick: .",
    "goimports": "medium: .",
    "golangci-lint": "long: .",
    "staticcheck": "long: .",
    "gotestsum": """
        long: .
        server: --watch
    """,
    "ginkgo": """
        long: .
        server: watch
    """,
    "goreleaser": "extended: .",
    "air": "server: .",
    "dlv": "default: .",
    # -- JVM
    "java": """
        default: .
        quick: -version, --version
    """,
    "javac": "long: .",
    "kotlinc": "long: .",
    "kotlin": "default: .",
    "scala": "default: .",
    "mvn": """
        ~ -f --file -pl --projects -P -s -T -rf
        long: .
        quick: -v, --version
        extended: +install, +package, +verify, +deploy, +site
        server: +spring-boot:run, +jetty:run, +quarkus:dev, +tomcat7:run, +liberty:dev
    """,
    "mvnw": "= mvn",
    "mvnd": "= mvn",
    "gradle": """
        ~ -p --project-dir -b --build-file -c -I --console -x --exclude-task
        long: .
        quick: --version, -v, tasks, projects, properties
        extended: +build, +assemble, +*:build, +assemblerelease, +bundlerelease, +publish, +connectedcheck
        server: +bootrun, +bootRun, +*:bootRun, +run --continuous, --continuous, -t, +quarkusDev
        medium: --stop
    """,
    "gradlew": "= gradle",
    "sbt": """
        long: .
        session: $
        server: +~*
    """,
    "ant": "long: .",
    "lein": """
        long: .
        session: repl
        server: figwheel, ring *
    """,
    "clj": "default: .",
    "clojure": "= clj",
    "bazel": """
        extended: .
        quick: version, info, query, help
        default: run
    """,
    "bazelisk": "= bazel",
    "buck2": "= bazel",
    "pants": "= bazel",
    "ktlint": "medium: .",
    "detekt": "long: .",
    # -- .NET
    "dotnet": """
        long: .
        quick: --version, --info, --list-sdks, --list-runtimes, new, sln *, list *
        extended: publish, workload *
        default: run
        server: watch
        medium: format, ef *
    """,
    "msbuild": "extended: .",
    "nuget": "long: .",
    "pwsh": "default: .",
    "powershell": "= pwsh",
    "start-sleep": "default: .",
    # -- C, C++ and other compiled languages
    "make": """
        ~ -C -f -I -o -W
        long: .
        quick: -n, --dry-run, --version, help
        medium: clean, lint, fmt, format
        extended: install, release, all, world, deb-pkg, bzImage, modules
        server: dev, serve, run-dev, watch, start-dev, runserver
    """,
    "gmake": "= make",
    "bmake": "= make",
    "cmake": """
        ~ -S -B -G -D
        medium: .
        extended: --build, --install
        quick: --version
    """,
    "ninja": "extended: .",
    "meson": """
        medium: .
        extended: compile, install, test
    """,
    "ctest": "long: .",
    "configure": "long: .",
    "autoreconf": "medium: .",
    "gcc": "long: .",
    "cc": "= gcc",
    "g++": "= gcc",
    "c++": "= gcc",
    "clang": "= gcc",
    "clang++": "= gcc",
    "nvcc": "= gcc",
    "emcc": "= gcc",
    "gfortran": "= gcc",
    "ld": "medium: .",
    "clang-format": "medium: .",
    "clang-tidy": "long: .",
    "cppcheck": "long: .",
    "ccache": "quick: .",
    "conan": "extended: .",
    "vcpkg": "extended: .",
    "scons": "extended: .",
    "xmake": "extended: .",
    "valgrind": "extended: .",
    "gdb": "default: .",
    "swift": """
        long: .
        extended: build, test
        quick: --version
    """,
    "xcodebuild": "extended: .",
    "xcrun": "long: .",
    "pod": "long: .",
    "fastlane": "extended: .",
    "zig": """
        long: .
        quick: version, env, fmt
        extended: build
    """,
    "nim": "long: .",
    "ghc": "long: .",
    "stack": "extended: .",
    "cabal": "extended: .",
    "opam": "extended: .",
    "dune": """
        long: .
        server: -w, --watch
    """,
    "elixir": "default: .",
    "iex": "session: .",
    "mix": """
        long: .
        server: phx.server, run --no-halt
        medium: format, help
        extended: release, dialyzer
    """,
    "rebar3": "long: .",
    "erl": "session: .",
    "julia": "default: .",
    "rscript": "default: .",
    "r": "long: .",
    "perl": "default: .",
    "lua": "default: .",
    "flutter": """
        long: .
        quick: --version, devices
        extended: build, drive
        server: run
    """,
    "dart": """
        long: .
        default: run
        medium: format, analyze
    """,
}
