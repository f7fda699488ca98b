import { CallerError } from "../lib/errors.ts";

/** Throws CallerError if `url` is no PostgreSQL URL, or if the one of the command line (`given`) contains a password. */
export function requireDatabaseUrl(url: string, given: string | undefined): void {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    const name = given === undefined ? "CARILLON_DATABASE" : "--database";
    throw new CallerError("invalid-value", `${name} must be postgres://USER@HOST:PORT/DATABASE.`);
  }
  // Command lines are visible to every user of the machine.
  if (given !== undefined && (new URL(given).password !== "" || new URL(given).searchParams.has("password")))
    throw new CallerError(
      "invalid-value",
      "--database must not contain a password: set PGPASSWORD, or the whole URL in CARILLON_DATABASE.",
    );
}
