import { beforeAll, describe, expect, it } from "vitest";
import { describeServedApi } from "../../src/http/served-actions.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  format?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  [composition: string]: unknown;
}

/** Members that the server writes for people: why something is as it is. */
const SHOWN =
  /^(doc|fault|messages?|missing|notes?|problems?|reasons?|result|violations?|waitsFor|warnings?|words)$|(Reasons?|Fault|Result)$/;

/** Members of these names whose texts people, devices or programs wrote, or which the console names by a code beside them. */
const OTHERS: Readonly<Record<string, string>> = {
  "AlarmEvent.event.reasons": "the same as `reasons`",
  "AlarmMute.note": "entered by people",
  "AlarmMute.reason": "entered by people",
  "Deletion.message": "the same text for every row, which clients compare",
  "Endpoint.redReasons": "in `reasonSentences`",
  "Endpoint.yellowReasons": "in `reasonSentences`",
  "get /v1/alarms/{alarmId}/mute-preview.events.reasons": "compared with the text that people enter",
  "get /v1/extensions/{extensionId}/log.data.message": "lines of a log",
  "get /v1/incidents/{incidentId}/report.messages.deliveries.reason": "a file; the page of the report is translated",
};

type Resolve = (ref: string) => Schema;

/** Texts of a response that the server writes for people, without code and parameters beside them. */
function untranslatable(
  schema: Schema,
  path: string,
  resolve: Resolve,
  seen: ReadonlySet<string> = new Set(),
): string[] {
  if (schema.$ref !== undefined) {
    if (seen.has(schema.$ref)) return [];
    const name = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
    return untranslatable(resolve(schema.$ref), name, resolve, new Set([...seen, schema.$ref]));
  }
  const inner = ["anyOf", "allOf", "oneOf"].flatMap((key) => (schema[key] as Schema[] | undefined) ?? []);
  const members = Object.entries(schema.properties ?? {});
  return [
    ...[...inner, ...(schema.items ? [schema.items] : [])].flatMap((each) => untranslatable(each, path, resolve, seen)),
    ...members.flatMap(([name, member]) => [
      ...(SHOWN.test(name) && isText(member) && !hasSentence(name, schema) ? [`${path}.${name}`] : []),
      ...untranslatable(member, `${path}.${name}`, resolve, seen),
    ]),
  ];
}

function isText({ type, enum: values, format, items, anyOf }: Schema): boolean {
  if (values || format) return false;
  const types = [type, ...((anyOf as Schema[] | undefined) ?? []).map((each) => each.type)].flat();
  return types.includes("string") || (types.includes("array") && items !== undefined && isText(items));
}

function hasSentence(name: string, { properties = {} }: Schema): boolean {
  return `${name}Sentence` in properties || `${name.replace(/s$/, "")}Sentences` in properties;
}

describe("texts that the server writes for people", () => {
  const found = new Set<string>();

  beforeAll(async () => {
    const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
    const document = JSON.parse(JSON.stringify(describeServedApi(catalogue))) as {
      paths: Record<
        string,
        Record<string, { responses: Record<string, { content?: Record<string, { schema: Schema }> }> }>
      >;
    };
    const resolve: Resolve = (ref) =>
      ref
        .slice(2)
        .split("/")
        .reduce((at, key) => (at as unknown as Record<string, Schema>)[key] as Schema, document as unknown as Schema);
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const [method, { responses }] of Object.entries(operations)) {
        const schemas = Object.entries(responses).flatMap(([status, { content = {} }]) =>
          status.startsWith("2") ? Object.values(content).map(({ schema }) => schema) : [],
        );
        for (const schema of schemas)
          for (const each of untranslatable(schema ?? {}, `${method} ${path}`, resolve)) found.add(each);
      }
    }
  }, 60_000);

  it("have code and parameters beside them", () => {
    expect(
      [...found].filter((each) => !(each.replace("/onprem/v1/admin/telephony/", "/v1/callmgr-clusters/") in OTHERS)),
    ).toEqual([]);
  });

  it("are all still there where they are excepted", () => {
    expect(Object.keys(OTHERS).filter((each) => !found.has(each))).toEqual([]);
  });

  it("would be found without them", () => {
    const text: Schema = { type: "string" };
    const schema: Schema = {
      properties: {
        reason: text,
        waits: { type: "array", items: { properties: { reason: text, reasonSentence: {} } } },
      },
      anyOf: [{ properties: { violations: { type: "array", items: text }, problems: text, problemSentences: {} } }],
    };
    expect(untranslatable(schema, "x", () => ({}))).toEqual(["x.violations", "x.reason"]);
  });
});
