SELECT name FROM pg_settings WHERE pending_restart ORDER BY name
-- Asked after pg_file_settings: reading that view marks in this session what a
-- reload would find waiting for a restart, and does not mark values that are
-- wrong. Both have the same error in the view.
