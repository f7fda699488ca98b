import type { SourceTree } from "./source-tree.ts";

/** A row of the table of requirements. */
export interface Requirement {
  chapter: number;
  id: string;
  level: string;
  words: string;
  verdict: string;
  proof: string;
}

/** Numbers of a chapter in the order of `VERDICTS`, as the summary shows them. */
export interface ChapterSummary {
  chapter: number;
  counts: number[];
  all: number;
}

const VERDICTS = ["holds", "partly", "open", "does not apply"] as const;

/** Requirements per chapter: those of levels 1 and 2, and of level 3 where the table has it. @source OWASP ASVS 5.0.0 */
export const REQUIREMENTS: Readonly<Record<number, { levels1And2: number; level3: number }>> = {
  1: { levels1And2: 27, level3: 0 },
  2: { levels1And2: 11, level3: 0 },
  3: { levels1And2: 19, level3: 0 },
  4: { levels1And2: 10, level3: 0 },
  5: { levels1And2: 9, level3: 0 },
  6: { levels1And2: 35, level3: 12 },
  7: { levels1And2: 18, level3: 1 },
  8: { levels1And2: 7, level3: 0 },
  9: { levels1And2: 7, level3: 0 },
  10: { levels1And2: 29, level3: 0 },
  11: { levels1And2: 14, level3: 10 },
  12: { levels1And2: 9, level3: 0 },
  13: { levels1And2: 13, level3: 0 },
  14: { levels1And2: 9, level3: 0 },
  15: { levels1And2: 13, level3: 0 },
  16: { levels1And2: 16, level3: 0 },
  17: { levels1And2: 7, level3: 0 },
};

/** The rows of the tables below the headings of chapters, and the summary. */
export function readRequirements(markdown: string): { rows: Requirement[]; summary: ChapterSummary[] } {
  const rows: Requirement[] = [];
  const summary: ChapterSummary[] = [];
  let chapter = 0;
  for (const line of markdown.split("\n")) {
    chapter = Number(/^## V(\d+):/.exec(line)?.[1] ?? chapter);
    if (!line.startsWith("| ")) continue;
    const cells = line
      .slice(1, line.lastIndexOf("|"))
      .split("|")
      .map((cell) => cell.trim());
    const [id = "", level = "", words = "", verdict = "", proof = ""] = cells;
    if (chapter > 0 && /^\d/.test(id)) rows.push({ chapter, id, level, words, verdict, proof });
    const summed = Number(/^\[V(\d+):/.exec(id)?.[1] ?? 0);
    if (summed > 0)
      summary.push({ chapter: summed, counts: cells.slice(1, -1).map(Number), all: Number(cells.at(-1)) });
  }
  return { rows, summary };
}

/** What is wrong in the table; `exists` says whether a file of the repository exists. */
export function requirementFaults(markdown: string, exists: (path: string) => boolean): string[] {
  const { rows, summary } = readRequirements(markdown);
  return [...rows.flatMap((row) => rowFaults(row, exists)), ...duplicates(rows), ...wrongCounts(rows, summary)];
}

function rowFaults(row: Requirement, exists: (path: string) => boolean): string[] {
  const { id, chapter, verdict, proof } = row;
  const faults: string[] = [];
  if (!/^\d{1,2}\.\d{1,2}\.\d{1,2}$/.test(id) || Number(id.split(".")[0]) !== chapter)
    faults.push(`${id}: no id of chapter ${chapter}`);
  for (const [name, cell] of Object.entries(row)) if (cell === "") faults.push(`${id}: ${name} is empty`);
  if (!VERDICTS.some((each) => each === verdict)) faults.push(`${id}: no verdict: ${verdict}`);
  const files = [...proof.matchAll(/`((?:test|docs|src)\/[^`]+|[A-Z]+\.md)`/g)].map(([, file = ""]) => file);
  for (const file of files) if (!exists(file)) faults.push(`${id}: ${file} does not exist`);
  if (verdict === "holds" && files.length === 0) faults.push(`${id}: no proof`);
  // A sentence beside the names of files, or instead of them.
  const reason = proof.replaceAll(/`(?:test|docs|src)\/[^`]+`|[,;:.\s]/g, "");
  if (verdict !== "holds" && reason.length < 5) faults.push(`${id}: no reason`);
  return faults;
}

function duplicates(rows: readonly Requirement[]): string[] {
  const seen = new Set<string>();
  return rows.flatMap(({ id }) => {
    const isDuplicate = seen.has(id);
    seen.add(id);
    return isDuplicate ? [`${id}: twice`] : [];
  });
}

function wrongCounts(rows: readonly Requirement[], summary: readonly ChapterSummary[]): string[] {
  return Object.entries(REQUIREMENTS).flatMap(([name, { levels1And2, level3 }]) => {
    const mine = rows.filter(({ chapter }) => chapter === Number(name));
    const counts = VERDICTS.map((each) => mine.filter(({ verdict }) => verdict === each).length);
    const high = mine.filter(({ level }) => level === "3").length;
    const shown = summary.find(({ chapter }) => chapter === Number(name));
    const faults: string[] = [];
    if (mine.length - high !== levels1And2 || high !== level3)
      faults.push(`V${name}: ${mine.length - high} and ${high} requirements instead of ${levels1And2} and ${level3}`);
    if (String([...counts, mine.length]) !== String([...(shown?.counts ?? []), shown?.all]))
      faults.push(`V${name}: the summary must be ${counts.join(", ")}, ${mine.length}`);
    return faults;
  });
}

/** Calls that run text as a program, or put it into a page as markup. */
const DANGEROUS = [
  /\beval\(/,
  /\bnew Function\(/,
  /\bexecSync\(|(?<![.\w])exec\(/,
  /\bshell: true\b/,
  /\b(?:inner|outer)HTML\b|\binsertAdjacentHTML\b|\bdangerouslySetInnerHTML\b|\bdocument\.write\b/,
  // Password managers paste.
  /\bonPaste=/,
] as const;

/** Lines of the product with such a call. */
export function dangerousCalls(tree: SourceTree): string[] {
  return [...tree].flatMap(([path, text]) =>
    text
      .split("\n")
      .flatMap((line, at) =>
        DANGEROUS.some((pattern) => pattern.test(line)) ? [`${path}:${at + 1} ${line.trim()}`] : [],
      ),
  );
}

/** Names of algorithms that the product gives to Node's crypto module. */
export function cryptoAlgorithms(tree: SourceTree): Set<string> {
  const calls =
    /\b(?:createHash|createHmac|hash|createCipheriv|createDecipheriv|createSign|createVerify|hkdfSync|generateKeyPairSync)\(\s*"([\w-]+)"/g;
  return new Set([...tree.values()].flatMap((text) => [...text.matchAll(calls)].map(([, name = ""]) => name)));
}
