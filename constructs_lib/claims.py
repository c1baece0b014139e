"""What only one construct may do to another: the first one's path is noted there, and the second one finds it."""

from __future__ import annotations

from constructs import Node


def claim(node: Node, deed: str, where: str) -> str | None:
    """Note that the construct at path ``where`` does ``deed`` to the node, and return None.

    If another one does already, nothing is noted, and its path is returned.
    """
    name = f"cdk-accelerated-fleet:{deed}"
    for entry in node.metadata:
        if entry.type == name:
            return str(entry.data)
    node.add_metadata(name, where)
    return None
