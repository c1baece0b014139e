"""Jobs on a queue, worked on by a GPU fleet that rests at zero."""
