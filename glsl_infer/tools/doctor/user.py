"""The user of a machine and the groups of the session."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class User:
    """A user of the machine.

    Attributes:
        name: the login name.
        groups: names of the running session's groups; a new membership needs a new login.
        is_root: whether the user can open all files.
    """

    name: str
    groups: frozenset[str]
    is_root: bool = False

    @classmethod
    def current(cls) -> User:
        """Return the user of this process; without groups on systems that have none."""
        try:
            import grp
            import pwd
        except ImportError:  # Windows
            return cls(os.environ.get("USERNAME", ""), frozenset(), True)
        groups, uid = set(), os.geteuid()
        for group_id in {*os.getgroups(), os.getegid()}:
            try:
                groups.add(grp.getgrgid(group_id).gr_name)
            except KeyError:  # a group of the host of a container
                groups.add(str(group_id))
        try:
            name = pwd.getpwuid(uid).pw_name
        except KeyError:
            name = str(uid)
        return cls(name, frozenset(groups), uid == 0)
