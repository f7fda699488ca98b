import { existsSync, readFileSync } from "node:fs";
import { BugError } from "./errors.ts";

/** The version of this installation, from the package.json above the running code (sources or dist). */
export function productVersion(): string {
  for (let folder = new URL("./", import.meta.url); ; folder = new URL("../", folder)) {
    const file = new URL("package.json", folder);
    if (existsSync(file)) return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
    if (folder.pathname === "/") throw new BugError("No package.json found above the program.");
  }
}
