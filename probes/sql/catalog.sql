SELECT (sum(pg_total_relation_size(c)) / 1024)::float8
FROM unnest(ARRAY['pg_catalog.pg_class', 'pg_catalog.pg_attribute', 'pg_catalog.pg_type',
                  'pg_catalog.pg_depend', 'pg_catalog.pg_statistic']::regclass[]) c
-- Asks the file system for about 60 files, 0.2 ms.
