import type { Command } from "commander";
import type { Terminal } from "../../lib/terminal.ts";
import { addCalendars } from "./calendars.ts";
import { addCertify } from "./certify.ts";
import { addPreview } from "./preview.ts";

/** `carillon bells`: shows when bells ring and verifies that they do. */
export function addBells(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const bells = program
    .command("bells")
    .description("Verify that bells ring (simulation); show when they ring.")
    .addHelpText("after", "\nExample:\n  carillon bells preview --day 2026-09-01");
  addCertify(bells, terminal, finish);
  addPreview(bells, terminal, finish);
  addCalendars(bells, terminal);
}
