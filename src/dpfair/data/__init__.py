"""Tables and the public facts about them: schema, containers, encoded records."""
