"""One command of `unhang` a file, each with `SUMMARY`, `configure(parser)` and `main(args)`."""
