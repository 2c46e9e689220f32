// placeholder until the room is merged
