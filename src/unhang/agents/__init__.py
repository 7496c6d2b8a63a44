"""Pure adapters: what an agent says in its own protocol → what it means for whoever watches it.

They know no clock, file, process or socket: lines and the time go in, facts and events come out. So every one of them
can be checked by replaying recordings, without the agent.
"""
