import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SourceContent, SourceContext, SourceList, SourcePerson } from "./load-source.ts";
import { foldName, readRecordTable } from "./record-reader.ts";
import type { SourceDefinition } from "./source-messages.ts";

/** Longest file name in messages. */
const MAX_NAME_LENGTH = 100;

/** Reads a table with one line per person. Throws CallerError for a table that cannot be read. */
export async function readTableSource(
  definition: SourceDefinition,
  path: string,
  context: SourceContext,
): Promise<SourceContent> {
  const { mapping } = definition;
  const file = basename(definition.path ?? definition.fileName ?? "").slice(0, MAX_NAME_LENGTH) || "table";
  const email = mapping?.email ?? "email";
  const columns = {
    ...{ key: mapping?.key ?? email, name: mapping?.name ?? "name", email, lists: mapping?.lists ?? "lists" },
    ...{ sms: mapping?.sms ?? "sms", phone: mapping?.phone ?? "phone" },
  };
  // A misspelled column name in the mapping would empty every address or list.
  const named = [mapping?.email, mapping?.lists, mapping?.sms, mapping?.phone].filter(
    (name) => typeof name === "string",
  );
  const table = await readRecordTable(async () => createReadStream(path), {
    file,
    format: { delimiter: definition.delimiter, encoding: definition.encoding, quote: definition.quote },
    fallback: /\.csv$/i.test(file) ? "comma" : "tab",
    required: [...new Set([columns.key, columns.name, ...named])],
    clock: context.clock,
  });
  const read = { ...table.format, file, mode: "bulk" as const, columns: table.head, lines: 0 };
  context.fileRead(read);
  const known = new Set(Object.values(columns).map(foldName));
  for (const name of table.head.filter((each) => each !== "" && !known.has(foldName(each)))) {
    const message = sentence("upload.column-column-is-ignored-it-is-not-in-the-mapping", { column: name });
    context.warn({ file, line: table.headLine, column: name, message });
  }
  const people = new Map<string, SourcePerson>();
  const lists = new Map<string, SourceList>();
  const keptPeople = new Set<string>();
  for await (const { line, cell, fault, width, headWidth } of table.records) {
    context.signal.throwIfAborted();
    const reported = context.lineRead();
    if (reported !== null) await reported;
    read.lines++;
    const key = foldName(cell(columns.key));
    const wrong = (column: string | null, message: string): void => {
      context.error({ file, line, column, message });
      if (key !== "") keptPeople.add(key);
    };
    if (fault !== null) wrong(fault.column, fault.message);
    else if (key === "") wrong(columns.key, sentence("upload.the-key-must-not-be-empty"));
    else if (people.has(key))
      wrong(
        columns.key,
        sentence("upload.duplicate-key-key-as-in-line-line", {
          key: cell(columns.key),
          line: people.get(key)?.line ?? 0,
        }),
      );
    else {
      if (width > headWidth) {
        const message = sentence("upload.the-line-has-given-cells-the-header-has-expected", {
          count: width,
          expected: headWidth,
        });
        context.warn({ file, line, column: null, message });
      }
      const memberships = new Map<string, null>();
      for (const text of cell(columns.lists).split(";")) {
        const name = text.normalize("NFC").trim();
        const listKey = foldName(name);
        if (listKey === "") continue;
        if (!lists.has(listKey)) lists.set(listKey, { key: listKey, name, formerKey: null, file, line });
        memberships.set(listKey, null);
      }
      people.set(key, {
        ...{ file, line, key, memberships, isStudent: false, name: cell(columns.name).normalize("NFC") },
        ...{ email: cell(columns.email) || null, sms: cell(columns.sms) || null, phone: cell(columns.phone) || null },
      });
    }
  }
  // The first line of a duplicate key is imported.
  for (const key of people.keys()) keptPeople.delete(key);
  return { people: [...people.values()], lists, keptPeople, namesAllLists: true, changes: [] };
}
