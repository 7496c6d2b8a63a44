"""Shell builtins, files and text, searching, network, processes and packages of the system."""

from __future__ import annotations

_QUICK = (
    ": [ [[ test true false cd pwd pushd popd dirs echo printf read export unset set shopt alias unalias type"
    " hash umask ulimit local declare typeset readonly let shift return exit break continue trap getopts history"
    " jobs disown bg fg builtin which whereis whatis apropos man info tldr help ls dir vdir exa eza lsd tree cat"
    " bat batcat tac head nl wc cut paste tr uniq comm join fold fmt column expand unexpand rev seq yes tee"
    " touch mkdir rmdir ln readlink realpath basename dirname stat file mktemp chmod chown chgrp chattr lsattr"
    " getfacl setfacl install truncate sed awk gawk mawk jq yq xq gron dasel mlr csvcut csvlook base64 base32"
    " xxd od hexdump strings iconv dos2unix diff sdiff cmp colordiff patch date cal whoami id groups hostname"
    " uname uptime arch nproc free df lscpu lsblk lsusb lspci lsmod lsof locale tty stty clear reset tput ps"
    " pgrep pidof pstree kill pkill killall renice getent printenv numfmt bc dc expr factor crontab at atq"
    " tmutil loginctl hostnamectl timedatectl localectl dmesg last lastlog w who finger mount umount findmnt"
    " swapon sysctl ip ifconfig route arp ss netstat host dig nslookup getcap setcap less more most pbcopy"
    " pbpaste xclip xsel wl-copy open xdg-open env command eval exec write-host get-childitem get-content"
    " test-path select-string set-location get-location"
)
# These read or write whatever they are given, which may be large.
_MEDIUM = "cp rm sort md5sum sha1sum sha256sum sha512sum cksum sum b2sum mv openssl shuf"

