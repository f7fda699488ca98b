/** Exit codes of all commands; `carillon --help` lists them. @source sysexits.h for 74 and 75 */
export const EXIT = {
  /** Success. */
  ok: 0,
  /** Failure; the reason is on stderr. */
  failure: 1,
  /** Wrong command line. */
  usage: 2,
  /** The data directory is missing, not set up, already set up, or in use. */
  dataDirectory: 3,
  /** The settings file is invalid or can't be read. */
  settings: 4,
  /** The disk failed while writing; the outcome of the last writes is unknown. Restarting is safe. */
  disk: 74,
  /** A restart was requested and systemd is to do it. */
  restart: 75,
} as const;

/** The exit codes as text, for `--help`. */
export const EXIT_HELP = `Exit codes:
  ${EXIT.ok}   success
  ${EXIT.failure}   failed, the reason is on stderr
  ${EXIT.usage}   wrong command line
  ${EXIT.dataDirectory}   data directory missing, not set up, already set up, or in use
  ${EXIT.settings}   settings file invalid or unreadable
  ${EXIT.disk}  disk write failed; restart the daemon
  ${EXIT.restart}  restart requested: systemd starts the daemon again`;
