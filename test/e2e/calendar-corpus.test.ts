import { expect, it } from "vitest";
import { mutatedFiles, runCorpus } from "../faults/calendars.ts";
import { writtenInputs } from "../fixtures/calendar-inputs.ts";

it("reads written calendars, tables and rosters as each must be read, and no damaged one stops the daemon", {
  timeout: 240_000,
}, async () => {
  const inputs = writtenInputs().filter(({ kind }, at) => kind !== "calendar" || at % 5 === 0);
  const files = [...inputs, ...mutatedFiles(inputs, 200, 20_260)];
  const { verdicts, hangs, serverErrors, alive } = await runCorpus(files, () => undefined);
  expect({ hangs, serverErrors, alive, files: verdicts.length }).toEqual({
    ...{ hangs: 0, serverErrors: 0, alive: true, files: files.length },
  });
  const expected = inputs.map(({ name, verdict }) => `${name}: ${verdict}`);
  expect(verdicts.slice(0, inputs.length).map(({ name, verdict }) => `${name}: ${verdict}`)).toEqual(expected);
});