SYSTEM: dict[str, str] = {
    **dict.fromkeys(_QUICK.split(), "quick: ."),
    **dict.fromkeys(_MEDIUM.split(), "medium: ."),
    "time": "quick: .",
    # a script may do anything; those that only set variables are known by their names
    "source": """
        default: .
        quick: *activate, *.env, *.bashrc, *.profile, *nvm.sh, *env.sh, *environment
    """,
    ".": "= source",
    "dd": "long: .",
    "shred": "long: .",
    "sleep": "default: .",
    "wait": "default: .",
    # following a file never ends; the rest of `tail` does at once
    "tail": """
        quick: .
        server: -f, -F, --follow, --retry
    """,
    "journalctl": """
        medium: .
        server: -f, --follow
    """,
    "watch": "server: .",
    "entr": "server: .",
    "watchexec": "server: .",
    "fswatch": """
        server: .
        default: -1, --one-event
    """,
    "inotifywait": """
        default: .
        server: -m, --monitor
    """,
    # -- searching reads whole trees
    "grep": "medium: .",
    "egrep": "= grep",
    "fgrep": "= grep",
    "zgrep": "= grep",
    "rg": "medium: .",
    "ag": "medium: .",
    "ack": "medium: .",
    "ugrep": "medium: .",
    "find": "medium: .",
    "fd": "medium: .",
    "fdfind": "= fd",
    "locate": "medium: .",
    "updatedb": "long: .",
    "du": "medium: .",
    "ncdu": "session: .",
    "cloc": "medium: .",
    "tokei": "medium: .",
    "scc": "medium: .",
    "ast-grep": "medium: .",
    "sg": "= ast-grep",
    "ctags": "medium: .",
    # -- archives
    "tar": "long: .",
    "gzip": "long: .",
    "gunzip": "= gzip",
    "bzip2": "= gzip",
    "xz": "= gzip",
    "unxz": "= gzip",
    "zstd": "= gzip",
    "pigz": "= gzip",
    "zcat": "medium: .",
    "xzcat": "= zcat",
    "zip": "long: .",
    "unzip": "= zip",
    "7z": "= zip",
    "unrar": "= zip",
    "cpio": "= zip",
    "ar": "medium: .",
    # -- network
    "curl": """
        ~ -o --output -H --header -d --data -X --request -u --user -m --max-time -A -b -c -F -T -x -w
        medium: .
        long: -o, -O, --output, --remote-name
    """,
    "wget": "long: .",
    "http": "medium: .",
    "https": "= http",
    "xh": "= http",
    "httpie": "= http",
    "aria2c": "long: .",
    "yt-dlp": "extended: .",
    "rsync": "extended: .",
    "scp": "extended: .",
    "sftp": "extended: .",
    "rclone": """
        extended: .
        server: mount, serve *
    """,
    "ssh": """
        ~ -i -p -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w
        default: .
        server: -N
    """,
    "ssh-keygen": "quick: .",
    "ssh-add": "quick: .",
    "ssh-copy-id": "medium: .",
    "sshfs": "medium: .",
    "autossh": "server: .",
    "ping": """
        ~ -c -W -w -i -s -I
        server: .
        medium: -c, -w
    """,
    "ping6": "= ping",
    "mtr": """
        session: .
        medium: -r, --report
    """,
    "traceroute": "medium: .",
    "tracepath": "= traceroute",
    "nmap": "long: .",
    "masscan": "extended: .",
    "whois": "medium: .",
    "telnet": "medium: .",
    "nc": """
        ~ -p -w -s
        default: .
        medium: -z
        server: -l, -lk, -k
    """,
    "ncat": "= nc",
    "netcat": "= nc",
    "socat": "server: .",
    "tcpdump": """
        ~ -c -i -w -r -s
        server: .
        medium: -c, -r
    """,
    "tshark": """
        ~ -c -i -w -r -a
        server: .
        medium: -c, -r, -a
    """,
    "ngrok": """
        server: .
        quick: version, config *
    """,
    "cloudflared": """
        server: .
        quick: version
        medium: tunnel list, tunnel create
    """,
    "iperf3": """
        medium: .
        server: -s, --server
    """,
    # -- programs for a person at a terminal
    "vi": "session: .",
    "vim": """
        session: .
        medium: -es, -c
    """,
    "nvim": """
        session: .
        medium: --headless
    """,
    "nano": "session: .",
    "visudo": """
        session: .
        quick: -c, -cf, --check, -V
    """,
    "vipw": "session: .",
    "vigr": "session: .",
    "sudoedit": "session: .",
    "pico": "session: .",
    "emacs": """
        session: .
        medium: --batch, -batch
    """,
    "joe": "session: .",
    "hx": "session: .",
    "micro": "session: .",
    "top": """
        session: .
        quick: -b -n, -b
    """,
    "htop": "session: .",
    "btop": "session: .",
    "atop": "session: .",
    "glances": "session: .",
    "iotop": """
        session: .
        medium: -b
    """,
    "nvtop": "session: .",
    "lazygit": "session: .",
    "lazydocker": "session: .",
    "k9s": "session: .",
    "tig": "session: .",
    "mc": "session: .",
    "ranger": "session: .",
    "fzf": """
        session: .
        quick: -f, --filter
    """,
    "tmux": """
        quick: .
        session: $, attach, a, attach-session
    """,
    "screen": """
        session: .
        quick: -ls, -dm, -dmS
    """,
    "vmstat": "quick: .",
    "iostat": "quick: .",
    "sar": "quick: .",
    "perf": """
        medium: .
        session: top
    """,
    # -- services
    "systemctl": """
        medium: .
        quick: status, is-active, is-enabled, list-units, show, cat
    """,
    "service": "medium: .",
    "launchctl": "medium: .",
    "supervisorctl": """
        medium: .
        server: tail -f
    """,
    # -- packages of the system
    "apt": """
        ~ -o -t -c
        long: .
        quick: list, show, search, policy
        extended: upgrade, full-upgrade, dist-upgrade
    """,
    "apt-get": "= apt",
    "aptitude": "= apt",
    "apt-cache": "quick: .",
    "apt-key": "medium: .",
    "add-apt-repository": "medium: .",
    "dpkg": """
        long: .
        quick: -l, -L, -s, -S, --list, --print-architecture, --get-selections
    """,
    "dpkg-reconfigure": "long: .",
    "yum": """
        long: .
        extended: update, upgrade, groupinstall
        medium: list, search, info
    """,
    "dnf": "= yum",
    "microdnf": "= yum",
    "zypper": "= yum",
    "rpm": "medium: .",
    "apk": "long: .",
    "pacman": "long: .",
    "yay": "extended: .",
    "paru": "extended: .",
    "emerge": "extended: .",
    "brew": """
        long: .
        quick: list, --version, --prefix, config
        medium: search, info, outdated, doctor
        extended: upgrade
    """,
    "port": "extended: .",
    "snap": "long: .",
    "flatpak": "long: .",
    "nix": """
        extended: .
        quick: eval, flake show, --version
        session: repl
    """,
    "nix-build": "extended: .",
    "nix-env": "extended: .",
    "nix-shell": "extended: .",
    "nixos-rebuild": "extended: .",
    "guix": "extended: .",
    "winget": "long: .",
    "choco": "long: .",
    "scoop": "long: .",
    # -- media
    "ffmpeg": "extended: .",
    "ffprobe": "medium: .",
    "convert": "medium: .",
    "magick": "medium: .",
    "pandoc": "medium: .",
    "pdflatex": "long: .",
    "xelatex": "= pdflatex",
    "lualatex": "= pdflatex",
    "latexmk": """
        long: .
        server: -pvc
    """,
    "typst": """
        medium: .
        server: watch
    """,
    "tesseract": "long: .",
    "exiftool": "medium: .",
}
