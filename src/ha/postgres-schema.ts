/**
 * What the database holds for its organisations: the newest version of each row, and of each that is gone, by the order in
 * which they were written; files; and what else all nodes of one must have.
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

/** Two nodes that begin at once would both make the tables. own choice of number */
export const SCHEMA_LOCK = 7_212_015;
/** First half of the lock that every node of an organisation holds, so that one sees who is there. own choice of number */
export const NODE_LOCK_CLASS = 7_212_017;
/** First half of the lock that the node holds which acts for an organisation. own choice of number */
export const LEADER_LOCK_CLASS = 7_212_016;
