import type { Command } from "commander";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import { formatTable } from "../lib/text-table.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";

interface Emergency {
  kind: string;
  name: string;
  state: "ready" | "untested" | "reduced" | "unreachable";
  problems: string[];
  speakers: number;
  phones: number;
  others: number;
  people: number;
  testedAt: string | null;
}

/** `carillon emergencies`: whom each emergency would reach now; those that are not ready come last, where they are seen. */
export function addEmergencies(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(program.command("emergencies"), terminal)
    .description("List everything that sends in an emergency and whom it would reach now.")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon emergencies\n\n" +
        "Exit code 1 when an emergency would reach no device and no person. Those that are not ready come last, with the reason.",
    )
    .action(async (options: ApplianceOptions & { json?: true }) => {
      const { emergencies } = await apiClientFrom(options, terminal).get<{ emergencies: Emergency[] }>("/emergencies");
      if (options.json) terminal.out(JSON.stringify(emergencies));
      else if (emergencies.length === 0)
        terminal.out("There are no emergencies yet. Mark a template as critical or a scenario as an emergency.");
      else for (const line of tableOf(emergencies)) terminal.out(line);
      finish(emergencies.some(({ state }) => state === "unreachable") ? EXIT.failure : EXIT.ok);
    });
}

function tableOf(emergencies: readonly Emergency[]): string[] {
  const worstLast = emergencies.toReversed();
  const rows = worstLast.map(({ name, kind, state, speakers, phones, others, people, testedAt }) => [
    ...[name, kind, state],
    ...[speakers, phones, others, people].map(String),
    testedAt?.slice(0, 10) ?? "never",
  ]);
  const problems = worstLast.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`));
  return [
    ...formatTable([["Emergency", "Kind", "State", "Speakers", "Phones", "Others", "People", "Tested"], ...rows]),
    ...(problems.length > 0 ? ["", ...problems] : []),
  ];
}
