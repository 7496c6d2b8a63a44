"""Linux: /proc, child subreapers, pidfds, inotify and netlink. Nothing outside of this folder names them."""
