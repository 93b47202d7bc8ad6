"""The bus to child processes of this machine: all cores, and a page that kills its reader costs one page.

Each child has a socket for batches of leases and outcomes, and a few bytes of shared memory in which it says that it
lives and what it reads. A child that dies, hangs or eats memory is replaced: the page that it was reading is to blame,
its other leases come back without blame.

`bus` is the dispatcher's end, `inside` the child's: neither loads the other.
"""
