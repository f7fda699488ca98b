import { expect, it } from "vitest";
import type { JsonSchema } from "../../../../src/console/web/api/client.ts";
import { settingBody, settingFields } from "../../../../src/console/web/features/notifications/profile-settings.ts";

const words: Record<string, string> = { "setting.volume": "Lautstärke", "setting-value.Low": "Leise" };
const name = (family: string, value: string): string => words[`${family}.${value}`] ?? value;

it("shows translated texts for known channels, and the plugin's hints for others", () => {
  const schema = {
    properties: {
      volume: { type: "string", enum: ["Low", "Max"], description: "Volume of the devices." },
      colour: { type: "string", description: "Colour of the lamp." },
    },
  } as JsonSchema;
  expect(settingFields(schema, { name })).toEqual([
    {
      name: "volume",
      kind: "choice",
      label: "Lautstärke",
      choices: [
        { value: "Low", label: "Leise" },
        { value: "Max", label: "Max" },
      ],
    },
    { name: "colour", kind: "text", label: "colour", hint: "Colour of the lamp." },
  ]);
  expect(settingFields(undefined, { name })).toEqual([]);
});

it("merges changed settings into the profile and removes emptied ones", () => {
  const before = { volume: "Low", repetitions: 3 };
  expect(settingBody({ volume: "Max" }, before)).toEqual({ value: { volume: "Max", repetitions: 3 } });
  expect(settingBody({ volume: null }, before)).toEqual({ value: { repetitions: 3 } });
  expect(settingBody({ disabled: true }, before)).toEqual({ disabled: true });
});
