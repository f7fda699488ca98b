import { CallerError } from "../lib/errors.ts";

/** Throws CallerError for what names no database, or, on a command line (`given`), says more than everybody may read. */
export function requireDatabaseUrl(url: string, given: string | undefined): void {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    const name = given === undefined ? "CARILLON_DATABASE" : "--database";
    throw new CallerError("invalid-value", `${name} is postgres://USER@HOST:PORT/DATABASE.`);
  }
  // Everybody on the machine reads command lines.
  if (given !== undefined && (new URL(given).password !== "" || new URL(given).searchParams.has("password")))
    throw new CallerError(
      "invalid-value",
      "--database holds a password: give it in PGPASSWORD, or all of it in CARILLON_DATABASE.",
    );
}
