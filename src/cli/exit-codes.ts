/** How a command ends; the list is part of `carillon --help`. @source sysexits.h for 74 and 75 */
export const EXIT = {
  /** Done as asked. */
  ok: 0,
  /** It failed; stderr says why. */
  failure: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The data directory is missing, not set up, already set up, or in use. */
  dataDirectory: 3,
  /** The settings file is wrong or can't be read. */
  settings: 4,
  /** The disk failed while writing; the outcome of the last writes is unknown. A restart is safe. */
  disk: 74,
  /** A restart was ordered, and systemd is to carry it out. */
  restart: 75,
} as const;

/** The exit codes in words, for `--help`. */
export const EXIT_HELP = `Exit codes:
  ${EXIT.ok}   done
  ${EXIT.failure}   failed, the reason is on stderr
  ${EXIT.usage}   wrong command line
  ${EXIT.dataDirectory}   data directory missing, not set up, already set up, or in use
  ${EXIT.settings}   settings file wrong or unreadable
  ${EXIT.disk}  the disk failed while writing; restart the daemon
  ${EXIT.restart}  a restart was ordered: systemd starts the daemon again`;
