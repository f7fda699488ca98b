import type { Command } from "commander";
import type { Terminal } from "../../lib/terminal.ts";
import { addCalendars } from "./calendars.ts";
import { addCertify } from "./certify.ts";
import { addPreview } from "./preview.ts";
import { addToday } from "./today.ts";

/** `carillon bells`: shows when bells ring and verifies that they do. */
export function addBells(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const bells = program
    .command("bells")
    .description("Show what rings and what has rung; verify that bells ring (simulation).")
    .addHelpText("after", "\nExample:\n  carillon bells today");
  addToday(bells, terminal, finish);
  addCertify(bells, terminal, finish);
  addPreview(bells, terminal, finish);
  addCalendars(bells, terminal);
}
