/**
 * Schema of the organisations' database: the newest version of each row and tombstone with its sequence number; files; cluster
 * settings (`carillon_agreed`); host names.
 */
export const SCHEMA_SQL = `
CREATE TABLE IF NOT EXISTS carillon_organisations (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, seq bigint NOT NULL DEFAULT 0,
  floor bigint NOT NULL DEFAULT 0, term bigint NOT NULL DEFAULT 0, holder text, version text, last_write text,
  history text NOT NULL DEFAULT gen_random_uuid())
  WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS carillon_rows (
  organisation integer NOT NULL REFERENCES carillon_organisations(id) ON DELETE CASCADE, tab text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL, seq bigint NOT NULL, image text, PRIMARY KEY (organisation, tab, key));
CREATE UNIQUE INDEX IF NOT EXISTS carillon_rows_seq ON carillon_rows (organisation, seq);
CREATE INDEX IF NOT EXISTS carillon_rows_gone ON carillon_rows (organisation, seq) WHERE image IS NULL;
CREATE TABLE IF NOT EXISTS carillon_files (
  organisation integer NOT NULL REFERENCES carillon_organisations(id) ON DELETE CASCADE, sha256 text NOT NULL,
  part integer NOT NULL, parts integer NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (organisation, sha256, part));
CREATE TABLE IF NOT EXISTS carillon_agreed (
  organisation integer NOT NULL REFERENCES carillon_organisations(id) ON DELETE CASCADE, name text NOT NULL,
  value text NOT NULL, PRIMARY KEY (organisation, name));
CREATE TABLE IF NOT EXISTS carillon_hosts (
  host text PRIMARY KEY, organisation integer NOT NULL UNIQUE REFERENCES carillon_organisations(id) ON DELETE CASCADE);`;

/** Advisory lock that serializes schema creation. @source docs/decisions/0304-postgres-high-availability.md */
export const SCHEMA_LOCK = 7_212_015;
/** Class of the shared lock that every node of an organisation holds, which makes nodes visible. @source docs/decisions/0304-postgres-high-availability.md */
export const NODE_LOCK_CLASS = 7_212_017;
/** Class of the lock that the leader of an organisation holds. @source docs/decisions/0304-postgres-high-availability.md */
export const LEADER_LOCK_CLASS = 7_212_016;
