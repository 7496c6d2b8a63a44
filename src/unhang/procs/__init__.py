"""The operating system: processes, their trees, clocks, wake-ups and descriptors.

Everything else in unhang asks these modules and never the system itself:

    spawn.py           start a job
    tree.py            own, survey and signal a tree of processes
    identity.py        find a process, and prove that it is still the same one
    process_handle.py  wait for one process, signal it, and never hit another that got its number
    helper_process.py  a small process beside this one that acts when this one dies
    markers.py         find what a job left behind when its keeper and its guard are gone
    vantage.py         which processes can be judged from here
    command_line.py    a command line for people, without its secrets
    descriptors.py     open descriptors, of this process and of others
    file_watch.py      be told when files and folders change
    wakeup.py          wait for files and processes together
    clock.py           the time
    sampler/           look at a tree: cheap counters, and everything that explains a silence
    stacks.py          stacks of processes, by tools that may touch them

`base.py` holds the types. What differs between systems has one folder each with the same file names, `linux/` and
`posix/` (what every Unix can do); the modules above choose one of them by `sys.platform`. To support another system,
add a folder, fill in what `tests/procs/test_systems.py` lists, and name it in those modules.
"""
